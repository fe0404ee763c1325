import XCTest

@testable import ServiceKitCore

final class AddressMapTests: XCTestCase {
  private let memory = UnsafeMutablePointer<Int>.allocate(capacity: 40_000)

  deinit { memory.deallocate() }

  func testAnEmptyMapHasNothing() {
    let map = AddressMap<Int, Int>()
    XCTAssertNil(map.position(memory))
    XCTAssertNil(map[memory])
    XCTAssertTrue(map.keys.isEmpty)
  }

  func testAValueBeginsAsTheFirstAndIsThenChanged() {
    var map = AddressMap<Int, Int>()
    for _ in 0..<3 { map.update(memory, first: 10) { $0 += 1 } }
    map.update(memory + 1, first: 5) { _ in }
    XCTAssertEqual(map[memory], 13)
    XCTAssertEqual(map[memory + 1], 5)
    XCTAssertEqual(map.keys, [memory, memory + 1])
    XCTAssertEqual(map.values, [13, 5])
    XCTAssertEqual(map.position(memory + 1), 1)
    XCTAssertNil(map[memory + 2])
  }

  /// Neighbours as the heap gives them, and addresses a page apart, which a poor hash would throw together.
  func testItFindsEachOfMany() {
    for stride in [2, 4, 18, 512] {
      var map = AddressMap<Int, Int>()
      let count = min(2_000, 40_000 / stride / 2)
      for number in 0..<count { map.update(memory + number * stride, first: number) { _ in } }
      for number in 0..<count { XCTAssertEqual(map[memory + number * stride], number) }
      for number in count..<2 * count { XCTAssertNil(map[memory + number * stride]) }
      XCTAssertEqual(map.keys.count, count)
      XCTAssertEqual(map.values, Array(0..<count))
    }
  }
}
