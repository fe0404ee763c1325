/// What an observer has been sent and not been given yet. Guarded by the subscription's lock; no calls here.
struct SubscriptionState: ~Copyable {
  let policy: BufferPolicy
  var kept = StateBuffer()
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

  /// Offers a state. `isDrainer`: the thread that offers would have to make room itself.
  @inline(__always)
  mutating func offer(_ state: State, isDrainer: @autoclosure () -> Bool) -> Offer {
    guard !isCancelled else { return .cancelled }
    guard kept.count >= policy.capacity else {
      keep(state)
      return .kept
    }
    switch policy.kind {
    case .newest:
      let oldest = kept.popFirst()
      keep(state)
      return oldest.map { .keptInsteadOf($0) } ?? .kept
    case .block: return isDrainer() ? .refused : .wait
    case .oldest, .unbounded: return .refused
    }
  }

  @inline(__always)
  private mutating func keep(_ state: State) {
    state.retain()
    kept.append(state)
  }

  enum Next {
    case state(State)
    case end
    case nothing
  }

  mutating func takeNext() -> Next {
    if let state = kept.popFirst() { return .state(state) }
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
