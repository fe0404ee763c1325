import CPlatform
import Synchronization

/// A key's place in a container. It is found once and never moves while the container uses the key.
///
/// The key's bytes, and a NUL, follow it in memory. The atomic fields are read without a lock; the others are guarded
/// by the container's lock.
package struct Cell: ~Copyable {
  /// What the container holds for the key.
  /// Stands first because ThreadSanitizer takes a change of any field for one of the first bytes, which therefore must
  /// not be among those that other threads read without a lock.
  var state = CellState()
  /// The instance that a plain resolve gives, as long as `hitVersion` is that of ``Answers``.
  let hit = Atomic<UnsafeMutablePointer<Instance>?>(nil)
  let hitVersion = Atomic<UInt64>(0)
  /// The interned key of the same name, once one was used here: then bytes need not be compared.
  let interned = Atomic<UnsafeMutablePointer<InternedKey>?>(nil)
  /// Which instances `hit` may be given to; see ``Definition/asked``.
  let hitAsked = Atomic<UInt>(0)
  let hash: UInt64
  let keyLength: Int
  let space: UInt
  /// Instances of this key that live, whoever holds them.
  let liveInstances = Atomic<Int>(0)
  /// The keys that this one's factories required so far: a list that only grows, by one node for each other key.
  let requirements = Atomic<UnsafeMutablePointer<Requirement>?>(nil)

  /// How often what is registered or said for the key has changed.
  var changes: UInt64 = 0
  /// What `state` was before the pushes since which it changed.
  var saved: SavedCellState?
  /// How many pushes there were when `state` was last saved.
  var level = 0
  /// How many instances by parameter there may be until ``TypedResolve/sweep`` looks which of them nobody holds.
  var sweepAt = 64
  /// The factories of this key that are at work and whose instance will be cached.
  var builds: Build?
  /// The leases by which this container keeps pinned instances.
  var pins: [Token] = []

  private init(hash: UInt64, keyLength: Int, space: UInt) {
    self.hash = hash
    self.keyLength = keyLength
    self.space = space
  }

  static func create(_ view: KeyView) -> UnsafeMutablePointer<Cell> {
    let key = view.bytes
    let size = MemoryLayout<Cell>.size
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: size + key.count + 1, alignment: MemoryLayout<Cell>.alignment)
    let cell = memory.assumingMemoryBound(to: Cell.self)
    cell.initialize(to: Cell(hash: view.hash, keyLength: key.count, space: view.space))
    if let start = key.start { (memory + size).copyMemory(from: start, byteCount: key.count) }
    memory.storeBytes(of: 0, toByteOffset: size + key.count, as: UInt8.self)
    return cell
  }

  /// Frees a cell that no thread can reach any more and that holds no instance.
  static func free(_ cell: UnsafeMutablePointer<Cell>) {
    var requirement = cell.pointee.requirements.load(ordering: .acquiring)
    while let current = requirement {
      requirement = current.pointee.next
      current.deinitialize(count: 1)
      current.deallocate()
    }
    cell.deinitialize(count: 1)
    UnsafeMutableRawPointer(cell).deallocate()
  }

  /// Before `state` changes: keeps what it was for the pop that brings it back.
  mutating func willChange(level now: Int) {
    guard level != now else { return }
    saved = SavedCellState(state, level: level, before: saved)
    level = now
  }

  /// Whether a pop will bring `instance` back, so that it must not be retired though it is no longer cached.
  func isSaved(_ instance: UnsafeMutablePointer<Instance>) -> Bool {
    var each = saved
    while let current = each {
      if current.state.holds(instance) { return true }
      each = current.before
    }
    return false
  }

  /// Drops an instance that has ended from whatever a pop would bring back.
  func forgetSaved(_ instance: UnsafeMutablePointer<Instance>) {
    var each = saved
    while let current = each {
      current.state.uncache(instance)
      each = current.before
    }
  }

  /// The parameters of instances and builds that only the program can tell from `parameter`.
  func unclear(_ parameter: Parameter) -> [Parameter] {
    var found = state.parametrised.unclear(parameter)
    var each = builds
    while let build = each {
      each = build.next
      guard let other = build.parameter, other !== parameter, other.hash == parameter.hash else { continue }
      found.append(other)
    }
    return found
  }

  /// Nothing is registered, cached, saved or at work here: the cell only takes up room.
  var isEmpty: Bool {
    state.isEmpty && saved == nil && builds == nil && pins.isEmpty && liveInstances.load(ordering: .relaxed) == 0
  }
}

/// One key that another one's factory has required.
struct Requirement {
  let key: OwnedBytes
  let next: UnsafeMutablePointer<Requirement>?
}

extension UnsafeMutablePointer where Pointee == Cell {
  /// The key, whose bytes stand behind the cell.
  @inline(__always)
  var key: ByteView {
    ByteView(start: UnsafeRawPointer(self) + MemoryLayout<Cell>.size, count: pointee.keyLength)
  }

  /// The key as a C string.
  var keyCString: UnsafePointer<CChar> {
    UnsafePointer((UnsafeRawPointer(self) + MemoryLayout<Cell>.size).assumingMemoryBound(to: CChar.self))
  }

  /// Notes, for the descriptions, that a factory of this key required `key`. No lock where it is known already.
  func noteRequirement(of key: ByteView) {
    var head = pointee.requirements.load(ordering: .acquiring)
    while true {
      var each = head
      while let current = each {
        if current.pointee.key.view == key { return }
        each = current.pointee.next
      }
      let new = UnsafeMutablePointer<Requirement>.allocate(capacity: 1)
      new.initialize(to: Requirement(key: OwnedBytes(key), next: head))
      let (exchanged, now) = pointee.requirements.compareExchange(
        expected: head, desired: new, ordering: .acquiringAndReleasing)
      if exchanged { return }
      new.deinitialize(count: 1)
      new.deallocate()
      head = now
    }
  }
}
