import CServiceKit
import Synchronization

/// Which handles of a container the program still holds.
enum HeldHandles {
  /// How many leases there are on a key's instances.
  struct Counts {
    /// The program's handles.
    var handles = 0
    /// What instances required.
    var dependencies = 0
  }

  /// Warns, for each key, of the handles held on the container's instances; only on some of them, if those are named.
  static func log(
    of container: Container, _ action: StaticString, among instances: [UnsafeMutablePointer<Instance>]? = nil
  ) {
    guard Log.wants(SVK_LOG_WARNING) else { return }
    let counts = count(of: container, among: instances)
    for position in counts.keys.indices where counts.values[position].handles > 0 {
      let (cell, counts) = (counts.keys[position], counts.values[position])
      Log.write(SVK_LOG_WARNING) { text in
        text.append(action)
        text.append(": ")
        text.append(Int64(counts.handles))
        text.append(counts.handles == 1 ? " handle is still held on \"" : " handles are still held on \"")
        text.append(cell.key)
        text.append("\"; they stay usable until they are released with svk_release")
      }
    }
  }

  /// The leases on a container's instances, by key, at about this moment.
  static func count(
    of container: Container, among instances: [UnsafeMutablePointer<Instance>]? = nil
  ) -> AddressMap<Cell, Counts> {
    var counts = AddressMap<Cell, Counts>()
    var wanted = AddressMap<Instance, Void>()
    for each in instances ?? [] { wanted.update(each, first: ()) { _ in } }
    let identity = UnsafeRawPointer(Unmanaged.passUnretained(container).toOpaque())
    LeaseTable.forEachHeld { slot, state in
      let cell = slot.pointee.cell.load(ordering: .relaxed)
      guard slot.pointee.container.load(ordering: .relaxed) == identity, let cell else { return }
      if instances != nil {
        guard let instance = slot.pointee.instance.load(ordering: .relaxed), wanted.position(instance) != nil else {
          return
        }
      }
      // Released and taken again meanwhile: then what was read may belong to two leases.
      guard slot.pointee.state.load(ordering: .acquiring) & ~Token.indexMask == state & ~Token.indexMask else { return }
      counts.update(cell, first: Counts()) { counts in
        if state & LeaseSlot.Mark.dependency == 0 { counts.handles += 1 } else { counts.dependencies += 1 }
      }
    }
    return counts
  }
}
