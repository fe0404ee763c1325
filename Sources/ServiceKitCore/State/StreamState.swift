/// What a stream knows: its buffer, and who reads it. No locks and no calls here.
///
/// Whoever takes the ``DeliveryRole`` delivers all that is in the buffer; whoever finds it taken leaves its state in
/// the buffer and goes. `isFree` tells whether the role is free.
struct StreamState: ~Copyable {
  let policy: BufferPolicy
  var buffer = StateBuffer()
  /// How many sends were accepted: the version of the last one.
  private(set) var accepted: UInt64 = 0
  /// How many accepted states were lost to the buffer.
  private(set) var lost: UInt64 = 0
  /// The version of the last state that was sent from inside a callback of the service or of its observers.
  private(set) var sentInside: UInt64 = 0
  /// No more sends.
  private(set) var hasEnded: Bool
  /// The token is gone: no service can be attached any more.
  private(set) var isDestroyed = false
  private(set) var reader = Reader.none
  private(set) var start: Start

  enum Reader { case none, onSenders, elsewhere, gone }
  enum Start { case none, due, running, done }

  init(policy: BufferPolicy, hasEnded: Bool, hasStart: Bool) {
    self.policy = policy
    self.hasEnded = hasEnded
    start = hasStart ? .due : .none
  }

  /// What becomes of a state that is sent.
  enum Admission {
    /// Accepted, and the sender is to take the role, which is free, and to deliver the state.
    case deliver
    /// Accepted and kept in the buffer, which holds it from now on.
    case keep(evicted: State?)
    /// As `keep`, and the role, which is free, is to be taken for a turn.
    case keepAndSchedule(evicted: State?)
    case closed
    case full
    /// There is no room now. Ask again when there may be.
    case wait
  }

  /// Decides on a send and gives the state its version. `isDrainer`: the sender would have to make room itself.
  mutating func admit(_ state: State, isFree: Bool, isDrainer: @autoclosure () -> Bool) -> Admission {
    guard !hasEnded, reader != .gone else { return .closed }
    if admitAtOnce(state, isFree: isFree) { return .deliver }

    var evicted: State?
    if buffer.count >= policy.capacity {
      switch policy.kind {
      case .newest:
        evicted = buffer.popFirst()?.state
        lost &+= 1
      case .block: return isDrainer() ? .full : .wait
      case .oldest, .unbounded: return .full
      }
    }
    number(state)
    buffer.append(state)
    return reader == .elsewhere && isFree ? .keepAndSchedule(evicted: evicted) : .keep(evicted: evicted)
  }

  /// The shortest way: true for ``Admission/deliver``, false for anything else.
  @inline(__always)
  mutating func admitAtOnce(_ state: State, isFree: Bool) -> Bool {
    guard reader == .onSenders, isFree, !hasEnded else { return false }
    number(state)
    return true
  }

  @inline(__always)
  private mutating func number(_ state: State) {
    accepted &+= 1
    state.block.pointee.version = accepted
  }

  /// What was accepted just now comes from the thread that delivers.
  mutating func noteSentInside() { sentInside = accepted }

  /// Whether whoever has the role still has something to do.
  func hasWork(isFinished: Bool) -> Bool { !buffer.isEmpty || (hasEnded && !isFinished) }

  // MARK: - The reader

  enum Attachment {
    /// Attached. `hasWork`: something was sent, or the stream has ended, and the role, which is free, is to be taken.
    case attached(hasWork: Bool, runsStart: Bool)
    case hasReader
    case destroyed
  }

  mutating func attach(_ newReader: Reader) -> Attachment {
    guard reader == .none else { return .hasReader }
    guard !isDestroyed else { return .destroyed }
    reader = newReader
    let hasWork = !buffer.isEmpty || hasEnded
    let runsStart = start == .due
    if runsStart { start = .running }
    return .attached(hasWork: hasWork, runsStart: runsStart)
  }

  /// The service has been closed. Gives what was still in the buffer, to be released without the lock.
  mutating func detach() -> StateBuffer {
    reader = .gone
    return buffer.takeAll()
  }

  // MARK: - The end

  enum End {
    case already
    /// Ended. The role, which is free, is to be taken, and the end delivered.
    case deliver
    /// Ended. Whoever delivers just now delivers the end too, or nobody is there to be told.
    case left
  }

  mutating func end(isFree: Bool) -> End {
    guard !hasEnded else { return .already }
    hasEnded = true
    return isFree && (reader == .onSenders || reader == .elsewhere) ? .deliver : .left
  }

  /// The token is gone. True when `start` does not run and never will, so that its user data is to be freed now.
  mutating func destroy() -> Bool {
    isDestroyed = true
    let isFree = start != .running
    if isFree { start = .done }
    return isFree
  }

  /// `start` has returned. True when the stream was destroyed meanwhile.
  mutating func startReturned() -> Bool {
    start = .done
    return isDestroyed
  }
}
