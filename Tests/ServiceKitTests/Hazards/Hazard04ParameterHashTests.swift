import ServiceKit
import ServiceKitTesting
import XCTest

/// A cache that is keyed by a parameter tells parameters apart by equality, never by their hash alone.
final class Hazard04ParameterHashTests: XCContainerTestCase {
  private let container = Container()

  private func check(_ factory: ParameterFactory<Colliding, Box>) {
    let boxes = (0..<20).map { factory(Colliding($0)) }
    XCTAssertEqual(boxes.map(\.number), Array(0..<20))
    for number in 0..<20 { XCTAssertTrue(factory(Colliding(number)) === boxes[number]) }
  }

  func testCached() { check(container.cachedBox) }
  func testSingleton() { check(container.onlyBox) }
  func testShared() { check(container.sharedBox) }
  func testCustomScope() { check(container.customBox) }

  func testGraph() {
    container.boxes.register { [unowned container] in
      let (one, two) = (container.graphBox(Colliding(1)), container.graphBox(Colliding(2)))
      XCTAssertTrue(container.graphBox(Colliding(1)) === one)
      return [one.number, two.number]
    }
    XCTAssertEqual(container.boxes(), [1, 2])
  }

  func testEqualParametersOfDifferentIdentityAreOne() {
    XCTAssertTrue(container.cachedBox(Colliding(1, note: "a")) === container.cachedBox(Colliding(1, note: "b")))
  }
}

/// Its hash says nothing, and its note does not count.
private struct Colliding: Hashable {
  let number: Int
  let note: String
  init(_ number: Int, note: String = "") { (self.number, self.note) = (number, note) }
  static func == (one: Colliding, other: Colliding) -> Bool { one.number == other.number }
  func hash(into hasher: inout Hasher) { hasher.combine(0) }
}

private final class Box: Sendable {
  let number: Int
  init(_ number: Int) { self.number = number }
}

extension Scope {
  fileprivate static let custom = Cached()
}

extension Container {
  fileprivate var cachedBox: ParameterFactory<Colliding, Box> { self { Box($0.number) }.cached.scopeOnParameters }
  fileprivate var onlyBox: ParameterFactory<Colliding, Box> { self { Box($0.number) }.singleton.scopeOnParameters }
  fileprivate var sharedBox: ParameterFactory<Colliding, Box> { self { Box($0.number) }.shared.scopeOnParameters }
  fileprivate var graphBox: ParameterFactory<Colliding, Box> { self { Box($0.number) }.graph.scopeOnParameters }
  fileprivate var customBox: ParameterFactory<Colliding, Box> {
    self { Box($0.number) }.scope(.custom).scopeOnParameters
  }
  fileprivate var boxes: Factory<[Int]> { self { [] } }
}
