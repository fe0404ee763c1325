import XCTest

@testable import ServiceKitCore

final class CellStateTests: XCTestCase {
  private let bench = Bench()
  private let maker = Maker()

  private func registration(_ context: String? = nil) -> Registration { maker.registration(.cached, context: context) }

  private func contexts(_ names: String...) -> ContextList { ContextList(names.map { owned($0) }) }

  func testTheFirstActiveContextThatHasOneWins() {
    var state = CellState()
    let (plain, test, preview) = (registration(), registration("test"), registration("preview"))
    state.plain = plain
    XCTAssertNil(state.setContextual(test))
    XCTAssertNil(state.setContextual(preview))
    XCTAssertTrue(state.winner(contexts("test")) === test)
    XCTAssertTrue(state.winner(contexts("preview")) === preview)
    XCTAssertTrue(state.winner(contexts("preview", "test")) === preview)
    XCTAssertTrue(state.winner(contexts("test", "preview")) === test)
    XCTAssertTrue(state.winner(contexts("other", "test")) === test)
    XCTAssertTrue(state.winner(contexts("other")) === plain)
    XCTAssertTrue(state.winner(contexts("tes")) === plain)
  }

  func testWithoutAnyThatFitsNothingWins() {
    var state = CellState()
    XCTAssertNil(state.winner(contexts("live")))
    _ = state.setContextual(registration("test"))
    XCTAssertNil(state.winner(contexts("live")))
    XCTAssertTrue(state.hasRegistration)
  }

  func testOneOfAContextReplacesTheFormer() {
    var state = CellState()
    let (first, other, second) = (registration("test"), registration("preview"), registration("test"))
    XCTAssertNil(state.setContextual(first))
    XCTAssertNil(state.setContextual(other))
    XCTAssertTrue(state.setContextual(second) === first)
    XCTAssertEqual(state.contextual.count, 2)
    XCTAssertTrue(state.registration(for: ByteView("test")) === second)
    XCTAssertTrue(state.registration(for: ByteView("preview")) === other)
  }

  func testOnlyTestIsForTests() {
    var state = CellState()
    XCTAssertFalse(state.hasTest)
    _ = state.setContextual(registration("tests"))
    XCTAssertFalse(state.hasTest)
    _ = state.setContextual(registration("test"))
    XCTAssertTrue(state.hasTest)
    XCTAssertTrue(registration("test").isForTest)
    XCTAssertFalse(registration("live").isForTest)
    XCTAssertFalse(registration().isForTest)
  }

  func testEachContentMakesItNotEmpty() {
    XCTAssertTrue(CellState().isEmpty)
    let changes: [(inout CellState) -> Void] = [
      { $0.plain = self.registration() }, { _ = $0.setContextual(self.registration("a")) },
      { $0.decorator = CDecorator({ _, _, _, _ in }, UserData(nil, free: nil)) }, { $0.cached = self.bench.instance() },
      { $0.cache(self.bench.instance("p"), byParameter: true) },
    ]
    for change in changes {
      var state = CellState()
      change(&state)
      XCTAssertFalse(state.isEmpty)
    }
  }

  func testAnInstanceIsKeptWithOrWithoutItsParameter() {
    var state = CellState()
    let (one, two, plain) = (bench.instance("1"), bench.instance("2"), bench.instance())
    state.cache(one, byParameter: true)
    state.cache(two, byParameter: true)
    XCTAssertEqual(state.instance(for: ByteParameter.make(ByteView("1")), byParameter: true), one)
    XCTAssertEqual(state.instance(for: ByteParameter.make(ByteView("2")), byParameter: true), two)
    XCTAssertNil(state.instance(for: ByteParameter.make(ByteView("3")), byParameter: true))
    XCTAssertNil(state.instance(for: ByteParameter.make(ByteView("1")), byParameter: false))
    state.cache(plain, byParameter: false)
    XCTAssertEqual(state.instance(for: ByteParameter.make(ByteView("anything")), byParameter: false), plain)
    for instance in [one, two, plain] { XCTAssertTrue(state.holds(instance)) }
  }

  func testUncachingTakesThatInstanceOnly() {
    var state = CellState()
    let (one, plain, stranger) = (bench.instance("1"), bench.instance(), bench.instance("1"))
    state.cache(one, byParameter: true)
    state.cache(plain, byParameter: false)
    state.uncache(stranger)
    XCTAssertTrue(state.holds(one))
    XCTAssertFalse(state.holds(stranger))
    state.uncache(one)
    XCTAssertFalse(state.holds(one))
    XCTAssertTrue(state.holds(plain))
    state.uncache(plain)
    XCTAssertTrue(state.isEmpty)
  }

  func testTakingInstancesLeavesTheRegistrations() {
    var state = CellState()
    state.plain = registration()
    let all = [bench.instance("1"), bench.instance("2"), bench.instance()]
    state.cache(all[0], byParameter: true)
    state.cache(all[1], byParameter: true)
    state.cache(all[2], byParameter: false)
    XCTAssertEqual(Set(state.takeInstances()), Set(all))
    XCTAssertTrue(state.takeInstances().isEmpty)
    XCTAssertNotNil(state.plain)
  }

  func testItIsAValue() {
    var state = CellState()
    let (one, two) = (bench.instance("1"), bench.instance("2"))
    state.cache(one, byParameter: true)
    let before = state
    state.cache(two, byParameter: true)
    state.uncache(one)
    _ = state.setContextual(registration("test"))
    XCTAssertTrue(before.holds(one))
    XCTAssertFalse(before.holds(two))
    XCTAssertFalse(before.hasRegistration)
  }
}
