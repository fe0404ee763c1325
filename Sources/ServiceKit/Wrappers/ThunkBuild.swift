import ServiceKitCore

/// A thread at work on a thunk's value.
///
/// The engine knows of it, so that a thread which waits for it and one that waits for a factory find out when they wait
/// for each other.
final class ThunkBuild {
  /// Guards what is said to be guarded here, in every thunk and thread: it is held for a few instructions at a time, and
  /// only by who reads something that is not there yet.
  nonisolated(unsafe) static let lock = Lock()

  let thread: ThunkThread
  private let name: String

  // Guarded by the lock.
  private(set) var work: HostWork
  fileprivate(set) var isUnderWay = true

  /// Whether its thread is inside of it a second time. That thread's.
  private var isEnteredAgain = false

  /// Begins on this thread, with the lock held.
  init(of name: String, on thread: ThunkThread) {
    self.name = name
    self.thread = thread
    work = HostWork(name: .copy(of: name))
    thread.builds.append(self)
  }

  /// Ends, with the lock held. The caller ends the work when it has given the lock back.
  func end() -> HostWork {
    thread.builds.removeAll { $0 === self }
    isUnderWay = false
    return work
  }

  /// False if its thread has been here before.
  func enterAgain() -> Bool {
    guard !isEnteredAgain else { return false }
    isEnteredAgain = true
    return true
  }

  func leaveAgain() { isEnteredAgain = false }

  fileprivate func goOn() {
    isUnderWay = true
    work = HostWork(name: .copy(of: name))
    thread.builds.append(self)
  }

  /// Gives up for lost what this thread is at work on while `body` runs, which may never return: whoever waits goes on
  /// and makes the value itself.
  static func whileGivenUp(_ body: () -> Void) {
    guard let thread = ThunkThread.existing else { return body() }
    let builds = thread.giveUp()
    body()
    lock.withLock { for build in builds { build.goOn() } }
  }
}

/// What is known of a thread that has read something which was not there yet.
final class ThunkThread {
  // Guarded by ``ThunkBuild/lock``.
  fileprivate var builds: [ThunkBuild] = []

  private static let local = ThreadLocal { pointer in
    guard let pointer else { return }
    // A thread may end in the middle of its factories, without returning from them.
    _ = Unmanaged<ThunkThread>.fromOpaque(pointer).takeRetainedValue().giveUp()
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

  /// Takes the thread out of all that it is at work on.
  fileprivate func giveUp() -> [ThunkBuild] {
    let lost = ThunkBuild.lock.withLock {
      let lost = builds
      builds = []
      for build in lost { build.isUnderWay = false }
      return lost
    }
    for build in lost { build.work.end() }
    return lost
  }
}
