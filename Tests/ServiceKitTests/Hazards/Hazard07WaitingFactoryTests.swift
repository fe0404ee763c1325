import ServiceKit
import ServiceKitTesting
import XCTest

/// A factory that waits for another thread which resolves something else from the same container does not hang: no lock
/// is held around the program's code.
final class Hazard07WaitingFactoryTests: XCContainerTestCase {
  private func check(_ factory: @escaping (Container) -> Factory<Speaker>) {
    let container = Container()
    factory(container).register { [unowned container] in
      onThread {
        _ = container.keptElse()
        _ = container.onlyElse()
        _ = container.sharedElse()
        container.keptElse.register { Speaker("registered meanwhile") }
        container.manager.reset(scope: .shared)
      }
      return Speaker("waited")
    }
    XCTAssertEqual(factory(container)().text, "waited")
    XCTAssertEqual(container.keptElse().text, "registered meanwhile")
  }

  func testUnique() { check { $0.waiting } }
  func testCached() { check { $0.waiting.cached } }
  func testShared() { check { $0.waiting.shared } }
  func testSingleton() { check { $0.waiting.singleton } }
  func testGraph() { check { $0.waiting.graph } }

  func testADecoratorThatWaits() {
    let container = Container()
    container.decorator { [unowned container] instance in
      guard (instance as? Speaker)?.text == "decorated" else { return }
      onThread { _ = container.keptElse() }
    }
    container.waiting.register { Speaker("decorated") }
    XCTAssertEqual(container.waiting().text, "decorated")
  }

  func testAnAutoRegistrationThatWaits() {
    let container = WaitingContainer()
    XCTAssertEqual(container.early().text, "registered")
  }

  func testAContextsFactoryThatWaits() {
    let container = Container()
    container.waiting.onTest { [unowned container] in
      onThread { _ = container.keptElse() }
      return Speaker("in a test")
    }
    XCTAssertEqual(container.waiting().text, "in a test")
  }
}

/// Its registration waits for a thread that resolves from another container.
private final class WaitingContainer: SharedContainer, AutoRegistering {
  @TaskLocal static var shared = WaitingContainer()
  let manager = ContainerManager()
  var early: Factory<Speaker> { self { Speaker("defined") } }

  func autoRegister() {
    onThread { _ = Container.shared.keptElse() }
    early.register { Speaker("registered") }
  }
}

extension Container {
  fileprivate var waiting: Factory<Speaker> { self { Speaker("defined") } }
  fileprivate var keptElse: Factory<Speaker> { self { Speaker("else") }.cached }
  fileprivate var onlyElse: Factory<Speaker> { self { Speaker("else") }.singleton }
  fileprivate var sharedElse: Factory<Speaker> { self { Speaker("else") }.shared }
}
