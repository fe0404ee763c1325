import ServiceKit
import XCTest

/// Modifiers in definitions, from outside, and chained to a call.
final class ModifierTests: XCTestCase {
  private let container = Container()

  func testInADefinitionTheyWinOverOutsideOnes() {
    container.definedForTests.onTest { Speaker("from outside") }
    XCTAssertEqual(container.definedForTests().text, "defined for tests")
    container.definedForTests.scope(.cached)
    let one = container.definedUnique()
    container.definedUnique.scope(.cached)
    XCTAssertFalse(container.definedUnique() === one)
    XCTAssertFalse(container.definedUnique() === container.definedUnique())
  }

  func testAfterOnceOutsideOnesWin() {
    XCTAssertEqual(container.onceForTests().text, "defined for tests")
    container.onceForTests.onTest { Speaker("from outside") }
    XCTAssertEqual(container.onceForTests().text, "from outside")
    XCTAssertTrue(container.onceCached() === container.onceCached())
    container.onceCached.scope(.unique)
    XCTAssertFalse(container.onceCached() === container.onceCached())
    container.onceCached.reset()
    XCTAssertTrue(container.onceCached() === container.onceCached())
  }

  func testFromOutsideTheyHoldForEverybodyUntilAReset() {
    container.plain.scope(.cached)
    XCTAssertTrue(container.plain() === container.plain())
    container.plain.reset()
    XCTAssertFalse(container.plain() === container.plain())
    container.plain.onTest { Speaker("from outside") }
    XCTAssertEqual(container.plain().text, "from outside")
    container.plain.reset(.context)
    XCTAssertEqual(container.plain().text, "defined")
  }

  func testAChangedScopeForgetsTheInstance() {
    container.plain.scope(.cached)
    let one = container.plain()
    container.plain.scope(.shared)
    XCTAssertFalse(container.plain() === one)
  }

  func testTheSameScopeAgainForgetsNothing() {
    container.plain.scope(.cached)
    let one = container.plain()
    container.plain.scope(.cached)
    XCTAssertTrue(container.plain() === one)
  }

  func testChainedToACallTheyHoldForThatCallToo() {
    XCTAssertEqual(container.plain.onTest { Speaker("chained") }().text, "chained")
    XCTAssertEqual(container.definedForTests.onTest { Speaker("chained") }().text, "chained")
    XCTAssertEqual(container.plainByNumber.onTest { _ in Speaker("chained") }(1).text, "chained")
    let seen = Tally()
    _ = container.plain.decorator { _ in seen.add() }()
    XCTAssertEqual(seen.value, 1)
  }

  /// Reading a definition, as often as one likes, changes nothing in the container.
  func testADefinitionIsAValue() {
    for _ in 0..<10 { _ = container.definedForTests }
    container.definedForTests.reset(.context)
    XCTAssertEqual(container.definedForTests().text, "defined for tests")
    container.manager.reset()
    XCTAssertEqual(container.definedForTests().text, "defined for tests")
  }

  func testRegisteringDoesNotUndoADefinitionsScope() {
    container.definedCached.register { Speaker("registered") }
    XCTAssertTrue(container.definedCached() === container.definedCached())
    XCTAssertEqual(container.definedCached().text, "registered")
  }

  func testEveryScopesModifier() {
    XCTAssertTrue(container.plain.cached() === container.plain.cached())
    let shared = container.definedShared()
    XCTAssertTrue(container.definedShared() === shared)
    XCTAssertFalse(container.definedGraph() === container.definedGraph())
    XCTAssertFalse(container.definedUnique() === container.definedUnique())
    Scope.$singleton.withValue(Scope.Singleton()) {
      XCTAssertTrue(container.definedSingleton() === Container().definedSingleton())
    }
  }

  func testTimeToLive() {
    // So short that it is over before the next read, or so long that it never is.
    XCTAssertFalse(container.briefly() === container.briefly())
    XCTAssertTrue(container.forLong() === container.forLong())
    container.plain.scope(.cached).timeToLive(1e-9)
    XCTAssertFalse(container.plain() === container.plain())
  }

  func testDecoratorsInBothForms() {
    let news = Guarded<[Bool]>([])
    let seen = Tally()
    container.definedCached.decorator { _, isNew in news.change { $0.append(isNew) } }
    container.plain.decorator { _ in seen.add() }
    _ = (container.definedCached(), container.definedCached(), container.definedCached())
    _ = (container.plain(), container.plain())
    XCTAssertEqual(news.value, [true, false, false])
    XCTAssertEqual(seen.value, 2)
  }

  func testADefinitionsDecoratorMayResolve() {
    let parent = container.parent()
    XCTAssertTrue(parent.child?.parent === parent)
  }
}

private final class Parent: @unchecked Sendable {
  var child: Child?
}

private final class Child: @unchecked Sendable {
  weak var parent: Parent?
}

extension Container {
  fileprivate var plain: Factory<any Voice> { self { Speaker("defined") } }
  fileprivate var plainByNumber: ParameterFactory<Int, any Voice> { self { Speaker("\($0)") } }
  fileprivate var definedForTests: Factory<any Voice> {
    self { Speaker("defined") }.onTest { Speaker("defined for tests") }
  }
  fileprivate var onceForTests: Factory<any Voice> {
    self { Speaker("defined") }.onTest { Speaker("defined for tests") }.once()
  }
  fileprivate var onceCached: Factory<any Voice> { self { Speaker("defined") }.cached.once() }
  fileprivate var definedCached: Factory<any Voice> { self { Speaker("defined") }.cached }
  fileprivate var definedShared: Factory<any Voice> { self { Speaker("defined") }.shared }
  fileprivate var definedGraph: Factory<any Voice> { self { Speaker("defined") }.graph }
  fileprivate var definedUnique: Factory<any Voice> { self { Speaker("defined") }.unique }
  fileprivate var definedSingleton: Factory<any Voice> { self { Speaker("defined") }.singleton }
  fileprivate var briefly: Factory<any Voice> { self { Speaker("defined") }.cached.timeToLive(1e-9) }
  fileprivate var forLong: Factory<any Voice> { self { Speaker("defined") }.cached.timeToLive(1e9) }
  fileprivate var child: Factory<Child> { self { Child() } }
  fileprivate var parent: Factory<Parent> {
    self { Parent() }.decorator { [unowned self] parent in
      parent.child = self.child()
      parent.child?.parent = parent
    }
  }
}
