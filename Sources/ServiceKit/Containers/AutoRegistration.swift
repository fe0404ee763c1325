import CPlatform
import ServiceKitCore
import Synchronization

/// Sees to it that a container's `autoRegister()` is called once, and that who comes meanwhile waits for it.
final class AutoRegistration: Sendable {
  private enum State {
    static let armed = 0
    static let running = 1
    static let done = 2
  }

  private let state = Atomic<Int>(State.armed)
  /// The thread that is at it.
  private let runner = Atomic<UInt>(0)
  private let waiting = AutoRegistrationWait()

  /// From now on the next one has to call it again.
  func arm() { state.store(State.armed, ordering: .releasing) }

  /// Whether it is still to be called.
  var isArmed: Bool { state.load(ordering: .acquiring) == State.armed }

  /// It is done already, elsewhere.
  func skip() { state.store(State.done, ordering: .releasing) }

  /// True if this thread is inside of the call just now.
  @inline(__always)
  func prepare(_ call: () -> Void) -> Bool {
    state.load(ordering: .acquiring) == State.done ? false : prepareSlowly(call)
  }

  @inline(never)
  private func prepareSlowly(_ call: () -> Void) -> Bool {
    let thread = UInt(bitPattern: platform_thread_identity())
    while true {
      let (isMine, now) = state.compareExchange(
        expected: State.armed, desired: State.running, ordering: .acquiringAndReleasing)
      if isMine { break }
      if now == State.done { return false }
      if runner.load(ordering: .acquiring) == thread { return true }
      waiting.wait { self.state.load(ordering: .acquiring) == State.running }
    }
    runner.store(thread, ordering: .releasing)
    call()
    runner.store(0, ordering: .releasing)
    _ = state.compareExchange(expected: State.running, desired: State.done, ordering: .acquiringAndReleasing)
    waiting.wake()
    return false
  }
}

private final class AutoRegistrationWait: @unchecked Sendable {
  private let lock = Lock()
  private let changed = Condition()

  func wait(while isNeeded: () -> Bool) {
    lock.withLock { while isNeeded() { changed.wait(lock) } }
  }

  func wake() { lock.withLock { changed.signalAll() } }
}
