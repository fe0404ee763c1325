import ServiceKit
import XCTest

/// Which closure makes an instance, and what registering does.
final class RegistrationTests: XCTestCase {
  private let container = Container()

  func testTheDefinitionUnlessSomethingIsRegistered() {
    XCTAssertEqual(container.plainVoice().text, "defined")
    container.plainVoice.register { Speaker("registered") }
    XCTAssertEqual(container.plainVoice().text, "registered")
    container.plainVoice.register { Speaker("again") }
    XCTAssertEqual(container.plainVoice().text, "again")
    container.plainVoice.reset()
    XCTAssertEqual(container.plainVoice().text, "defined")
  }

  func testAllWaysToAsk() {
    XCTAssertEqual(container.plainVoice().text, "defined")
    XCTAssertEqual(container.plainVoice.resolve().text, "defined")
    XCTAssertEqual(container.dependency(\.plainVoice).text, "defined")
    Container.$shared.withValue(container) { XCTAssertEqual(dependency(\.plainVoice).text, "defined") }
  }

  func testAllWaysToRegister() {
    container.plainVoice { Speaker("called") }
    XCTAssertEqual(container.plainVoice().text, "called")
    XCTAssertEqual(container.plainVoice.register(factory: { Speaker("chained") })().text, "chained")
    container {
      $0.plainVoice.register { Speaker("one of several") }
      $0.cachedVoice.register { Speaker("one of several") }
    }
    XCTAssertEqual(
      [container.plainVoice(), container.cachedVoice()].map(\.text), ["one of several", "one of several"])
  }

  func testSettingSeveralThingsAfterAWait() async {
    await container {
      await Task.yield()
      $0.plainVoice.register { Speaker("after a wait") }
    }
    XCTAssertEqual(container.plainVoice().text, "after a wait")
  }

  func testRegisteringForgetsThatKeysInstanceAndNoOther() {
    let (kept, other) = (container.cachedVoice(), container.otherCachedVoice())
    container.cachedVoice.register { Speaker("registered") }
    XCTAssertEqual(container.cachedVoice().text, "registered")
    XCTAssertFalse(container.cachedVoice() === kept)
    XCTAssertTrue(container.otherCachedVoice() === other)
  }

  func testRegisteringForgetsASingleton() {
    Scope.$singleton.withValue(Scope.Singleton()) {
      let only = container.onlyVoice()
      container.onlyVoice.register { Speaker("registered") }
      XCTAssertFalse(container.onlyVoice() === only)
      XCTAssertEqual(container.onlyVoice().text, "registered")
    }
  }

  func testARegisteredFactoryMayResolveOthersAndTheDefinitionsAreLookedUpInTheContainer() {
    container.outer.register { [unowned container] in Speaker("around \(container.plainVoice().text)") }
    container.plainVoice.register { Speaker("the inner") }
    XCTAssertEqual(container.outer().text, "around the inner")
  }

  func testContainersAreApart() {
    let other = Container()
    container.plainVoice.register { Speaker("registered") }
    XCTAssertEqual(other.plainVoice().text, "defined")
    XCTAssertFalse(container.cachedVoice() === other.cachedVoice())
  }

  func testOptionalsAndTheirTypesAreApart() {
    container.sameNameOptional.register { Speaker("optional") }
    XCTAssertEqual(container.sameNameOptional()?.text, "optional")
    XCTAssertEqual(container.sameName().text, "plain")
    container.sameNameOptional.register { nil }
    XCTAssertNil(container.sameNameOptional())
  }

  func testNilIsNeverKept() {
    let asked = Tally()
    container.maybe.register { asked.add() < 3 ? nil : Speaker("at last") }
    XCTAssertNil(container.maybe())
    XCTAssertNil(container.maybe())
    let kept = container.maybe()
    XCTAssertEqual(kept?.text, "at last")
    XCTAssertTrue(container.maybe() === kept)
    XCTAssertEqual(asked.value, 3)
  }

  func testAKeyOfOnesOwn() {
    let one = Factory(container, key: "a key") { Speaker("one") }.cached
    let two = Factory(container, key: "a key") { Speaker("two") }.cached
    let instance = one()
    XCTAssertTrue(two() === instance)
    XCTAssertEqual(two().text, "one")
  }

  func testFactoriesThatWereReadBeforeSeeWhatIsRegisteredLater() {
    let factory = container.plainVoice
    container.plainVoice.register { Speaker("registered") }
    XCTAssertEqual(factory().text, "registered")
  }
}

extension Container {
  fileprivate var plainVoice: Factory<any Voice> { self { Speaker("defined") } }
  fileprivate var cachedVoice: Factory<any Voice> { self { Speaker("defined") }.cached }
  fileprivate var otherCachedVoice: Factory<any Voice> { self { Speaker("defined") }.cached }
  fileprivate var onlyVoice: Factory<any Voice> { self { Speaker("defined") }.singleton }
  fileprivate var outer: Factory<any Voice> { self { Speaker("around \(self.plainVoice().text)") } }
  fileprivate var sameName: Factory<any Voice> { self(key: "same") { Speaker("plain") } }
  fileprivate var sameNameOptional: Factory<(any Voice)?> { self(key: "same") { nil } }
  fileprivate var maybe: Factory<(any Voice)?> { self { nil }.cached }
}
