import CPlatform
import Synchronization

/// A container's keys: an open-addressing table that is read without a lock and written under the container's.
///
/// It is never more than half full, and at its first free entry a search ends, so that a look-up costs the same with
/// ten registrations as with a million. A table that has grown too small is replaced as a whole.
struct CellTable: ~Copyable {
  private struct Entry: ~Copyable {
    let cell = Atomic<UnsafeMutablePointer<Cell>?>(nil)
    /// Written before `cell`, so that a search reads a cell only where it is likely to be the one.
    let hash = Atomic<UInt64>(0)
  }

  /// Atomic, although it is used with the container's lock held only: an unoptimised search reads the table as a whole.
  private let cells = Atomic<Int>(0)
  private let entries: UnsafeMutablePointer<Entry>
  private let mask: Int

  private init(capacity: Int) {
    entries = .allocate(capacity: capacity)
    for index in 0..<capacity { (entries + index).initialize(to: Entry()) }
    mask = capacity - 1
  }

  deinit { entries.deallocate() }

  static func create(capacity: Int) -> UnsafeMutablePointer<CellTable> {
    let table = UnsafeMutablePointer<CellTable>.allocate(capacity: 1)
    table.initialize(to: CellTable(capacity: capacity))
    return table
  }

  /// Frees a table that no thread can reach any more, but not its cells.
  static func free(_ table: UnsafeMutablePointer<CellTable>) {
    table.deinitialize(count: 1)
    table.deallocate()
  }

  /// How many cells there are, with the container's lock held.
  var count: Int { cells.load(ordering: .relaxed) }
  var capacity: Int { mask + 1 }
  var isFull: Bool { count * 2 >= capacity }

  /// The cell of a key, from inside a ``ReadSection`` or with the container's lock held.
  @inline(__always)
  func find(_ key: KeyView) -> UnsafeMutablePointer<Cell>? {
    var index = Int(truncatingIfNeeded: key.hash) & mask
    while let cell = (entries + index).pointee.cell.load(ordering: .acquiring) {
      if (entries + index).pointee.hash.load(ordering: .relaxed) == key.hash, key.names(cell) { return cell }
      index = (index &+ 1) & mask
    }
    return nil
  }

  /// Adds a cell whose key is not there, to a table that is not full, with the container's lock held.
  func insert(_ cell: UnsafeMutablePointer<Cell>) {
    var index = Int(truncatingIfNeeded: cell.pointee.hash) & mask
    while (entries + index).pointee.cell.load(ordering: .relaxed) != nil { index = (index &+ 1) & mask }
    (entries + index).pointee.hash.store(cell.pointee.hash, ordering: .relaxed)
    (entries + index).pointee.cell.store(cell, ordering: .releasing)
    cells.wrappingAdd(1, ordering: .relaxed)
  }

  func forEach(_ body: (UnsafeMutablePointer<Cell>) -> Void) {
    for index in 0...mask {
      if let cell = (entries + index).pointee.cell.load(ordering: .relaxed) { body(cell) }
    }
  }
}

/// A key on its way to a cell: its bytes, their hash, and the interned key where it came as one.
package struct KeyView {
  package let bytes: ByteView
  /// Names of one space are other keys than the same names of another: 0 for C's names, and for a face with typed keys
  /// a number for each type.
  package let space: UInt
  let hash: UInt64
  let interned: UnsafeMutablePointer<InternedKey>?

  @inline(__always)
  package init(_ bytes: ByteView, space: UInt = 0) {
    self.init(bytes, space: space, hash: space == 0 ? bytes.hash : bytes.shortHash(UInt64(truncatingIfNeeded: space)))
  }

  @inline(__always)
  init(_ bytes: ByteView, space: UInt, hash: UInt64) {
    self.bytes = bytes
    self.space = space
    self.hash = hash
    interned = nil
  }

  init(_ interned: UnsafeMutablePointer<InternedKey>) {
    bytes = interned.pointee.name.view
    space = 0
    hash = interned.pointee.hash
    self.interned = interned
  }

  @inline(__always)
  func names(_ cell: UnsafeMutablePointer<Cell>) -> Bool {
    if let interned {
      if cell.pointee.interned.load(ordering: .relaxed) == interned { return true }
      guard space == cell.pointee.space, bytes == cell.key else { return false }
      cell.pointee.interned.store(interned, ordering: .relaxed)
      return true
    }
    return space == cell.pointee.space && bytes == cell.key
  }
}
