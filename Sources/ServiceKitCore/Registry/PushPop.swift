import CServiceKit
import Synchronization

/// Saving and bringing back.
extension Container {
  /// Saves registrations, contexts, instances and settings. The cells save themselves when they next change.
  package func push() throws(Failure) {
    try change { () throws(Failure) in self.frames.append(self.settings) }
  }

  /// Brings back what the last push saved, and retires the instances that came since.
  package func pop() throws(Failure) {
    // So that the cells whose held handles are logged stay.
    activity.begin()
    defer { Closing.end(self) }
    var leftovers = Leftovers()
    var since: [UnsafeMutablePointer<Instance>] = []
    try change { () throws(Failure) in
      guard let frame = self.frames.popLast() else {
        throw Failure(SVK_NOT_FOUND) { $0.append("svk_container_pop: nothing was pushed on this container") }
      }
      leftovers.keep(self.settings.decorator)
      leftovers.keep(self.settings.typedDecorator)
      leftovers.keep(self.settings.contexts)
      self.settings = frame
      self.table.pointee.forEach { cell in
        if cell.pointee.level > self.frames.count { self.restore(cell, &since, &leftovers) }
      }
      self.settingsChanged()
    }
    leftovers.letGo()
    if !since.isEmpty { HeldHandles.log(of: self, "svk_container_pop", among: since) }
  }

  private func restore(
    _ cell: UnsafeMutablePointer<Cell>, _ since: inout [UnsafeMutablePointer<Instance>], _ leftovers: inout Leftovers
  ) {
    cell.pointee.hit.store(nil, ordering: .sequentiallyConsistent)
    cell.pointee.changes &+= 1
    leftovers.detachBuilds(of: cell)
    var gone = cell.pointee.state
    // A cell that came after the push has nothing to go back to.
    cell.pointee.state = cell.pointee.saved?.state ?? CellState()
    cell.pointee.level = cell.pointee.saved?.level ?? frames.count
    cell.pointee.saved = cell.pointee.saved?.before
    if gone.decorator != nil { decoratedKeys -= 1 }
    if cell.pointee.state.decorator != nil { decoratedKeys += 1 }
    for instance in gone.takeInstances() where !cell.pointee.state.holds(instance) {
      since.append(instance)
      leftovers.retire(instance)
    }
    leftovers.keep(gone.plain)
    for each in gone.contextual { leftovers.keep(each) }
    leftovers.keep(gone.decorator)
  }
}
