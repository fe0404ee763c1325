/// What a change displaced: instances to retire, and objects whose end calls the program. Gathered under a container's
/// lock, let go of after it.
struct Leftovers {
  private var instances: [UnsafeMutablePointer<Instance>] = []
  private var objects: [AnyObject] = []

  mutating func keep(_ object: AnyObject?) {
    if let object { objects.append(object) }
  }

  /// With the instance's container's lock held, after the instance has been taken out of its cell's state: unless a
  /// pop brings it back, it ends with its last lease.
  mutating func retire(_ instance: UnsafeMutablePointer<Instance>?) {
    guard let instance, !instance.pointee.cell.pointee.isSaved(instance) else { return }
    if instance.pointee.retire() { instances.append(instance) }
  }

  mutating func retire(_ all: [UnsafeMutablePointer<Instance>]) {
    for each in all { retire(each) }
  }

  /// Everything that is registered, cached or saved in a cell, with the lock held.
  mutating func takeAll(of cell: UnsafeMutablePointer<Cell>) {
    detachBuilds(of: cell)
    var saved = cell.pointee.saved
    cell.pointee.saved = nil
    take(&cell.pointee.state)
    while let current = saved {
      saved = current.before
      take(&current.state)
    }
  }

  private mutating func take(_ state: inout CellState) {
    let instances = state.takeInstances()
    for each in instances where each.pointee.retire() { self.instances.append(each) }
    keep(state.plain)
    for each in state.contextual { keep(each) }
    keep(state.decorator)
    state = CellState()
  }

  /// What factories at work will give goes to those who wait for it, and is not cached: it was asked of something that
  /// is no longer registered.
  func detachBuilds(of cell: UnsafeMutablePointer<Cell>) {
    var build = cell.pointee.builds
    cell.pointee.builds = nil
    while let current = build {
      build = current.next
      current.next = nil
      current.isDetached = true
    }
  }

  /// With no lock held.
  consuming func letGo() {
    Retirement.finish(instances)
    objects = []
  }
}
