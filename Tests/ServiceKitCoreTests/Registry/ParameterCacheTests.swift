import XCTest

@testable import ServiceKitCore

final class ParameterCacheTests: XCTestCase {
  private let bench = Bench()

  private func find(_ cache: ParameterCache, _ parameter: String) -> UnsafeMutablePointer<Instance>? {
    withView(parameter) { cache.find(ByteParameter.make($0)) }
  }

  func testAnEmptyCacheHasNothing() {
    var cache = ParameterCache()
    XCTAssertTrue(cache.isEmpty)
    XCTAssertNil(find(cache, "a"))
    XCTAssertNil(cache.find(nil))
    cache.remove(bench.instance("a"))
    XCTAssertTrue(cache.isEmpty)
    XCTAssertTrue(cache.instances.isEmpty)
  }

  func testNoParameterIsOneToo() {
    var cache = ParameterCache()
    let (none, some) = (bench.instance(), bench.instance("a"))
    cache.insert(none)
    cache.insert(some)
    XCTAssertEqual(cache.find(nil), none)
    XCTAssertEqual(find(cache, "a"), some)
  }

  func testItFindsEachOfManyWhileItGrowsAndShrinks() {
    var cache = ParameterCache()
    var expected: [String: UnsafeMutablePointer<Instance>] = [:]
    for number in 0..<1_000 {
      let instance = bench.instance("p\(number)")
      cache.insert(instance)
      expected["p\(number)"] = instance
      // The sizes at which it grows, and their neighbours.
      guard [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 255, 256, 257, 999].contains(number) else { continue }
      for (parameter, instance) in expected { XCTAssertEqual(find(cache, parameter), instance) }
      XCTAssertEqual(cache.instances.count, expected.count)
    }
    for number in stride(from: 0, to: 1_000, by: 2) { cache.remove(expected["p\(number)"]!) }
    for number in 0..<1_000 {
      XCTAssertEqual(find(cache, "p\(number)"), number % 2 == 0 ? nil : expected["p\(number)"])
    }
    for number in stride(from: 1, to: 1_000, by: 2) { cache.remove(expected["p\(number)"]!) }
    XCTAssertTrue(cache.isEmpty)
  }

  func testAllBytesOfAParameterAreCompared() {
    var cache = ParameterCache()
    let long = String(repeating: "x", count: 1_000)
    let instance = bench.instance(long + "1")
    cache.insert(instance)
    XCTAssertEqual(find(cache, long + "1"), instance)
    XCTAssertNil(find(cache, long + "2"))
    XCTAssertNil(find(cache, long))
    XCTAssertNil(find(cache, "y" + long.dropFirst() + "1"))
  }

  func testACopyIsAnotherCache() {
    var cache = ParameterCache()
    for number in 0..<20 { cache.insert(bench.instance("\(number)")) }
    let copy = cache
    for instance in cache.instances { cache.remove(instance) }
    XCTAssertTrue(cache.isEmpty)
    XCTAssertEqual(copy.instances.count, 20)
  }
}
