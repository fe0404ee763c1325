import ServiceKitCore

/// A thread at work on a thunk's value, and those that wait for it.
final class ThunkBuild {
  /// Guards what is said to be guarded here, in every thunk and thread: it is held for a few instructions at a time, and
  /// only by who reads something that is not there yet.
  nonisolated(unsafe) static let lock = Lock()

  let thread: ThunkThread
  private let type: Any.Type

  // Guarded by the lock.
  fileprivate(set) var isUnderWay = true
  private var waiting: [ThunkThread] = []

  /// Begins, with the lock held.
  init(of type: Any.Type, on thread: ThunkThread) {
    self.type = type
    self.thread = thread
    thread.builds.append(self)
  }

  /// Ends, with the lock held.
  func end() {
    thread.builds.removeAll { $0 === self }
    isUnderWay = false
    wake()
  }

  /// Waits, with the lock held, until it is no longer under way.
  func wait(on waiter: ThunkThread) {
    waiting.append(waiter)
    waiter.waitsFor = self
    while isUnderWay { waiter.changed.wait(ThunkBuild.lock) }
    waiter.waitsFor = nil
    waiting.removeAll { $0 === waiter }
  }

  /// With the lock held: what needs what, if `waiter` would wait for itself by waiting for this; nil if not.
  func cycle(closedBy waiter: ThunkThread) -> [Any.Type]? {
    var path = [type]
    var build = self
    while build.thread !== waiter {
      // One that is over has not yet noticed.
      guard let next = build.thread.waitsFor, next.isUnderWay else { return nil }
      path.append(next.type)
      build = next
    }
    return path
  }

  fileprivate func wake() {
    for thread in waiting { thread.changed.signalAll() }
  }

  /// Gives up for lost what this thread is at work on while `body` runs, which may never return: whoever waits goes on
  /// and makes the value itself.
  static func whileGivenUp(_ body: () -> Void) {
    guard let thread = ThunkThread.existing else { return body() }
    let builds = lock.withLock { thread.giveUp() }
    body()
    lock.withLock { thread.goOn(with: builds) }
  }
}

/// What is known of a thread that has read something which was not there yet.
final class ThunkThread {
  // Guarded by ``ThunkBuild/lock``.
  fileprivate var builds: [ThunkBuild] = []
  fileprivate var waitsFor: ThunkBuild?
  fileprivate let changed = Condition()

  private static let local = ThreadLocal { pointer in
    guard let pointer else { return }
    // A thread may end in the middle of its factories, without returning from them.
    let thread = Unmanaged<ThunkThread>.fromOpaque(pointer).takeRetainedValue()
    _ = ThunkBuild.lock.withLock { thread.giveUp() }
  }

  static var existing: ThunkThread? {
    local.pointer.map { Unmanaged<ThunkThread>.fromOpaque($0).takeUnretainedValue() }
  }

  static var current: ThunkThread {
    if let existing { return existing }
    let thread = ThunkThread()
    local.pointer = Unmanaged.passRetained(thread).toOpaque()
    return thread
  }

  fileprivate func giveUp() -> [ThunkBuild] {
    let lost = builds
    builds = []
    for build in lost {
      build.isUnderWay = false
      build.wake()
    }
    return lost
  }

  fileprivate func goOn(with builds: [ThunkBuild]) {
    self.builds = builds
    for build in builds { build.isUnderWay = true }
  }
}
