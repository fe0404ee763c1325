/// Somebody who waits until all that was sent so far has been delivered, with what its callbacks sent meanwhile.
package final class Settling {
  /// The last state that was accepted when the wait began. Set by ``Service/settle(_:)``.
  fileprivate var version: UInt64 = 0
  fileprivate let notify: () -> Void

  /// `notify` is called once, on any thread, without a lock.
  package init(_ notify: @escaping () -> Void) { self.notify = notify }
}

extension Service {
  /// Registers `settling`, to be notified when all is delivered. False when there is nothing to wait for: then it is
  /// not notified.
  package func settle(_ settling: Settling) -> Bool {
    stream.lock.withLock {
      guard !state.isClosed else { return false }
      // Whoever delivers now comes under the lock before giving up the role, and sees who waits.
      if case .nobody = stream.role.holder() { return false }
      settling.version = stream.state.accepted
      state.settlings.append(settling)
      return true
    }
  }

  /// Gives up a wait. True when it had not been notified, and is not any more.
  package func unsettle(_ settling: Settling) -> Bool {
    stream.lock.withLock {
      guard let index = state.settlings.firstIndex(where: { $0 === settling }) else { return false }
      // The caller holds it, so nothing is released here.
      state.settlings.remove(at: index)
      return true
    }
  }

  /// Takes out who need not wait any longer. With the stream's lock held; they are to be notified without. `isIdle`:
  /// there is nothing left to deliver.
  func takeSettled(isIdle: Bool = false) -> [Settling] {
    let isEndDue = stream.state.hasEnded && !state.isFinished
    let (delivered, sentInside) = (state.current.version, stream.state.sentInside)
    var settled: [Settling] = []
    var waiting: [Settling] = []
    for settling in state.settlings {
      let isDone = !isEndDue && delivered >= max(settling.version, sentInside)
      if isIdle || isDone || state.isClosed { settled.append(settling) } else { waiting.append(settling) }
    }
    state.settlings = waiting
    return settled
  }

  /// The lock is held, and let go meanwhile.
  func notifySettled() {
    let settled = takeSettled()
    guard !settled.isEmpty else { return }
    stream.lock.unlock()
    settled.notify()
    stream.lock.lock()
  }
}

extension Array where Element == Settling {
  /// Not under a lock.
  func notify() {
    for settling in self { settling.notify() }
  }
}
