import ServiceKit
import ServiceKitTesting
import XCTest

final class WeakLazyInjectedTests: XCContainerTestCase {
  private final class Model: @unchecked Sendable {
    @WeakLazyInjected(\.greeting) var greeting
    @WeakLazyInjected(\.optionalGreeting) var optional
    @WeakLazyInjected(\.number) var number
    @WeakLazyInjected(\OtherContainer.greeting) var other
  }

  private struct Value {
    @WeakLazyInjected(\.greeting) var greeting
  }

  private var kept: Hello?
  private let made = Tally()

  override func setUp() {
    let (hello, made) = (Hello(), made)
    kept = hello
    Container.shared.greeting.register { [weak hello] in
      made.add()
      return hello ?? Hello("kept by nobody")
    }
  }

  func testRefersWithoutKeeping() {
    let model = Model()
    XCTAssertNil(model.$greeting.resolvedOrNil())
    XCTAssertTrue(model.greeting === kept)
    XCTAssertTrue(model.$greeting.resolvedOrNil() === kept)
    XCTAssertEqual(made.value, 1)
    kept = nil
    XCTAssertNil(model.greeting)
    XCTAssertNil(model.$greeting.resolvedOrNil())
    XCTAssertEqual(made.value, 1)
  }

  func testResolvesAgainOnlyWhenTold() {
    let model = Model()
    XCTAssertNotNil(model.greeting)
    kept = nil
    XCTAssertNil(model.greeting)
    let another = Hello("another")
    Container.shared.greeting.register { another }
    XCTAssertNil(model.greeting)
    model.$greeting.resolve()
    XCTAssertTrue(model.greeting === another)
    XCTAssertTrue(model.$greeting.factory.resolve() === another)
  }

  func testWhatNobodyKeepsIsGoneAtOnce() {
    XCTAssertNil(Model().other)
  }

  func testCanBeSet() {
    let model = Model()
    let own = Hello("own")
    model.greeting = own
    XCTAssertTrue(model.greeting === own)
    model.greeting = nil
    XCTAssertNil(model.greeting)
    XCTAssertEqual(made.value, 0)
  }

  func testOptionals() {
    let own = Hello("own")
    Container.shared.optionalGreeting.register { own }
    let model = Model()
    XCTAssertTrue(model.optional! === own)
    Container.shared.optionalGreeting.register { nil }
    model.$optional.resolve()
    XCTAssertNil(model.optional ?? nil)
  }

  func testAValueTypeCannotBeReferredTo() {
    XCTAssertNil(Model().number)
  }

  func testACopyIsAValueOfItsOwn() {
    let original = Value()
    XCTAssertTrue(original.greeting === kept)
    var copy = original
    copy.greeting = nil
    XCTAssertTrue(original.greeting === kept)
    XCTAssertNil(copy.greeting)
  }

  func testManyThreadsReadFirstAndOneResolves() {
    storm(4, rounds: 200) { _ in
      (Model(), self.made.value)
    } _: { round, _ in
      XCTAssertNotNil(round.0.greeting)
    } check: { round in
      XCTAssertEqual(self.made.value, round.1 + 1)
    }
  }
}

extension Container {
  fileprivate var number: Factory<String> { self { "a string that is too long to be kept in a tagged pointer" } }
}
