import ServiceKit
import XCTest

final class ParameterFactoryTests: XCTestCase {
  private let container = Container()

  func testGivesTheParameterToWhicheverFactory() {
    XCTAssertEqual(container.numbered(3).text, "3")
    XCTAssertEqual(container.numbered.resolve(4).text, "4")
    XCTAssertEqual(container.dependency(\.numbered, parameter: 5).text, "5")
    container.numbered.register { Speaker("registered \($0)") }
    XCTAssertEqual(container.numbered(6).text, "registered 6")
    container.numbered { Speaker("called \($0)") }
    XCTAssertEqual(container.numbered(6).text, "called 6")
    container.numbered.onTest { Speaker("in a test \($0)") }
    XCTAssertEqual(container.numbered(7).text, "in a test 7")
  }

  func testSeveralParameters() {
    XCTAssertEqual(container.pair(("a", 2)).text, "a2")
  }

  func testOneInstanceIsKeptForAllUnlessToldOtherwise() {
    XCTAssertTrue(container.keptNumbered(1) === container.keptNumbered(2))
    XCTAssertEqual(container.keptNumbered(2).text, "1")
  }

  func testScopeOnParameters() {
    let one = container.keptByNumber(1)
    XCTAssertFalse(one === container.keptByNumber(2))
    XCTAssertTrue(one === container.keptByNumber(1))
    container.keptByNumber.register { Speaker("registered \($0)") }
    XCTAssertEqual(container.keptByNumber(1).text, "registered 1")
    XCTAssertEqual(container.keptByNumber(2).text, "registered 2")
  }

  func testResettingForgetsTheInstancesOfAllParameters() {
    let before = (container.keptByNumber(1), container.keptByNumber(2))
    container.keptByNumber.reset(.scope)
    XCTAssertFalse(before.0 === container.keptByNumber(1))
    XCTAssertFalse(before.1 === container.keptByNumber(2))
  }

  func testPromises() {
    container.manager.promiseTriggersError = false
    XCTAssertNil(container.promisedNumbered(1))
    container.promisedNumbered.register { Speaker("kept \($0)") }
    XCTAssertEqual(container.promisedNumbered(1)?.text, "kept 1")
  }

  func testOnAnActor() async {
    let text = await container.numbered.resolveOnGlobalActor(MainActor.self, 8).text
    XCTAssertEqual(text, "8")
    let other = await container.numbered.resolveOnMainActor(9).text
    XCTAssertEqual(other, "9")
  }
}

extension Container {
  fileprivate var numbered: ParameterFactory<Int, any Voice> { self { Speaker("\($0)") } }
  fileprivate var pair: ParameterFactory<(String, Int), any Voice> { self { Speaker("\($0.0)\($0.1)") } }
  fileprivate var keptNumbered: ParameterFactory<Int, any Voice> { self { Speaker("\($0)") }.cached }
  fileprivate var keptByNumber: ParameterFactory<Int, any Voice> { self { Speaker("\($0)") }.scopeOnParameters.cached }
  fileprivate var promisedNumbered: ParameterFactory<Int, (any Voice)?> { promised() }
}
