import CServiceKit

/// A factory at work on an instance that will be cached, and the threads that wait for it.
final class Build: Awaited {
  let parameter: Parameter?
  let registration: Registration
  let cell: UnsafeMutablePointer<Cell>

  // Set before another thread sees it.
  var cachesByParameter = false
  var timeToLive: UInt64 = 0
  /// The container whose cell it is for.
  let container: Container

  // Guarded by the container's lock.
  var next: Build?
  /// Its registration was replaced meanwhile: the instance goes to those who wait and is not cached.
  var isDetached = false
  var waiters = 0
  /// Keeps the instance for those who wait until each has a lease of its own.
  var lease: Token?

  // Guarded by BuildWait's lock.
  var outcome: Outcome?

  enum Outcome {
    case built(UnsafeMutablePointer<Instance>)
    case failed(Int32, OwnedBytes)
    /// Its thread was taken out of it: whoever waits begins anew.
    case abandoned
  }

  init(
    thread: UnsafeMutablePointer<ThreadRecord>, parameter: Parameter?, registration: Registration,
    cell: UnsafeMutablePointer<Cell>, of container: Container
  ) {
    self.container = container
    self.parameter = parameter
    self.registration = registration
    self.cell = cell
    super.init(thread: thread)
  }

  func isFor(_ parameter: Parameter?, byParameter: Bool) -> Bool {
    !byParameter || Parameter.areSame(self.parameter, parameter)
  }
}

/// Waiting for builds, and the cycles that waiting threads form.
///
/// Each waiting thread waits for one build, which one thread is at work on. Following that from build to thread to
/// build either ends at a thread that runs, or comes back: a cycle, found by the thread that would close it.
enum BuildWait {
  /// Guards every build's outcome and every thread's `wait`. While it is held, a thread that waits has its factories
  /// standing still, so that their keys may be read.
  private nonisolated(unsafe) static let lock = Lock()

  /// What a thread waits for.
  struct State {
    fileprivate(set) var build: Awaited?
    /// Set by the thread that found this one to be in a cycle with it: the cycle in words.
    fileprivate(set) var cycle: OwnedBytes?
    /// The container that was asked, and whether it was closed meanwhile.
    fileprivate var container: Container?
    fileprivate var isClosed = false
  }

  enum Answer {
    case outcome(Build.Outcome)
    case cycle(OwnedBytes)
    /// The container that was asked is being destroyed.
    case closed
  }

  /// Waits until `build` has ended, or `container`, which was asked for the instance, is closed. The caller has counted
  /// itself among the build's waiters.
  static func wait(
    for build: Build, askedOf container: Container, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> Answer {
    lock.withLock {
      // Whoever closes it says so first, and then wakes those who wait.
      if container.activity.isClosing { return .closed }
      let told = wait(for: build, State(build: build, container: container), on: thread)
      if let words = told.cycle { return .cycle(words) }
      return told.isClosed ? .closed : .outcome(build.outcome!)
    }
  }

  /// Waits until `work` is over.
  static func wait(for work: HostWork) -> HostWork.Answer {
    lock.withLock {
      let told = wait(for: work, State(build: work), on: ThreadRecord.current)
      return told.cycle.map { .cycle($0) } ?? .over
    }
  }

  /// With the lock held. Gives what this thread was told meanwhile.
  private static func wait(
    for build: Awaited, _ state: State, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> State {
    if !build.isOver, let words = cycle(closedBy: thread, waitingFor: build) { return State(cycle: words) }
    thread.pointee.wait = state
    while !build.isOver, thread.pointee.wait.cycle == nil, !thread.pointee.wait.isClosed {
      build.changed.wait(lock)
    }
    defer { thread.pointee.wait = State() }
    return thread.pointee.wait
  }

  /// Wakes those whose resolve of a container that was closed waits for a factory, perhaps another container's.
  static func containerClosed(_ container: Container) {
    lock.withLock {
      ThreadRecord.forEach { thread in
        guard let build = thread.pointee.wait.build, thread.pointee.wait.container === container else { return }
        thread.pointee.wait.isClosed = true
        build.changed.signalAll()
      }
    }
  }

  static func end(_ build: Build, _ outcome: Build.Outcome) {
    lock.withLock {
      build.outcome = outcome
      build.isOver = true
      build.changed.signalAll()
    }
  }

  static func end(_ work: HostWork) {
    lock.withLock {
      work.isOver = true
      work.changed.signalAll()
    }
  }

  /// The cycle in words, told to every other thread of it too; nil if there is none.
  private static func cycle(closedBy thread: UnsafeMutablePointer<ThreadRecord>, waitingFor build: Awaited)
    -> OwnedBytes?
  {
    var chain: [Awaited] = [build]
    while chain.last!.thread != thread {
      // A thread that has been told something, or whose build has ended, only has to wake up.
      let other = chain.last!.thread
      guard other.pointee.wait.cycle == nil, !other.pointee.wait.isClosed, let next = other.pointee.wait.build,
        !next.isOver
      else {
        return nil
      }
      chain.append(next)
    }
    // From our own factory at the end of the chain, over what we are in the middle of, to the one that we wait for,
    // over what its thread is in the middle of, and so on.
    var path = CyclePath()
    path.add(thread.pointee.resolution.names(from: chain.last!))
    for each in chain.dropLast() { path.add(each.thread.pointee.resolution.names(from: each)) }
    path.close()
    let words = path.words
    for each in chain.dropLast() {
      each.thread.pointee.wait.cycle = words
      each.thread.pointee.wait.build?.changed.signalAll()
    }
    return words
  }
}

/// `a → b → a`.
struct CyclePath {
  private var keys: [ByteView] = []

  mutating func add(_ more: [ByteView]) { keys.append(contentsOf: more) }

  /// Ends the path where it began.
  mutating func close() {
    if let first = keys.first { keys.append(first) }
  }

  var words: OwnedBytes {
    var text = Text()
    text.append("the services require each other in a circle: ")
    for index in keys.indices {
      if index > 0 { text.append(" → ") }
      text.append(keys[index])
    }
    text.append("; break it by resolving one of them later than in its factory")
    return OwnedBytes(text.view)
  }
}
