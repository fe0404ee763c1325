import Synchronization

/// Ends cached instances that were taken out of their cache.
///
/// Leases on them were not counted, which is what makes a resolve cheap. So the leases still held are looked for now,
/// in all slots at once for however many instances there are, and marked: whoever releases a marked one tells the
/// instance. An instance with none left is destroyed before `finish` returns; otherwise its last lease does it.
enum Retirement {
  private nonisolated(unsafe) static let lock = Lock()

  /// With no lock held, for instances whose ``Instance/retire()`` answered true.
  static func finish(_ instances: [UnsafeMutablePointer<Instance>]) {
    guard !instances.isEmpty else { return }
    var ended = EndedInstances()
    lock.withLock {
      // Whoever found one of them in its cell has written its lease when this returns.
      ReadSection.waitForOthers()
      var held = AddressMap<Instance, Int>()
      for each in instances { held.update(each, first: 0) { _ in } }
      LeaseTable.forEachHeld { slot, state in
        // A counted lease's instance may end at any moment, and is never one of ours. The others' instances cannot:
        // they are retired first, under the lock that is held here, and then their leases are marked.
        guard state & LeaseSlot.Mark.counted == 0 else { return }
        guard let instance = slot.pointee.instance.load(ordering: .relaxed), held.position(instance) != nil else {
          return
        }
        var state = state
        while state & LeaseSlot.Mark.counted == 0 {
          let (exchanged, now) = slot.pointee.state.compareExchange(
            expected: state, desired: state | LeaseSlot.Mark.counted, ordering: .acquiringAndReleasing)
          if exchanged {
            held.update(instance, first: 0) { $0 += 1 }
            return
          }
          guard now & ~Token.indexMask == state & ~Token.indexMask else { return }
          state = now
        }
      }
      for position in held.keys.indices where held.keys[position].pointee.settle(held: held.values[position]) {
        ended.add(held.keys[position])
      }
    }
    Teardown.destroy(ended)
  }
}
