import CServiceKit
import Synchronization

/// The program's functions of one service or observer, and the promise about their end: after the gate was closed no
/// call begins, and `user_data_free` is called exactly once, after the last call, by the last one out.
///
/// Calls of one gate never overlap: whoever calls holds the delivery it belongs to. So one mark says who is inside.
/// A call writes its mark and then looks whether the gate is closed; a closing writes that and then looks at the mark;
/// between the two stands an ``AsymmetricFence``.
struct CallbackGate: ~Copyable {
  /// Bits of ``marks``. A gate without any is open to the shortest way in.
  enum Mark {
    static let closed: UInt32 = 1
    /// An observer that is still being given what came before: its states go through its buffer.
    static let catchingUp: UInt32 = 2
    /// An observer that lost states while it was catching up, and was not told yet.
    static let lost: UInt32 = 4
    /// An observer that is not called on its sender's thread.
    static let indirect: UInt32 = 8
  }

  private let marks: Atomic<UInt32>
  /// The thread inside a call, as the address of its record; 0: none.
  private let inside = Atomic<UInt>(0)
  let onState: svk_state_fn?
  let onFinish: svk_finish_fn?
  let userData: UnsafeMutableRawPointer?
  private let userDataFree: svk_free_fn?
  private let ending = Atomic<UInt8>(Ending.none)
  private let waiters = Atomic<Int>(0)

  private enum Ending {
    static let none: UInt8 = 0
    static let begun: UInt8 = 1
    static let done: UInt8 = 2
  }

  init(_ callbacks: Callbacks, marks: UInt32) {
    self.marks = Atomic(marks)
    onState = callbacks.onState
    onFinish = callbacks.onFinish
    userData = callbacks.userData
    userDataFree = callbacks.userDataFree
  }

  // MARK: - Calls

  /// Before a call. False: there is none to make, and ``leave()`` must be called all the same.
  @inline(__always)
  func enter(_ thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    inside.store(UInt(bitPattern: thread), ordering: .relaxed)
    AsymmetricFence.light()
    return marks.load(ordering: .acquiring) & Mark.closed == 0
  }

  /// After a call. True: the gate was closed meanwhile, and the caller must try to ``end()`` it.
  @inline(__always)
  func leave() -> Bool {
    inside.store(0, ordering: .releasing)
    AsymmetricFence.light()
    return marks.load(ordering: .acquiring) & Mark.closed != 0
  }

  /// 0: the shortest way is open, and there is an `on_state`.
  @inline(__always)
  var allMarks: UInt32 { marks.load(ordering: .acquiring) }
  @inline(__always)
  var isClosedAndDirect: Bool {
    marks.load(ordering: .acquiring) & (Mark.closed | Mark.indirect) == Mark.closed
  }
  @inline(__always)
  func isMarked(_ mark: UInt32) -> Bool { marks.load(ordering: .acquiring) & mark != 0 }
  func mark(_ mark: UInt32) { marks.bitwiseOr(mark, ordering: .acquiringAndReleasing) }
  func unmark(_ mark: UInt32) { marks.bitwiseAnd(~mark, ordering: .acquiringAndReleasing) }

  // MARK: - The end

  /// Whether a call may be running on another thread than this. After ``Mark/closed`` and the heavy fence.
  func isOccupied(byOtherThan thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    let now = inside.load(ordering: .acquiring)
    return now != 0 && now != UInt(bitPattern: thread)
  }

  /// Of a closed gate: true for the one caller that has to free the user data, and only when no call is running.
  func beginEnd() -> Bool {
    guard inside.load(ordering: .acquiring) == 0 else { return false }
    return ending.compareExchange(expected: Ending.none, desired: Ending.begun, ordering: .acquiringAndReleasing)
      .exchanged
  }

  /// Nothing of the program's was kept, after all. False when somebody has begun the end already.
  func abandon() -> Bool {
    ending.compareExchange(expected: Ending.none, desired: Ending.done, ordering: .acquiringAndReleasing).exchanged
  }

  func freeUserData() {
    if let userDataFree { Callback.run { userDataFree(userData) } }
  }

  /// The end is complete. True when somebody waits for it, who then does what is left to be done.
  func finishEnd() -> Bool {
    // Who waits has counted itself before it looks: one of the two sees the other.
    ending.store(Ending.done, ordering: .sequentiallyConsistent)
    guard waiters.load(ordering: .sequentiallyConsistent) > 0 else { return false }
    Quiet.lock.withLock { Quiet.changed.signalAll() }
    return true
  }

  var hasEnded: Bool { ending.load(ordering: .sequentiallyConsistent) == Ending.done }

  /// Waits for the end. Never from inside a callback.
  func waitForEnd() {
    waiters.wrappingAdd(1, ordering: .sequentiallyConsistent)
    Quiet.lock.withLock {
      while !hasEnded { Quiet.changed.wait(Quiet.lock) }
    }
    waiters.wrappingSubtract(1, ordering: .relaxed)
  }
}

/// What the program passed to be called, in the options of a service or an observer.
package struct Callbacks {
  let onState: svk_state_fn?
  let onFinish: svk_finish_fn?
  let userData: UnsafeMutableRawPointer?
  let userDataFree: svk_free_fn?

  package init(
    onState: svk_state_fn?, onFinish: svk_finish_fn?, userData: UnsafeMutableRawPointer?, userDataFree: svk_free_fn?
  ) {
    self.onState = onState
    self.onFinish = onFinish
    self.userData = userData
    self.userDataFree = userDataFree
  }
}

/// Where cancellations wait for callbacks that are running. One for all: it happens rarely, and a lock and a condition
/// for each observer would be paid for by all.
enum Quiet {
  fileprivate nonisolated(unsafe) static let lock = Lock()
  fileprivate nonisolated(unsafe) static let changed = Condition()
}
