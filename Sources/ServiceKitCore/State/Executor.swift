import CServiceKit

/// What delivers somewhere else than on the sender's thread: the turns that are due, and whose they are.
///
/// A target takes a turn when it has something to deliver; while one is due or under way it does not ask again, so that
/// a sender seldom comes here. The subclasses say which thread gives the turns.
package class Executor {
  let lock = Lock()
  // All guarded by `lock`.
  var ready = ReadyQueue()
  /// What delivers here, until it has ended and is quiet.
  private(set) var members: [DeliveryTarget] = []
  var hasEnded = false
  /// The thread that gives turns just now, as the address of its record; 0: none.
  var runner: UInt = 0

  init() {}

  /// Where a delivery takes its turns; nil for deliveries that take none.
  static func choose(_ delivery: Service.Delivery) throws(Failure) -> Executor? {
    switch delivery {
    case .onSenders, .pull: nil
    case .dispatcher(let dispatcher): dispatcher
    case .background: Worker.shared
    case .host(let executor): executor
    }
  }

  /// Makes `target` a member, before it takes its first turn.
  func join(_ target: DeliveryTarget) throws(Failure) {
    guard add(target) else {
      throw Failure(SVK_INVALID_HANDLE) { text in text.append("the dispatcher was destroyed") }
    }
  }

  /// Called with `lock` held when a turn has become due.
  func workArrived() {}
  /// Called without a lock after a turn has become due.
  func workWasScheduled() {}
  /// Called with `lock` held when the last due turn was withdrawn.
  func workWithdrawn() {}
  /// Called without a lock when a target has ended and everything about it is done.
  func leave(_ target: DeliveryTarget) { remove(target) }

  /// False when nothing is delivered here any more.
  private final func add(_ target: DeliveryTarget) -> Bool {
    lock.withLock {
      guard !hasEnded else { return false }
      addMember(target)
      return true
    }
  }

  /// With the lock held.
  final func addMember(_ target: DeliveryTarget) {
    target.memberIndex = members.count
    members.append(target)
  }

  /// True when the last one has left.
  @discardableResult
  final func remove(_ target: DeliveryTarget) -> Bool { lock.withLock { removeMember(target) } }

  /// With the lock held.
  final func removeMember(_ target: DeliveryTarget) -> Bool {
    let index = target.memberIndex
    guard index >= 0 else { return false }
    // The caller holds the target, so nothing is released here.
    let last = members.removeLast()
    if last !== target {
      members[index] = last
      last.memberIndex = index
    }
    target.memberIndex = -1
    return members.isEmpty
  }

  /// Makes a turn due.
  final func schedule(_ target: DeliveryTarget) {
    lock.lock()
    let isNew = !target.isBarred && !target.isReady
    if isNew {
      ready.append(Unmanaged.passRetained(target))
      workArrived()
    }
    lock.unlock()
    if isNew { workWasScheduled() }
  }

  /// No turn begins from now on.
  final func bar(_ target: DeliveryTarget) {
    lock.lock()
    target.isBarred = true
    let removed = target.isReady ? ready.remove(target) : nil
    if removed != nil, ready.isEmpty { workWithdrawn() }
    lock.unlock()
    removed?.release()
  }

  /// Gives the first target its turn. The lock is held, and let go meanwhile: a target may end in its own turn.
  final func giveTurn(_ thread: UnsafeMutablePointer<ThreadRecord>, limit: Int) -> DeliveryTarget.Turn {
    guard let target = ready.popFirst() else { return DeliveryTarget.Turn() }
    lock.unlock()
    let turn = target._withUnsafeGuaranteedRef { $0.takeTurn(thread, limit: limit) }
    lock.lock()
    if turn.hasMore, !target._withUnsafeGuaranteedRef({ $0.isBarred }) {
      ready.append(target)
    } else {
      lock.unlock()
      target.release()
      lock.lock()
    }
    return turn
  }

  /// Whether `thread` is the one that gives turns here just now, so that it would wait for itself.
  final func isRun(by thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    lock.withLock { runner == UInt(bitPattern: thread) }
  }
}

/// The targets whose turn is due, in order. Holds each once. Guarded by its executor's lock.
struct ReadyQueue: ~Copyable {
  private var first: Unmanaged<DeliveryTarget>?
  private var last: Unmanaged<DeliveryTarget>?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// Takes over the caller's hold.
  mutating func append(_ target: Unmanaged<DeliveryTarget>) {
    let last = last
    target._withUnsafeGuaranteedRef {
      $0.isReady = true
      $0.previousReady = last
      $0.nextReady = nil
    }
    if let last {
      last._withUnsafeGuaranteedRef { $0.nextReady = target }
    } else {
      first = target
    }
    self.last = target
    count += 1
  }

  /// The queue's hold passes to the caller.
  mutating func popFirst() -> Unmanaged<DeliveryTarget>? {
    guard let first else { return nil }
    return first._withUnsafeGuaranteedRef { remove($0) }
  }

  /// Takes one out; the queue's hold passes to the caller.
  mutating func remove(_ target: DeliveryTarget) -> Unmanaged<DeliveryTarget> {
    let (previous, next) = (target.previousReady, target.nextReady)
    if let previous {
      previous._withUnsafeGuaranteedRef { $0.nextReady = next }
    } else {
      first = next
    }
    if let next {
      next._withUnsafeGuaranteedRef { $0.previousReady = previous }
    } else {
      last = previous
    }
    target.previousReady = nil
    target.nextReady = nil
    target.isReady = false
    count -= 1
    return Unmanaged.passUnretained(target)
  }
}
