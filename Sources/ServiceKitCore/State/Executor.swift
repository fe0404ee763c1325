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

  /// Called with `lock` held when the first turn has become due.
  func workArrived() {}
  /// Called with `lock` held when the last due turn was withdrawn.
  func workWithdrawn() {}
  /// Called without a lock when a target has ended and everything about it is done.
  func leave(_ target: DeliveryTarget) { remove(target) }

  /// False when nothing is delivered here any more.
  final func add(_ target: DeliveryTarget) -> Bool {
    lock.withLock {
      guard !hasEnded else { return false }
      target.memberIndex = members.count
      members.append(target)
      return true
    }
  }

  /// True when the last one has left.
  @discardableResult
  final func remove(_ target: DeliveryTarget) -> Bool {
    lock.lock()
    defer { lock.unlock() }
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
    if !target.isBarred, !target.isReady {
      let wasEmpty = ready.isEmpty
      ready.append(target)
      if wasEmpty { workArrived() }
    }
    lock.unlock()
  }

  /// No turn begins from now on.
  final func bar(_ target: DeliveryTarget) {
    lock.lock()
    target.isBarred = true
    let wasReady = target.isReady
    if wasReady {
      ready.remove(target)
      if ready.isEmpty { workWithdrawn() }
    }
    lock.unlock()
    // The queue's own hold, let go outside the lock. The caller has another.
    if wasReady { Unmanaged.passUnretained(target).release() }
  }

  /// Whether `thread` is the one that gives turns here just now, so that it would wait for itself.
  final func isRun(by thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    lock.withLock { runner == UInt(bitPattern: thread) }
  }
}

/// The targets whose turn is due, in order. Each is held once. Guarded by its executor's lock.
struct ReadyQueue: ~Copyable {
  private var first: Unmanaged<DeliveryTarget>?
  private var last: Unmanaged<DeliveryTarget>?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ target: DeliveryTarget) {
    let added = Unmanaged.passRetained(target)
    target.isReady = true
    target.previousReady = last
    target.nextReady = nil
    if let last {
      last._withUnsafeGuaranteedRef { $0.nextReady = added }
    } else {
      first = added
    }
    last = added
    count += 1
  }

  /// The queue's hold passes to the caller.
  mutating func popFirst() -> DeliveryTarget? {
    guard let target = first?.takeUnretainedValue() else { return nil }
    remove(target)
    return Unmanaged.passUnretained(target).takeRetainedValue()
  }

  /// Takes one out; the queue's hold passes to the caller.
  mutating func remove(_ target: DeliveryTarget) {
    if let previous = target.previousReady {
      previous._withUnsafeGuaranteedRef { $0.nextReady = target.nextReady }
    } else {
      first = target.nextReady
    }
    if let next = target.nextReady {
      next._withUnsafeGuaranteedRef { $0.previousReady = target.previousReady }
    } else {
      last = target.previousReady
    }
    target.previousReady = nil
    target.nextReady = nil
    target.isReady = false
    count -= 1
  }
}
