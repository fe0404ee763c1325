import Synchronization

/// The slots that a thread gets at a time: enough that those of two threads never share a line.
struct LeaseRun: ~Copyable {
  static var length: Int { 64 }

  /// Whether a slot here may hold a lease: see ``LeaseGroup``.
  fileprivate let mayHold = Atomic<Bool>(false)
  let owner: UnsafeMutablePointer<ThreadRecord>
  private let group: UnsafeMutablePointer<LeaseGroup>
  fileprivate let slots: UnsafeMutablePointer<LeaseSlot>

  fileprivate init(
    owner: UnsafeMutablePointer<ThreadRecord>, group: UnsafeMutablePointer<LeaseGroup>,
    slots: UnsafeMutablePointer<LeaseSlot>
  ) {
    self.owner = owner
    self.group = group
    self.slots = slots
  }

  /// After a lease was written to one of the slots. Two plain stores, to lines that only this thread writes.
  @inline(__always)
  func holdsOne() {
    mayHold.store(true, ordering: .releasing)
    group.pointee.mayHold.store(true, ordering: .releasing)
  }
}

/// Runs of one thread, so that a look through all leases takes the time of those held, not of those there ever were.
///
/// A thread marks its run, and then the run's group, after it has written a lease. Whoever looks takes the marks away
/// first, and puts them back where it finds a lease: so a mark can be missing only while its lease is just being
/// written, and no look that matters comes then, because a lease on an instance that may be retired is written inside
/// a read section or a container's lock. Looks are made one at a time.
struct LeaseGroup: ~Copyable {
  private static var capacity: Int { 64 }

  fileprivate let mayHold = Atomic<Bool>(false)
  private let next: UnsafeMutablePointer<LeaseGroup>?
  private let runs: UnsafeMutablePointer<LeaseRun>
  private let count = Atomic<Int>(0)

  private init(next: UnsafeMutablePointer<LeaseGroup>?) {
    self.next = next
    runs = .allocate(capacity: LeaseGroup.capacity)
  }

  /// All groups. Added to with ``LeaseTable``'s lock held.
  private nonisolated(unsafe) static let first = Atomic<UnsafeMutablePointer<LeaseGroup>?>(nil)
  private nonisolated(unsafe) static let looking = Lock()

  /// A run of slots for a thread, with ``LeaseTable``'s lock held.
  static func addRun(
    _ slots: UnsafeMutablePointer<LeaseSlot>, of thread: UnsafeMutablePointer<ThreadRecord>
  ) -> UnsafeMutablePointer<LeaseRun> {
    let group = thread.pointee.leaseGroup.flatMap { $0.pointee.isFull ? nil : $0 } ?? create()
    thread.pointee.leaseGroup = group
    let count = group.pointee.count.load(ordering: .relaxed)
    let run = group.pointee.runs + count
    run.initialize(to: LeaseRun(owner: thread, group: group, slots: slots))
    group.pointee.count.store(count + 1, ordering: .releasing)
    return run
  }

  private var isFull: Bool { count.load(ordering: .relaxed) == LeaseGroup.capacity }

  private static func create() -> UnsafeMutablePointer<LeaseGroup> {
    // On lines of its own, since its thread writes the mark with each lease.
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 128)
    let group = memory.assumingMemoryBound(to: LeaseGroup.self)
    group.initialize(to: LeaseGroup(next: first.load(ordering: .acquiring)))
    first.store(group, ordering: .releasing)
    return group
  }

  /// Calls `body` with each slot that may hold a lease; it answers whether the slot does.
  static func forEachHeld(_ body: (UnsafeMutablePointer<LeaseSlot>) -> Bool) {
    looking.withLock {
      var each = first.load(ordering: .acquiring)
      while let group = each {
        each = group.pointee.next
        if takeMark(group.pointee.mayHold), group.pointee.look(body) {
          group.pointee.mayHold.store(true, ordering: .releasing)
        }
      }
    }
  }

  /// True if a lease is held.
  private func look(_ body: (UnsafeMutablePointer<LeaseSlot>) -> Bool) -> Bool {
    var holds = false
    for index in 0..<count.load(ordering: .acquiring) {
      let run = runs + index
      guard LeaseGroup.takeMark(run.pointee.mayHold) else { continue }
      var runHolds = false
      for slot in 0..<LeaseRun.length where body(run.pointee.slots + slot) { runHolds = true }
      if runHolds { run.pointee.mayHold.store(true, ordering: .releasing) }
      holds = holds || runHolds
    }
    return holds
  }

  /// Takes a mark away. True if it was there. Acquires, so that the lease for which it was made is seen.
  private static func takeMark(_ mark: borrowing Atomic<Bool>) -> Bool {
    mark.load(ordering: .relaxed) && mark.exchange(false, ordering: .acquiringAndReleasing)
  }
}
