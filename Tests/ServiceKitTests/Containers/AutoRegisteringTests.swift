import ServiceKit
import XCTest

final class AutoRegisteringTests: XCTestCase {
  private let container = RegisteringContainer()

  func testIsCalledOnceBeforeTheFirstResolve() {
    XCTAssertEqual(container.calls.value, 0)
    XCTAssertEqual(container.name(), "registered")
    XCTAssertEqual(container.name(), "registered")
    XCTAssertEqual(container.calls.value, 1)
  }

  func testIsCalledBeforeTheFirstRegistrationWhichThenWins() {
    container.name.register { "later" }
    XCTAssertEqual(container.calls.value, 1)
    XCTAssertEqual(container.name(), "later")
  }

  func testIsCalledAgainAfterAFullOrRegistrationReset() {
    _ = container.name()
    container.reset(options: .scope)
    container.reset(options: .context)
    container.reset(options: .none)
    _ = container.name()
    XCTAssertEqual(container.calls.value, 1)
    container.reset(options: .registration)
    XCTAssertEqual(container.name(), "registered")
    XCTAssertEqual(container.calls.value, 2)
    container.reset()
    XCTAssertEqual(container.name(), "registered")
    XCTAssertEqual(container.calls.value, 3)
  }

  func testItsRegistrationsForgetNoInstance() {
    let kept = container.kept()
    container.reset(options: .registration)
    XCTAssertEqual(container.name(), "registered")
    XCTAssertTrue(container.kept() === kept)
    XCTAssertEqual(container.calls.value, 2)
  }

  func testItMayResolve() {
    XCTAssertEqual(container.resolved(), "of registered")
  }

  func testWhoComesMeanwhileWaitsForIt() {
    for _ in 0..<100 {
      let container = RegisteringContainer()
      let barrier = Barrier(4)
      runThreads(4) { _ in
        barrier.wait()
        XCTAssertEqual(container.name(), "registered")
      }
      XCTAssertEqual(container.calls.value, 1)
    }
  }
}

private final class RegisteringContainer: ManagedContainer, AutoRegistering {
  let manager = ContainerManager()
  let calls = Tally()

  var name: Factory<String> { self { "defined" } }
  var kept: Factory<any Voice> { self { Speaker() }.cached }
  var resolved: Factory<String> { self { "defined" } }

  func autoRegister() {
    calls.add()
    name.register { "registered" }
    kept.register { Speaker("registered") }
    let name = name()
    resolved.register { "of \(name)" }
  }
}
