import ServiceKit
import XCTest

/// Registering and resolving by type.
final class ResolvingTests: XCTestCase {
  private let container = TypedContainer()

  func testByType() {
    XCTAssertNil(container.resolve(Speaker.self))
    XCTAssertNil(container.factory(Speaker.self))
    container.register { Speaker("typed") }
    let speaker: Speaker? = container.resolve()
    XCTAssertEqual(speaker?.text, "typed")
    XCTAssertEqual(container.resolve(Speaker.self)?.text, "typed")
    XCTAssertNil(container.resolve((any Voice).self))
    container.register((any Voice).self) { Speaker("a voice") }
    XCTAssertEqual(container.resolve((any Voice).self)?.text, "a voice")
    XCTAssertEqual(container.resolve(Speaker.self)?.text, "typed")
  }

  func testTheFactoryTakesModifiers() {
    container.register { Speaker("typed") }.scope(.cached)
    XCTAssertTrue(container.resolve(Speaker.self) === container.resolve(Speaker.self))
    container.factory(Speaker.self)?.onTest { Speaker("in a test") }
    container.factory(Speaker.self)?.reset(.scope)
    XCTAssertEqual(container.resolve(Speaker.self)?.text, "in a test")
    container.factory(Speaker.self)?.register { Speaker("again") }
    XCTAssertEqual(container.factory(Speaker.self)?.reset(.context).resolve().text, "again")
  }

  func testAResetTakesItBack() {
    container.register { Speaker("typed") }
    container.reset()
    XCTAssertNil(container.resolve(Speaker.self))
  }
}

private final class TypedContainer: SharedContainer, Resolving {
  @TaskLocal static var shared = TypedContainer()
  let manager = ContainerManager()
}
