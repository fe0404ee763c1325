import CServiceKit

/// What has callbacks: a service or a subscription. It is delivered to by one thread at a time.
package class DeliveryTarget {
  let gate: CallbackGate
  /// Where it takes its turns; nil for inline and pull delivery.
  let executor: Executor?

  // Guarded by the executor's lock.
  final var previousReady: Unmanaged<DeliveryTarget>?
  final var nextReady: Unmanaged<DeliveryTarget>?
  final var isReady = false
  /// Ended: takes no turn any more.
  final var isBarred = false
  final var memberIndex = -1

  init(_ callbacks: Callbacks, marks: UInt32, executor: Executor?) {
    gate = CallbackGate(callbacks, marks: marks)
    self.executor = executor
  }

  /// What a turn has done.
  struct Turn {
    /// How many callbacks were run.
    var calls = 0
    /// Whether there was anything at all to do.
    var didWork = false
    /// Whether something is left, so that another turn is due.
    var hasMore = false
    /// The service, if it was closed meanwhile: its stream's hold on it, for the caller to release without a lock.
    var closed: Unmanaged<Service>?
  }

  /// Delivers what is there, with at most `limit` callbacks. Called by the executor's thread.
  func takeTurn(_ thread: UnsafeMutablePointer<ThreadRecord>, limit: Int) -> Turn { Turn() }

  /// Begins its end, because its dispatcher ends.
  func closeWithDispatcher() -> [Ending] { [] }

  /// Whether a call is running that is not marked in the gate.
  var isBeingCalled: Bool { false }

  /// Called without a lock, once, when it has ended, no callback runs and `user_data` was freed.
  func becameQuiet() {}

  /// Calls `on_finish`. True when there is one and it was called.
  final func callFinish(on thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    guard let onFinish = gate.onFinish else { return false }
    let isOpen = gate.enter(thread)
    if isOpen { Callback.run(on: thread) { onFinish(gate.userData) } }
    if gate.leave() { callEnded() }
    return isOpen
  }

  // MARK: - The end

  /// An end that was begun: no callback begins any more. What is left is to wait for the running one.
  struct Ending {
    let target: DeliveryTarget
    /// Whether a callback may be running on another thread just now, so that a heavy fence is needed to know.
    let needsFence: Bool
  }

  /// Completes an end, after the fence. Answers SVK_OK when all is quiet, SVK_DEFERRED when a callback still runs.
  final func settle(mayWait: Bool) -> Int32 {
    if endIfQuiet(leavingRestToWaiter: false) || gate.hasEnded { return SVK_OK }
    guard mayWait else { return SVK_DEFERRED }
    gate.waitForEnd()
    executor?.leave(self)
    return SVK_OK
  }

  /// After a callback, when the gate was closed meanwhile: the last one out ends it.
  @inline(never)
  final func callEnded() { _ = endIfQuiet(leavingRestToWaiter: true) }

  private func endIfQuiet(leavingRestToWaiter: Bool) -> Bool {
    guard !isBeingCalled, gate.beginEnd() else { return false }
    gate.freeUserData()
    becameQuiet()
    let isAwaited = gate.finishEnd()
    // The worker thread cannot join itself, so who waits for the end joins it.
    if !(leavingRestToWaiter && isAwaited) { executor?.leave(self) }
    return true
  }
}

extension DeliveryTarget.Ending {
  /// Completes one end.
  func settle(mayWait: Bool) -> Int32 {
    if needsFence { AsymmetricFence.heavy() }
    return target.settle(mayWait: mayWait)
  }
}

extension Array where Element == DeliveryTarget.Ending {
  /// Completes several ends with one fence: SVK_DEFERRED when a callback of any of them still runs.
  func settle(mayWait: Bool) -> Int32 {
    for ending in self where ending.needsFence {
      AsymmetricFence.heavy()
      break
    }
    var status = SVK_OK
    for ending in self where ending.target.settle(mayWait: mayWait) != SVK_OK { status = SVK_DEFERRED }
    return status
  }
}
