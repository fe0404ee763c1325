/// What an observer has been sent and not been given yet. Guarded by the subscription's lock; no calls here.
struct SubscriptionState: ~Copyable {
  let policy: BufferPolicy
  var kept = StateBuffer()
  /// How many states were lost to this buffer, in all.
  private(set) var lostInAll: UInt64 = 0
  /// How many were lost since the last one that was kept, so that the next one tells of them.
  private var lostSinceKept: UInt64 = 0
  /// The stream's end has come, after what is kept.
  var hasEnded = false
  /// The end was told.
  private(set) var isEndTaken = false
  private(set) var isCancelled = false
  /// A turn is due or under way.
  var isScheduled = false
  /// The thread that takes from the buffer and calls just now, as the address of its record; 0: none.
  var drainer: UInt = 0

  init(policy: BufferPolicy) { self.policy = policy }

  enum Offer {
    /// Kept: the buffer has a hold of its own.
    case kept
    case keptInsteadOf(State)
    /// Lost.
    case refused
    /// There is no room now. Ask again when there may be.
    case wait
    case cancelled
  }

  /// Whether an offer depends on who makes it.
  var asksWhoDrains: Bool { policy.kind == .block && kept.count >= policy.capacity }

  /// Offers a state, before which the stream's buffer has lost others. `isDrainer`: the thread that offers would have
  /// to make room itself. It counts only where ``asksWhoDrains``.
  @inline(__always)
  mutating func offer(_ state: State, lost: UInt64, isDrainer: Bool) -> Offer {
    guard !isCancelled else { return .cancelled }
    guard kept.count >= policy.capacity else {
      keep(state, lost)
      return .kept
    }
    switch policy.kind {
    case .newest: return replaceOldest(with: state, lost)
    case .block where !isDrainer: return .wait
    case .block, .oldest, .unbounded:
      lostInAll &+= 1
      lostSinceKept &+= lost &+ 1
      return .refused
    }
  }

  @inline(__always)
  private mutating func keep(_ state: State, _ lost: UInt64) {
    state.retain()
    kept.append(state, lostBefore: lostSinceKept &+ lost)
    lostSinceKept = 0
  }

  private mutating func replaceOldest(with state: State, _ lost: UInt64) -> Offer {
    guard let oldest = kept.popFirst() else { return .refused }
    let lostWithIt = oldest.lostBefore &+ 1
    if !kept.addLostBeforeFirst(lostWithIt) { lostSinceKept &+= lostWithIt }
    lostInAll &+= 1
    keep(state, lost)
    return .keptInsteadOf(oldest.state)
  }

  /// What is not told yet although nothing is kept any more that could tell it.
  mutating func takeLostSinceKept() -> UInt64 {
    let lost = lostSinceKept
    lostSinceKept = 0
    return lost
  }

  var hasLostSinceKept: Bool { lostSinceKept > 0 }

  enum Next {
    case state(StateBuffer.Entry)
    case end
    case nothing
  }

  mutating func takeNext() -> Next {
    if let entry = kept.popFirst() { return .state(entry) }
    guard hasEnded, !isEndTaken else { return .nothing }
    isEndTaken = true
    return .end
  }

  /// Whether another turn is due.
  var hasMore: Bool { !isCancelled && (!kept.isEmpty || (hasEnded && !isEndTaken)) }

  /// Nothing is given any more. What was kept is to be released outside the lock.
  mutating func cancel() -> StateBuffer {
    isCancelled = true
    return kept.takeAll()
  }
}
