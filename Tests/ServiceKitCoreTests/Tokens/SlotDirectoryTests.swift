import Synchronization
import XCTest

@testable import ServiceKitCore

final class SlotDirectoryTests: XCTestCase {
  /// The first and last index of each of the first chunks.
  private let edges = [0, 63, 64, 191, 192, 447, 448, 959, 960, 1983, 1984]

  func testNothingIsThereBeforeItGrows() {
    let directory = SlotDirectory<UInt>()
    for index in edges { XCTAssertNil(directory.element(index)) }
  }

  func testAChunkHoldsFromItsFirstToItsLastElement() {
    for (chunk, first) in [0, 64, 192, 448, 960].enumerated() {
      let last = first + (64 << chunk) - 1
      for grown in [first, (first + last) / 2, last] {
        let directory = SlotDirectory<UInt>()
        directory.grow(toHold: grown)
        XCTAssertNotNil(directory.element(first))
        XCTAssertNotNil(directory.element(last))
        XCTAssertNil(directory.element(last + 1))
        if first > 0 { XCTAssertNil(directory.element(first - 1)) }
      }
    }
  }

  func testElementsBeginAsZeroAndNoTwoShareAPlace() {
    let directory = SlotDirectory<UInt>()
    var places = Set<UnsafeMutablePointer<UInt>>()
    for index in 0..<5_000 {
      directory.grow(toHold: index)
      let element = directory.element(index)!
      XCTAssertEqual(element.pointee, 0)
      XCTAssertTrue(places.insert(element).inserted)
      element.pointee = UInt(index)
    }
    for index in 0..<5_000 { XCTAssertEqual(directory.element(index)!.pointee, UInt(index)) }
  }

  func testElementsNeverMove() {
    let directory = SlotDirectory<UInt>()
    directory.grow(toHold: 0)
    let first = directory.element(0)!
    first.pointee = 7
    for index in edges { directory.grow(toHold: index) }
    directory.grow(toHold: 0)
    XCTAssertEqual(directory.element(0), first)
    XCTAssertEqual(first.pointee, 7)
  }

  func testAnIndexBeyondAllChunksIsNowhere() {
    let directory = SlotDirectory<UInt>()
    for index in edges { directory.grow(toHold: index) }
    for index in [Int(Token.indexMask), 1 << 30, Int.max - 64, Int.max, Int.min, -65] {
      XCTAssertNil(directory.element(index))
    }
  }

  func testReadersSeeWholeChunksWhileItGrows() {
    let directory = SlotDirectory<UInt>()
    let published = Atomic<Int>(-1)
    let wrong = Tally()
    runThreads(3) { thread in
      if thread == 0 {
        for index in 0..<20_000 {
          directory.grow(toHold: index)
          directory.element(index)!.pointee = UInt(index)
          published.store(index, ordering: .releasing)
        }
        return
      }
      var last = -1
      while last < 19_999 {
        last = published.load(ordering: .acquiring)
        guard last >= 0 else { continue }
        if directory.element(last)?.pointee != UInt(last) { wrong.add() }
        _ = directory.element(last + 1)
      }
    }
    XCTAssertEqual(wrong.value, 0)
  }
}
