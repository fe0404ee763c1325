import CPlatform
import Synchronization

/// Taking and ending leases.
package enum LeaseTable {
  private nonisolated(unsafe) static let slots = SlotDirectory<LeaseSlot>()
  private nonisolated(unsafe) static let lock = Lock()
  /// Guarded by `lock`.
  private nonisolated(unsafe) static var used = 0
  /// Not a kind of token that the program has, so that no word of its own can name a dependency.
  private static let dependencyKind: UInt = 15

  /// Writes a lease on `instance`. The caller sees to it that the instance cannot be retired unseen: it is in a read
  /// section, holds the container's lock, or holds a lease already.
  @inline(__always)
  static func take(
    _ instance: UnsafeMutablePointer<Instance>, marks: UInt, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> Token {
    let slot = thread.pointee.freeLeases ?? refill(thread)
    thread.pointee.freeLeases = slot.pointee.nextFree
    slot.pointee.instance.store(instance, ordering: .relaxed)
    slot.pointee.value.store(instance.pointee.value, ordering: .relaxed)
    slot.pointee.container.store(instance.pointee.containerIdentity, ordering: .relaxed)
    slot.pointee.cell.store(instance.pointee.cell, ordering: .relaxed)
    let kind = marks & LeaseSlot.Mark.dependency == 0 ? UInt(Token.Kind.handle.rawValue) : dependencyKind
    let held = slot.pointee.state.load(ordering: .relaxed) | kind << UInt(Token.kindShift)
    slot.pointee.state.store(held | marks, ordering: .releasing)
    slot.pointee.run.pointee.holdsOne()
    return Token(word: held | slot.pointee.index)
  }

  /// Ends a handle. False for a token that is not a handle, or no longer.
  @inline(__always)
  package static func release(_ token: Token) -> Bool {
    guard token.isKind(.handle) else { return false }
    return end(token)
  }

  /// Ends a lease of an instance on what it required.
  static func releaseDependency(_ token: Token, _ ended: inout EndedInstances) {
    guard let (instance, marks) = free(token) else { return }
    if marks & LeaseSlot.Mark.counted != 0, Instance.dropReference(instance) { ended.add(instance) }
  }

  /// The program's pointer behind a handle, nil for any other token.
  @inline(__always)
  package static func value(_ token: Token) -> UnsafeMutableRawPointer? {
    guard token.isKind(.handle), let slot = slots.element(token.index) else { return nil }
    guard slot.pointee.state.load(ordering: .acquiring) & ~Token.indexMask == token.word & ~Token.indexMask else {
      return nil
    }
    let value = slot.pointee.value.load(ordering: .acquiring)
    // Released and taken again in between: then the value may be of another lease.
    guard slot.pointee.state.load(ordering: .acquiring) & ~Token.indexMask == token.word & ~Token.indexMask else {
      return nil
    }
    return value
  }

  /// The instance behind a lease, for a caller that knows the lease to be held.
  static func instance(_ token: Token) -> UnsafeMutablePointer<Instance> {
    slots.element(token.index)!.pointee.instance.load(ordering: .relaxed)!
  }

  /// Calls `body` with each slot that holds a lease just now. What the slot says may be outdated a moment later.
  static func forEachHeld(_ body: (UnsafeMutablePointer<LeaseSlot>, _ state: UInt) -> Void) {
    LeaseGroup.forEachHeld { slot in
      let state = slot.pointee.state.load(ordering: .acquiring)
      guard state >> UInt(Token.kindShift) != 0 else { return false }
      body(slot, state)
      return true
    }
  }

  @inline(__always)
  private static func end(_ token: Token) -> Bool {
    guard let (instance, marks) = free(token) else { return false }
    if marks & LeaseSlot.Mark.counted != 0, Instance.dropReference(instance) { Teardown.destroy(instance) }
    return true
  }

  /// Frees the slot. Nil when the token's lease has ended already.
  @inline(__always)
  private static func free(_ token: Token) -> (UnsafeMutablePointer<Instance>, marks: UInt)? {
    guard let slot = slots.element(token.index) else { return nil }
    var state = slot.pointee.state.load(ordering: .acquiring)
    while state & ~Token.indexMask == token.word & ~Token.indexMask {
      // Read before the slot is free: its thread may take it again at once.
      let instance = slot.pointee.instance.load(ordering: .relaxed)
      let generation = state >> UInt(Token.indexBits) & Token.lastGeneration
      let freed = (generation &+ 1) << UInt(Token.indexBits)
      let (exchanged, now) = slot.pointee.state.compareExchange(
        expected: state, desired: freed, ordering: .acquiringAndReleasing)
      if exchanged {
        if generation != Token.lastGeneration { giveBack(slot) }
        return (instance!, state & Token.indexMask)
      }
      state = now
    }
    return nil
  }

  @inline(__always)
  private static func giveBack(_ slot: UnsafeMutablePointer<LeaseSlot>) {
    let thread = ThreadRecord.current
    let owner = slot.pointee.run.pointee.owner
    if owner == thread {
      slot.pointee.nextFree = thread.pointee.freeLeases
      thread.pointee.freeLeases = slot
      return
    }
    var head = owner.pointee.returnedLeases.load(ordering: .relaxed)
    while true {
      slot.pointee.nextFree = head
      let (exchanged, now) = owner.pointee.returnedLeases.compareExchange(
        expected: head, desired: slot, ordering: .releasing)
      if exchanged { return }
      head = now
    }
  }

  @inline(never)
  private static func refill(_ thread: UnsafeMutablePointer<ThreadRecord>) -> UnsafeMutablePointer<LeaseSlot> {
    if let returned = thread.pointee.returnedLeases.exchange(nil, ordering: .acquiring) { return returned }
    let (first, run) = lock.withLock {
      let first = used
      slots.grow(toHold: first)
      used += LeaseRun.length
      return (first, LeaseGroup.addRun(slots.element(first)!, of: thread))
    }
    var next: UnsafeMutablePointer<LeaseSlot>?
    for index in (first..<first + LeaseRun.length).reversed() {
      let slot = slots.element(index)!
      slot.pointee.run = run
      slot.pointee.index = UInt(bitPattern: index)
      slot.pointee.nextFree = next
      next = slot
    }
    return next!
  }
}
