import ServiceKit
import Synchronization
import XCTest

private protocol Greeting: AnyObject { var text: String { get } }
private final class Hello: Greeting { let text = "hello" }
private final class Mock: Greeting { let text = "mock" }
private struct Value: Equatable { let number: Int }

extension Container {
  fileprivate var plain: Factory<any Greeting> { self { Hello() } }
  fileprivate var kept: Factory<any Greeting> { self { Hello() }.cached }
  fileprivate var weakly: Factory<any Greeting> { self { Hello() }.shared }
  fileprivate var weakValue: Factory<Value> { self { Value(number: 1) }.shared }
  fileprivate var one: Factory<any Greeting> { self { Hello() }.singleton }
  fileprivate var node: Factory<Node> { self { Node(self.leaf(), self.leaf()) } }
  fileprivate var leaf: Factory<Hello> { self { Hello() }.graph }
  fileprivate var tested: Factory<any Greeting> { self { Hello() as any Greeting }.onTest { Mock() } }
  fileprivate var tested2: Factory<any Greeting> { self { Hello() as any Greeting } }
  fileprivate var byNumber: ParameterFactory<Int, Value> { self { Value(number: $0) }.cached.scopeOnParameters }
  fileprivate var countdown: ParameterFactory<Int, Int> { self { $0 == 0 ? 0 : 1 + self.countdown($0 - 1) } }
  fileprivate var circle: Factory<Int?> { self { self.circle2() } }
  fileprivate var circle2: Factory<Int?> { self { self.circle() } }
  fileprivate var promise: Factory<(any Greeting)?> { promised() }
}

private final class Node {
  let left: Hello, right: Hello
  init(_ left: Hello, _ right: Hello) { (self.left, self.right) = (left, right) }
}

final class ContainerTests: XCTestCase {
  private let container = Container()

  func testScopes() {
    XCTAssertFalse(container.plain() === container.plain())
    XCTAssertTrue(container.kept() === container.kept())
    var held: (any Greeting)? = container.weakly()
    XCTAssertTrue(held === container.weakly())
    let address = held.map { ObjectIdentifier($0) }
    weak let gone = held
    held = nil
    XCTAssertNil(gone)
    XCTAssertNotNil(address)
    XCTAssertEqual(container.weakly().text, "hello")
    XCTAssertEqual(container.weakValue(), container.weakValue())
    XCTAssertTrue(container.one() === Container().one())
    let node = container.node()
    XCTAssertTrue(node.left === node.right)
    XCTAssertFalse(node.left === container.node().left)
  }

  func testRegistering() {
    let before = container.kept()
    container.kept.register { Mock() }
    XCTAssertEqual(container.kept().text, "mock")
    XCTAssertFalse(container.kept() === before)
    container.kept.reset()
    XCTAssertEqual(container.kept().text, "hello")
    container.manager.push()
    container.kept.register { Mock() }
    XCTAssertEqual(container.kept().text, "mock")
    container.manager.pop()
    XCTAssertEqual(container.kept().text, "hello")
  }

  func testContexts() {
    XCTAssertEqual(container.tested().text, "mock")
    container.tested2.onTest { Mock() }
    XCTAssertEqual(container.tested2().text, "mock")
    XCTAssertEqual(Container().tested2().text, "hello")
    XCTAssertEqual(Container().tested2.onTest { Mock() }().text, "mock")
  }

  func testParameters() {
    XCTAssertEqual(container.byNumber(3).number, 3)
    XCTAssertEqual(container.byNumber(4).number, 4)
    XCTAssertEqual(container.countdown(50), 50)
  }

  func testFailures() {
    let before = ServiceFailure.handler
    defer { ServiceFailure.handler = before }
    let heard = Mutex<[String]>([])
    ServiceFailure.handler = { message, _, _ in heard.withLock { $0.append(message) } }
    XCTAssertNil(container.circle())
    XCTAssertTrue(heard.withLock { $0.last }!.contains("circle → circle2 → circle"))
    container.manager.promiseTriggersError = false
    XCTAssertNil(container.promise())
    XCTAssertEqual(heard.withLock { $0.count }, 1)
    container.manager.promiseTriggersError = true
    XCTAssertNil(container.promise())
    XCTAssertTrue(heard.withLock { $0.last }!.contains("Container.promise<Greeting>"))
    container.promise.register { Mock() }
    XCTAssertEqual(container.promise()?.text, "mock")
    XCTAssertEqual(heard.withLock { $0.count }, 2)
  }

  func testTrace() {
    let lines = Mutex<[String]>([])
    let before = container.manager.logger
    container.manager.logger = { line in lines.withLock { $0.append(line) } }
    container.manager.trace = true
    _ = container.node()
    _ = container.kept()
    _ = container.kept()
    container.manager.trace = false
    container.manager.logger = before
    let words = lines.withLock { $0 }.map { $0.replacing(/:[0-9]+/, with: ":#") }
    XCTAssertEqual(
      words,
      [
        "0: Container.node<Node> = F:# Node", "1:     Container.leaf<Hello> = F:# Hello",
        "1:     Container.leaf<Hello> = C:# Hello", "0: Container.kept<Greeting> = F:# Hello",
        "0: Container.kept<Greeting> = C:# Hello",
      ])
  }

  func testOverride() {
    withDependencies {
      $0.kept.register { Mock() }
    } operation: {
      XCTAssertEqual(Container.shared.kept().text, "mock")
    }
    XCTAssertEqual(Container.shared.kept().text, "hello")
  }
}
