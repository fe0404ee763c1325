import CServiceKit
import XCTest

@testable import ServiceKitCore

final class ValidationTests: XCTestCase {
  private let container = Container.create(parent: nil)
  private let maker = Maker()

  override func tearDown() { container.destroy() }

  private func register(_ key: String, _ scope: ScopeKind = .unique, requires: [String] = []) throws {
    let custom =
      scope == .custom ? try CustomScope.named(try CustomScope.create(ByteView("validation"))) : nil
    container.register(key, maker.registration(scope, custom: custom, requires: requires))
  }

  private func validate(_ container: Container? = nil) -> Int32 {
    status { () throws(Failure) in try Validation.check(container ?? self.container) }
  }

  func testNothingIsBuilt() throws {
    XCTAssertEqual(validate(), SVK_OK)
    try register("a", .cached, requires: ["b", "c"])
    try register("b", requires: ["c"])
    try register("c")
    XCTAssertEqual(validate(), SVK_OK)
    XCTAssertEqual(maker.builds.value, 0)
  }

  func testAMissingKeyIsNamedWithWhoRequiresIt() throws {
    try register("a", requires: ["b"])
    XCTAssertEqual(validate(), SVK_NOT_FOUND)
    XCTAssertTrue(lastWords.contains("\"b\", which \"a\" requires"), lastWords)
    try register("b")
    XCTAssertEqual(validate(), SVK_OK)
  }

  func testACycleIsNamedFromItsBeginningToItsEnd() throws {
    try register("a", requires: ["a"])
    XCTAssertEqual(validate(), SVK_CYCLE)
    XCTAssertTrue(lastWords.contains("a → a"), lastWords)
    try register("a", requires: ["b"])
    try register("b", requires: ["c"])
    try register("c", requires: ["a"])
    XCTAssertEqual(validate(), SVK_CYCLE)
    XCTAssertTrue(["a → b → c → a", "b → c → a → b", "c → a → b → c"].contains { lastWords.contains($0) }, lastWords)
    try register("c")
    XCTAssertEqual(validate(), SVK_OK)
  }

  /// Singleton over cached and custom over shared over graph. Unique may require, and be required by, any.
  func testNoLongerLivedScopeRequiresAShorterLivedOne() throws {
    let rank: [ScopeKind: Int] = [.singleton: 4, .cached: 3, .custom: 3, .shared: 2, .graph: 1]
    let scopes: [ScopeKind] = [.default, .unique, .cached, .shared, .singleton, .graph, .custom]
    for dependent in scopes {
      for required in scopes {
        try register("dependent", dependent, requires: ["required"])
        try register("required", required)
        let clashes = (rank[dependent] ?? 0) > (rank[required] ?? .max)
        XCTAssertEqual(validate(), clashes ? SVK_INVALID_ARGUMENT : SVK_OK, "\(dependent) requires \(required)")
        guard clashes else { continue }
        XCTAssertTrue(lastWords.contains("\"dependent\" (\(dependent.name)) requires \"required\" (\(required.name))"))
      }
    }
  }

  func testTheDefaultScopeIsLookedUp() throws {
    try register("dependent", .default, requires: ["required"])
    try register("required", .shared)
    XCTAssertEqual(validate(), SVK_OK)
    try container.setDefaultScope(.singleton)
    XCTAssertEqual(validate(), SVK_INVALID_ARGUMENT)
  }

  func testTheActiveContextsDecide() throws {
    try register("a", requires: ["b"])
    container.register("b", maker.registration(.unique, context: "test"))
    XCTAssertEqual(validate(), SVK_NOT_FOUND)
    try container.setContexts(ByteView("test"))
    XCTAssertEqual(validate(), SVK_OK)
    try container.setStrict(true)
    XCTAssertEqual(validate(), SVK_CONTEXT_MISSING)
    container.register("a", maker.registration(.unique, requires: ["b"], context: "test"))
    XCTAssertEqual(validate(), SVK_OK)
  }

  func testAParentsRegistrationsCount() throws {
    let child = Container.create(parent: container)
    defer { child.destroy() }
    child.register("a", maker.registration(.unique, requires: ["b"]))
    XCTAssertEqual(validate(child), SVK_NOT_FOUND)
    try register("b")
    XCTAssertEqual(validate(child), SVK_OK)
  }

  func testADeepChainAndAWideDiamondNeedNoDeepStack() throws {
    for level in 0..<20_000 { try register("deep.\(level)", requires: ["deep.\(level + 1)"]) }
    try register("deep.20000")
    XCTAssertEqual(validate(), SVK_OK)
    // Two ways from each level to the next: 2 to the power of 60 paths, each key looked at once.
    for level in 0..<60 { try register("wide.\(level)", requires: ["wide.\(level + 1)", "wide.\(level + 1)", "end"]) }
    try register("wide.60")
    try register("end")
    XCTAssertEqual(validate(), SVK_OK)
  }

  func testItLeavesTheContainerFreeToEnd() throws {
    try register("a", requires: ["missing"])
    XCTAssertEqual(validate(), SVK_NOT_FOUND)
    XCTAssertFalse(container.activity.isGoingOn)
  }
}
