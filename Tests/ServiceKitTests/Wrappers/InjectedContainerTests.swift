import ServiceKit
import ServiceKitTesting
import XCTest

final class InjectedContainerTests: XCContainerTestCase {
  private struct Model: Sendable {
    @InjectedContainer var container
    @InjectedContainer(OtherContainer.self) var other
  }

  func testTakesTheSharedContainersWhenTheOwnerIsMade() {
    let other = OtherContainer()
    let model = OtherContainer.$shared.withValue(other) { Model() }
    XCTAssertTrue(model.container === Container.shared)
    XCTAssertTrue(model.other === other)
    Container.$shared.withValue(Container()) { XCTAssertFalse(model.container === Container.shared) }
  }

  func testCanBeSet() {
    var model = Model()
    let own = Container()
    model.container = own
    XCTAssertTrue(model.container === own)
    XCTAssertFalse(Container.shared === own)
  }

  func testProjectionResets() {
    let model = Model()
    model.container.voice.register { Speaker("registered") }
    model.$container.reset()
    XCTAssertEqual(Container.shared.voice().text, "registered")
    model.$container.reset(options: .all)
    XCTAssertEqual(Container.shared.voice().text, "hello")
  }
}
