import CServiceKit
import Synchronization

/// The end of a container.
package enum Closing {
  /// Closes the container to new work and, once what is at work there has ended, ends its instances, dependents first.
  ///
  /// Returns true when that is done, false when it will be done by the thread that ends the last of the work: that is
  /// so from inside any callback, where waiting could be for ever.
  package static func destroy(_ token: Token) throws(Failure) -> Bool {
    guard token != Container.shared.token else {
      throw Failure(SVK_INVALID_ARGUMENT) { $0.append("the shared container cannot be destroyed; reset it instead") }
    }
    guard let container = TokenTable.object(token, .container, Container.self),
      TokenTable.withdraw(token, .container)
    else {
      throw Failure(SVK_INVALID_HANDLE) {
        $0.append("svk_container_destroy: no such container, or it is destroyed already")
      }
    }
    var mustTakeDown = false
    let isParent = container.lock.withLock {
      container.isClosed = true
      container.isTransparent.store(false, ordering: .sequentiallyConsistent)
      mustTakeDown = container.activity.close()
      return container.isParent
    }
    if isParent { Answers.change() }
    if mustTakeDown {
      takeDown(container)
      return true
    }
    // What is still at work here gets no more instances, ready ones included.
    Answers.change()
    BuildWait.containerClosed(container)
    if Callback.isRunning { return false }
    lock.lock()
    while !container.isTakenDown { takenDown.wait(lock) }
    lock.unlock()
    return true
  }

  /// Ends what was begun in `container`, and takes it down if that was what its closing waited for.
  static func end(_ container: Container) {
    if container.activity.end() { takeDown(container) }
  }

  /// Guards every container's `isTakenDown`.
  private nonisolated(unsafe) static let lock = Lock()
  private nonisolated(unsafe) static let takenDown = Condition()

  private static func takeDown(_ container: Container) {
    var leftovers = Leftovers()
    var pins: [Token] = []
    container.lock.withLock {
      container.table.pointee.forEach { cell in
        cell.pointee.hit.store(nil, ordering: .sequentiallyConsistent)
        pins.append(contentsOf: cell.pointee.pins)
        cell.pointee.pins = []
        leftovers.takeAll(of: cell)
      }
      for each in container.frames + [container.settings] {
        leftovers.keep(each.decorator)
        leftovers.keep(each.typedDecorator)
      }
      leftovers.keep(container.trace)
      container.settings = Settings()
      container.frames = []
      container.trace = nil
    }
    // The token is withdrawn: after this no thread is on its way through the container, whoever then lets go of it.
    ReadSection.waitForOthers()
    for pin in pins { Teardown.release(pin) }
    leftovers.letGo()
    // What instances held by hand, their destructors have given back by now.
    HeldHandles.log(of: container, "svk_container_destroy")
    lock.lock()
    container.isTakenDown = true
    takenDown.signalAll()
    lock.unlock()
  }
}
