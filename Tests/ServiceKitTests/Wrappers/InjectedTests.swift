import ServiceKit
import ServiceKitTesting
import XCTest

final class InjectedTests: XCContainerTestCase {
  private final class Model {
    @Injected(\.greeting) var greeting
    @Injected(\.keptGreeting) var kept: any Greeting
    @Injected(\OtherContainer.greeting) var other
    @Injected(\.optionalGreeting) var optional
  }

  private struct Value {
    @Injected(\.greeting) var greeting
  }

  func testResolvesWhenTheOwnerIsMadeAndNotWhenRead() {
    let made = Tally()
    Container.shared.greeting.register {
      made.add()
      return Hello()
    }
    let value = Value()
    XCTAssertEqual(made.value, 1)
    XCTAssertTrue(value.greeting === value.greeting)
    Container.shared.greeting.register { Hello("later") }
    XCTAssertEqual(value.greeting.text, "hello")
    XCTAssertEqual(made.value, 1)
  }

  func testTakesTheSharedContainerOfTheKeyPathsRoot() {
    let other = OtherContainer()
    OtherContainer.$shared.withValue(other) {
      other.greeting.register { Hello("other") }
      XCTAssertEqual(Model().other.text, "other")
      XCTAssertEqual(Model().greeting.text, "hello")
    }
  }

  func testHasTheScopeOfItsFactory() {
    let (one, two) = (Model(), Model())
    XCTAssertTrue(one.kept === two.kept)
    XCTAssertFalse(one.greeting === two.greeting)
  }

  func testOptionalsAreResolvedAsSuch() {
    XCTAssertEqual(Model().optional?.text, "hello")
    Container.shared.optionalGreeting.register { nil }
    XCTAssertNil(Model().optional)
  }

  func testCanBeSet() {
    let model = Model()
    let new = Hello("new")
    model.greeting = new
    XCTAssertTrue(model.greeting === new)
    XCTAssertEqual(Model().greeting.text, "hello")
  }

  func testProjectionGivesTheFactoryAndResolvesAgain() {
    let model = Model()
    let (unique, kept) = (model.greeting, model.kept)
    XCTAssertEqual(model.$greeting.factory.resolve().text, "hello")
    model.$greeting.resolve()
    XCTAssertFalse(model.greeting === unique)
    model.$kept.resolve()
    XCTAssertTrue(model.kept === kept)
    model.$kept.resolve(reset: .scope)
    XCTAssertFalse(model.kept === kept)
  }

  func testResolvingAgainThroughACopyLeavesTheOriginalAlone() {
    let original = Value()
    let before = original.greeting
    var copy = original
    copy.$greeting.resolve()
    XCTAssertTrue(original.greeting === before)
    XCTAssertFalse(copy.greeting === before)
  }

  func testLocalVariables() {
    @Injected(\.greeting) var greeting
    XCTAssertEqual(greeting.text, "hello")
    $greeting.resolve()
    XCTAssertEqual(greeting.text, "hello")
  }

  /// A read is that of a stored property: there is nothing beside it but a key path and a type.
  func testIsNoLargerThanWhatItHolds() {
    XCTAssertEqual(MemoryLayout<Injected<Hello>>.size, 4 * MemoryLayout<Int>.size)
  }
}

final class OtherContainer: SharedContainer {
  @TaskLocal static var shared = OtherContainer()
  let manager = ContainerManager()
}

extension Container {
  var greeting: Factory<any Greeting> { self { Hello() } }
  var keptGreeting: Factory<any Greeting> { self { Hello("kept") }.cached }
  var optionalGreeting: Factory<(any Greeting)?> { self { Hello() } }
}

extension OtherContainer {
  var greeting: Factory<any Greeting> { self { Hello("another container's") } }
}
