import ServiceKit
import XCTest

/// What a reset takes back, and what a push saves.
final class ResetTests: XCTestCase {
  private let container = Container()

  /// A registration, a context, an instance and a decorator, and the settings.
  private func fill() {
    container.manager.defaultScope = .cached
    container.manager.promiseTriggersError = false
    container.name.register { "registered" }
    container.contextual.onTest { "test" }
    _ = container.kept()
    let decorated = decorated
    container.decorator { _ in decorated.add() }
  }

  private let decorated = Tally()

  func testNoneTakesNothingBack() {
    fill()
    let kept = container.kept()
    container.reset(options: .none)
    XCTAssertEqual([container.name(), container.contextual()], ["registered", "test"])
    XCTAssertTrue(container.kept() === kept)
  }

  func testAllTakesEverythingBack() {
    fill()
    let kept = container.kept()
    container.reset()
    let before = decorated.value
    XCTAssertEqual([container.name(), container.contextual()], ["defined", "defined"])
    XCTAssertFalse(container.kept() === kept)
    XCTAssertEqual(decorated.value, before)
    XCTAssertNil(container.manager.defaultScope)
    XCTAssertEqual(container.manager.promiseTriggersError, Container().manager.promiseTriggersError)
  }

  func testRegistration() {
    fill()
    let kept = container.kept()
    container.manager.reset(options: .registration)
    XCTAssertEqual(container.contextual(), "test")
    XCTAssertTrue(container.kept() === kept)
    XCTAssertTrue(container.manager.defaultScope === Scope.cached)
    container.manager.reset(options: .scope)
    XCTAssertEqual(container.name(), "defined")
  }

  func testContext() {
    fill()
    let kept = container.kept()
    container.manager.reset(options: .context)
    XCTAssertEqual([container.name(), container.contextual()], ["registered", "defined"])
    XCTAssertTrue(container.kept() === kept)
  }

  func testScope() {
    fill()
    let kept = container.kept()
    container.manager.reset(options: .scope)
    XCTAssertEqual([container.name(), container.contextual()], ["registered", "test"])
    XCTAssertFalse(container.kept() === kept)
  }

  func testAFactorysOwnReset() {
    container.name.register { "registered" }
    container.contextual.register { "registered" }.onTest { "test" }
    container.contextual.reset(.registration)
    XCTAssertEqual([container.name(), container.contextual()], ["registered", "test"])
    container.contextual.reset(.all)
    XCTAssertEqual([container.name(), container.contextual()], ["registered", "defined"])
    let kept = container.kept()
    container.kept.reset(.none)
    XCTAssertTrue(container.kept() === kept)
    container.kept.reset(.scope)
    XCTAssertFalse(container.kept() === kept)
  }

  func testPopBringsBackRegistrationsContextsInstancesAndSettings() {
    fill()
    let kept = container.kept()
    container.manager.push()
    container.manager.defaultScope = nil
    container.manager.promiseTriggersError = true
    container.decorator(nil)
    container.name.register { "pushed" }
    container.contextual.onTest { "pushed" }
    container.kept.register { Speaker("pushed") }
    XCTAssertEqual([container.name(), container.contextual(), container.kept().text], ["pushed", "pushed", "pushed"])
    container.manager.pop()
    XCTAssertEqual([container.name(), container.contextual()], ["registered", "test"])
    XCTAssertTrue(container.kept() === kept)
    XCTAssertTrue(container.manager.defaultScope === Scope.cached)
    XCTAssertFalse(container.manager.promiseTriggersError)
    let before = decorated.value
    _ = container.kept()
    XCTAssertEqual(decorated.value, before + 1)
  }

  func testPushesStand() {
    for level in 0..<5 {
      container.manager.push()
      container.name.register { "\(level)" }
    }
    container.reset()
    for level in (0..<5).reversed() {
      container.manager.pop()
      XCTAssertEqual(container.name(), level == 0 ? "defined" : "\(level - 1)")
    }
  }

  func testPopOnEmptyDoesNothing() {
    fill()
    container.manager.pop()
    XCTAssertEqual(container.name(), "registered")
  }

  func testAfterAPushInstancesAreStillThere() {
    let kept = container.kept()
    container.manager.push()
    XCTAssertTrue(container.kept() === kept)
    container.manager.pop()
    XCTAssertTrue(container.kept() === kept)
  }
}

extension Container {
  fileprivate var name: Factory<String> { self { "defined" } }
  fileprivate var contextual: Factory<String> { self { "defined" } }
  fileprivate var kept: Factory<any Voice> { self { Speaker() }.cached }
}
