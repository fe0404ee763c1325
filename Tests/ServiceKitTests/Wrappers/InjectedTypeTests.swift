import ServiceKit
import ServiceKitTesting
import XCTest

final class InjectedTypeTests: XCContainerTestCase {
  private final class Model {
    @InjectedType var shared: Speaker?
    @InjectedType(TypedContainer.shared) var own: Speaker?
    @InjectedType(OtherContainer.shared) var unasked: Speaker?
  }

  override func invokeTest() {
    withContainer(shared: TypedContainer.$shared, container: TypedContainer(), operation: super.invokeTest)
  }

  func testIsNilIfNothingIsRegistered() {
    XCTAssertNil(Model().own)
    XCTAssertNil(Model().shared)
  }

  func testIsNilIfTheContainerCannotBeAskedByType() {
    XCTAssertNil(Model().unasked)
  }

  func testResolvesWhenTheOwnerIsMade() {
    TypedContainer.shared.register { Speaker("typed") }
    let model = Model()
    XCTAssertEqual(model.own?.text, "typed")
    TypedContainer.shared.register { Speaker("later") }
    XCTAssertEqual(model.own?.text, "typed")
    model.own = nil
    XCTAssertNil(model.own)
  }

  func testProjectionGivesTheFactoryAndResolvesAgain() {
    let model = Model()
    XCTAssertNil(model.$own.factory)
    TypedContainer.shared.register { Speaker("typed") }
    XCTAssertEqual(model.$own.factory?().text, "typed")
    model.$own.resolve()
    XCTAssertEqual(model.own?.text, "typed")
  }
}

private final class TypedContainer: SharedContainer, Resolving {
  @TaskLocal static var shared = TypedContainer()
  let manager = ContainerManager()
}
