import ServiceKit
import ServiceKitTesting
import XCTest

final class DynamicInjectedTests: XCContainerTestCase {
  private struct Model {
    @DynamicInjected(\.greeting) var greeting
    @DynamicInjected(\.keptGreeting) var kept
    @DynamicInjected(\OtherContainer.greeting) var other
  }

  func testResolvesAtEachRead() {
    let model = Model()
    XCTAssertFalse(model.greeting === model.greeting)
    XCTAssertTrue(model.kept === model.kept)
    Container.shared.greeting.register { Hello("later") }
    XCTAssertEqual(model.greeting.text, "later")
  }

  func testFollowsTheSharedContainer() {
    let model = Model()
    let other = OtherContainer()
    other.greeting.register { Hello("there") }
    OtherContainer.$shared.withValue(other) { XCTAssertEqual(model.other.text, "there") }
    XCTAssertEqual(model.other.text, "another container's")
  }

  func testProjectionIsTheFactory() {
    let model = Model()
    let factory: Factory<any Greeting> = model.$greeting
    XCTAssertEqual(factory().text, "hello")
    model.$greeting.register { Hello("registered") }
    XCTAssertEqual(model.greeting.text, "registered")
    XCTAssertEqual(model.$greeting.factory.resolve().text, "registered")
    let kept = model.kept
    XCTAssertTrue(model.$kept.resolve() === kept)
    XCTAssertFalse(model.$kept.resolve(reset: .scope) === kept)
  }
}
