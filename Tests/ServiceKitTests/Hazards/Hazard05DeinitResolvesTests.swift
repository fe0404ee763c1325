import ServiceKit
import ServiceKitTesting
import XCTest

/// Resetting a cache works when a cached object's `deinit` resolves something: nothing is destroyed under a lock.
final class Hazard05DeinitResolvesTests: XCContainerTestCase {
  private let container = Container()
  private let ends = Tally()

  private func check(_ end: (Container) -> Void, line: UInt = #line) {
    let ends = ends
    container.dying.register { [unowned container] in Dying(container, ends) }
    container.onlyDying.register { [unowned container] in Dying(container, ends) }
    _ = container.dying()
    _ = container.onlyDying()
    let before = ends.value
    end(container)
    XCTAssertGreaterThan(ends.value, before, line: line)
    XCTAssertEqual(container.last().text, "last", line: line)
  }

  func testResetOfAFactory() { check { $0.dying.reset() } }
  func testResetOfItsScope() { check { $0.dying.reset(.scope) } }
  func testResetOfAllCaches() { check { $0.manager.reset(options: .scope) } }
  func testResetOfTheContainer() { check { $0.manager.reset() } }
  func testResetOfOneScope() { check { $0.manager.reset(scope: .cached) } }
  func testResetOfTheSingletons() { check { _ in Scope.singleton.reset() } }

  func testRegistering() {
    check { $0.dying.register { [unowned container] in Dying(container, Tally()) } }
  }

  func testAChangedScope() { check { $0.dying.scope(.unique) } }

  func testPop() {
    let ends = ends
    container.manager.push()
    container.dying.register { [unowned container] in Dying(container, ends) }
    _ = container.dying()
    container.manager.pop()
    XCTAssertEqual(ends.value, 1)
  }

  func testTheContainersOwnEnd() {
    let (ends, other) = (ends, container)
    var container: Container? = Container()
    container?.dying.register { Dying(other, ends) }
    _ = container?.dying()
    container = nil
    XCTAssertEqual(ends.value, 1)
  }

  func testADeinitThatResetsAndRegisters() {
    let (ends, container) = (ends, container)
    container.dying.register { [unowned container] in
      Dying(container, ends) {
        $0.manager.reset(options: .scope)
        $0.last.register { Speaker("registered") }
        $0.manager.push()
        $0.manager.pop()
      }
    }
    _ = container.dying()
    container.manager.reset(options: .scope)
    XCTAssertEqual(ends.value, 1)
    XCTAssertEqual(container.last().text, "registered")
  }

  func testManyThreads() {
    let (container, ends) = (container, ends)
    container.dying.register { [unowned container] in Dying(container, ends) }
    runThreads(4) { thread in
      for _ in 0..<500 {
        _ = container.dying()
        if thread % 2 == 0 { container.manager.reset(options: .scope) }
      }
    }
    container.manager.reset(options: .scope)
    XCTAssertGreaterThan(ends.value, 0)
  }
}

private final class Dying: @unchecked Sendable {
  private unowned let container: Container
  private let ends: Tally
  private let more: @Sendable (Container) -> Void

  init(_ container: Container, _ ends: Tally, more: @escaping @Sendable (Container) -> Void = { _ in }) {
    (self.container, self.ends, self.more) = (container, ends, more)
  }

  deinit {
    _ = container.last()
    _ = container.other()
    more(container)
    ends.add()
  }
}

extension Container {
  fileprivate var dying: Factory<Dying> { self { Dying(self, Tally()) }.cached.once() }
  fileprivate var onlyDying: Factory<Dying> { self { Dying(self, Tally()) }.singleton }
  fileprivate var last: Factory<Speaker> { self { Speaker("last") }.cached }
  fileprivate var other: Factory<Speaker> { self { Speaker("other") }.singleton }
}
