import Foundation
import ServiceKit
import ServiceKitTesting
import XCTest

/// Storage does not grow with the number of graph or weak resolves.
final class Hazard09GrowthTests: XCContainerTestCase {
  #if DEBUG
    private let count = 50_000
  #else
    private let count = 2_000_000
  #endif

  private let container = Container()

  /// Nothing but what the resolves keep can grow by this much, which is a few bytes for each.
  private func check(_ resolve: (Int) -> Void) throws {
    for number in 0..<count / 10 { resolve(number) }
    let before = try residentBytes()
    for number in 0..<count { resolve(number) }
    let grown = try residentBytes() - before
    XCTAssertLessThan(grown, max(8 * count, 4 << 20))
  }

  private func residentBytes() throws -> Int {
    #if os(Linux)
      let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
      return Int(words[1])! * sysconf(Int32(_SC_PAGESIZE))
    #else
      throw XCTSkip("only Linux says how much memory is in use in a file")
    #endif
  }

  func testGraph() throws {
    let living = Tally()
    container.leaf.register { Counted(Tally(), living: living) }
    try check { _ in XCTAssertEqual(container.node(), 2) }
    XCTAssertEqual(living.value, 0)
  }

  func testWeak() throws {
    let living = Tally()
    container.weak.register { Counted(Tally(), living: living) }
    try check { _ in _ = container.weak() }
    XCTAssertEqual(living.value, 0)
  }

  func testWeakByParameter() throws {
    let living = Tally()
    container.weakByNumber.register { _ in Counted(Tally(), living: living) }
    try check { _ = container.weakByNumber($0) }
    XCTAssertEqual(living.value, 0)
  }

  func testUniqueAndCached() throws {
    try check { _ in
      _ = container.unique()
      _ = container.kept()
    }
  }

  func testLazyWrappers() throws {
    Container.shared.unique.register { Counted(Tally()) }
    try check { _ in
      _ = LazyInjected(\.unique).wrappedValue
      _ = WeakLazyInjected(\.unique).wrappedValue
    }
  }
}

extension Container {
  fileprivate var leaf: Factory<Counted> { self { Counted(Tally()) }.graph }
  fileprivate var node: Factory<Int> { self { self.leaf() === self.leaf() ? 2 : 1 } }
  fileprivate var weak: Factory<Counted> { self { Counted(Tally()) }.shared }
  fileprivate var weakByNumber: ParameterFactory<Int, Counted> {
    self { _ in Counted(Tally()) }.shared.scopeOnParameters
  }
  fileprivate var unique: Factory<Counted> { self { Counted(Tally()) } }
  fileprivate var kept: Factory<Counted> { self { Counted(Tally()) }.cached }
}
