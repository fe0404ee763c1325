import Synchronization
import XCTest

@testable import ServiceKitCore

final class SlotDirectoryTests: XCTestCase {
  /// Elements come in chunks of this many.
  private let chunk = 4_096
  /// The last index that a token can hold.
  private let last = Int(Token.indexMask)
  private lazy var edges = [0, chunk - 1, chunk, 2 * chunk - 1, 2 * chunk, last - chunk + 1, last]

  func testNothingIsThereBeforeItGrows() {
    let directory = SlotDirectory<UInt>()
    for index in edges { XCTAssertNil(directory.element(index)) }
  }

  func testAChunkHoldsFromItsFirstToItsLastElement() {
    for first in [0, chunk, 7 * chunk, last - chunk + 1] {
      for grown in [first, first + chunk / 2, first + chunk - 1] {
        let directory = SlotDirectory<UInt8>()
        directory.grow(toHold: grown)
        XCTAssertNotNil(directory.element(first))
        XCTAssertNotNil(directory.element(first + chunk - 1))
        XCTAssertNil(directory.element(first + chunk))
        XCTAssertNil(directory.element(first - 1))
      }
    }
  }

  func testElementsBeginAsZeroAndNoTwoShareAPlace() {
    let directory = SlotDirectory<UInt>()
    var places = Set<UnsafeMutablePointer<UInt>>()
    for index in 0..<10_000 {
      directory.grow(toHold: index)
      let element = directory.element(index)!
      XCTAssertEqual(element.pointee, 0)
      XCTAssertTrue(places.insert(element).inserted)
      element.pointee = UInt(index)
    }
    for index in 0..<10_000 { XCTAssertEqual(directory.element(index)!.pointee, UInt(index)) }
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

  func testAnIndexThatNoTokenCanHoldIsNowhere() {
    let directory = SlotDirectory<UInt>()
    for index in edges { directory.grow(toHold: index) }
    for index in edges { XCTAssertNotNil(directory.element(index)) }
    for index in [last + 1, 1 << 30, Int.max, Int.min, -1, -chunk] { XCTAssertNil(directory.element(index)) }
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
