import CServiceKit
import Synchronization
import XCTest

@testable import ServiceKitCore

final class CellTableTests: XCTestCase {
  private func key(_ number: Int) -> OwnedBytes { owned("key.\(number)") }

  func testATableIsFullAtHalf() {
    let table = CellTable.create(capacity: 8)
    var cells: [UnsafeMutablePointer<Cell>] = []
    for number in 0..<4 {
      XCTAssertFalse(table.pointee.isFull)
      let name = key(number)
      let cell = Cell.create(KeyView(name.view))
      cells.append(cell)
      table.pointee.insert(cell)
    }
    XCTAssertTrue(table.pointee.isFull)
    XCTAssertEqual(table.pointee.count, 4)
    XCTAssertEqual(table.pointee.capacity, 8)
    for number in 0..<4 {
      let name = key(number)
      XCTAssertEqual(table.pointee.find(KeyView(name.view)), cells[number])
    }
    let other = key(4)
    XCTAssertNil(table.pointee.find(KeyView(other.view)))
    var seen: [UnsafeMutablePointer<Cell>] = []
    table.pointee.forEach { seen.append($0) }
    XCTAssertEqual(Set(seen), Set(cells))
    CellTable.free(table)
    for cell in cells { Cell.free(cell) }
  }

  func testKeysWithTheSameHashAreToldApart() {
    let table = CellTable.create(capacity: 16)
    // As if they collided, at the last entry, so that the search goes on at the first.
    let hash: UInt64 = 15
    let cells = ["a", "b", "c"].map { name in
      let name = owned(name)
      return Cell.create(KeyView(name.view, space: 0, hash: hash))
    }
    for cell in cells { table.pointee.insert(cell) }
    var found: [UnsafeMutablePointer<Cell>] = []
    table.pointee.forEach { found.append($0) }
    XCTAssertEqual(found.count, 3)
    XCTAssertEqual(cells.map { $0.key.string }, ["a", "b", "c"])
    CellTable.free(table)
    for cell in cells { Cell.free(cell) }
  }

  func testACellHoldsItsKeyAsACString() {
    let name = owned("schlüssel")
    let cell = Cell.create(KeyView(name.view))
    XCTAssertEqual(cell.key.string, "schlüssel")
    XCTAssertEqual(String(cString: cell.keyCString), "schlüssel")
    XCTAssertTrue(cell.pointee.isEmpty)
    Cell.free(cell)
  }

  func testACellNeverMovesWhileItsContainerGrows() throws {
    let container = Container.create(parent: nil)
    defer { container.destroy() }
    let maker = Maker()
    var cells: [UnsafeMutablePointer<Cell>] = []
    for number in 0..<5_000 {
      container.register("key.\(number)", maker.registration(.cached))
      cells.append(try container.cell(of: "key.\(number)"))
    }
    for number in 0..<5_000 { XCTAssertEqual(try container.cell(of: "key.\(number)"), cells[number]) }
    XCTAssertFalse(container.table.pointee.isFull)
    XCTAssertLessThanOrEqual(container.table.pointee.capacity, 5_000 * 8)
  }

  /// Keys that are not used any more take up no room for ever.
  func testATableDoesNotGrowWithKeysThatCameAndWent() {
    let container = Container.create(parent: nil)
    defer { container.destroy() }
    let maker = Maker()
    for number in 0..<20_000 {
      container.register("key.\(number)", maker.registration(.cached))
      XCTAssertEqual(container.unregister("key.\(number)"), SVK_OK)
    }
    XCTAssertLessThanOrEqual(container.table.pointee.capacity, 64)
    XCTAssertEqual(maker.frees.value, 20_000)
  }

  func testAnInternedKeyNamesTheSameCell() throws {
    let container = Container.create(parent: nil)
    defer { container.destroy() }
    container.register("key", Maker().registration(.cached))
    let cell = try container.cell(of: "key")
    let interned = try XCTUnwrap(InternedKeys.key(try InternedKeys.intern(ByteView("key"))))
    XCTAssertNil(cell.pointee.interned.load(ordering: .relaxed))
    for _ in 0..<2 { XCTAssertEqual(container.table.pointee.find(interned), cell) }
    XCTAssertNotNil(cell.pointee.interned.load(ordering: .relaxed))
    let other = try XCTUnwrap(InternedKeys.key(try InternedKeys.intern(ByteView("other"))))
    XCTAssertNil(container.table.pointee.find(other))
    XCTAssertFalse(other.names(cell))
  }

  func testReadersFindEveryKeyWhileTheTableGrows() {
    let container = Container.create(parent: nil)
    defer { container.destroy() }
    let maker = Maker()
    let published = Atomic<Int>(-1)
    let missing = Tally()
    let total = 2_000
    runThreads(3) { thread in
      if thread == 0 {
        for number in 0..<total {
          container.register("key.\(number)", maker.registration(.cached))
          published.store(number, ordering: .releasing)
        }
        return
      }
      var last = -1
      while last < total - 1 {
        last = published.load(ordering: .acquiring)
        for number in [0, last / 2, last] where number >= 0 && number <= last {
          guard let held = container.tryResolve("key.\(number)").held else {
            missing.add()
            continue
          }
          held.release()
        }
      }
    }
    XCTAssertEqual(missing.value, 0)
  }
}
