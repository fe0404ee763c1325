import CServiceKit

/// The library's one thread, for background delivery. It runs as long as something delivers there.
package final class Worker: Executor {
  nonisolated(unsafe) static let shared = Worker()

  // All guarded by `lock`.
  private var thread: WorkerThread?
  /// Which start of the thread is the valid one. A thread that finds another number here ends.
  private var generation: UInt = 0
  /// How often the process had forked when the thread was started: a child has no worker thread.
  private var forkCount: UInt64 = 0
  private var wakeUp = WaitPoint()
  /// Where threads of parent processes waited.
  private var inherited: [WaitPoint] = []

  override func join(_ target: DeliveryTarget) throws(Failure) {
    lock.lock()
    let isRunning = start()
    if isRunning { addMember(target) }
    lock.unlock()
    guard isRunning else {
      throw Failure(SVK_SYSTEM_ERROR) { text in
        text.append("the system refused the worker thread for SVK_DELIVER_BACKGROUND")
      }
    }
  }

  override func leave(_ target: DeliveryTarget) {
    lock.lock()
    guard removeMember(target), members.isEmpty, let thread else {
      lock.unlock()
      return
    }
    let isInherited = forkCount != Fork.count
    self.thread = nil
    generation &+= 1
    wakeUp.signal()
    lock.unlock()
    // It holds no lock of the program's and runs no callback any more, so this is no wait for the program.
    if isInherited { return }
    if thread.isCurrent { thread.detach() } else { thread.join() }
  }

  override func workArrived() {
    // In a forked child the thread is started again here. Should the system refuse, the next send tries again.
    _ = start()
    wakeUp.signal()
  }

  /// Starts the thread unless it runs. With the lock held.
  private func start() -> Bool {
    if thread != nil, forkCount == Fork.count { return true }
    if thread != nil {
      // The parent's thread waits at this condition, and never leaves it in this process: it cannot be destroyed.
      inherited.append(wakeUp)
      wakeUp = WaitPoint()
      runner = 0
    }
    generation &+= 1
    forkCount = Fork.count
    thread = UnsafeMutableRawPointer(bitPattern: generation).flatMap { context in
      WorkerThread(context) { context in
        Worker.shared.run(UInt(bitPattern: context))
        return nil
      }
    }
    return thread != nil
  }

  /// The thread.
  private func run(_ mine: UInt) {
    let thread = ThreadRecord.current
    lock.lock()
    while generation == mine {
      guard !ready.isEmpty else {
        _ = wakeUp.wait(lock, until: .never)
        continue
      }
      runner = UInt(bitPattern: thread)
      _ = giveTurn(thread, limit: Int.max - 1)
      if runner == UInt(bitPattern: thread) { runner = 0 }
    }
    lock.unlock()
  }
}
