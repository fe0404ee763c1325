import Foundation
import ServiceKit
import ServiceKitTesting
import XCTest

/// What a resolve that cannot be leaves behind, whatever the handler does.
final class FailureHandlerTests: XCContainerTestCase {
  private let container = Container()

  func testRunsOnTheFailingThreadWithNothingInProgress() {
    let container = container
    let before = ServiceFailure.handler
    defer { ServiceFailure.handler = before }
    let seen = Guarded<[Bool]>([])
    let thread = Guarded<Thread?>(nil)
    ServiceFailure.handler = { _, _, _ in
      let isSame = thread.value === Thread.current
      // It may resolve what has just failed for another reason, and anything else.
      let works = container.leaf() != nil && container.kept().text == "kept"
      seen.change { $0 += [isSame, works] }
    }
    onThread {
      thread.change { $0 = Thread.current }
      XCTAssertNil(container.circle())
    }
    XCTAssertEqual(seen.value, [true, true])
  }

  func testAHandlerThatReturnsGivesNilAndTheNextResolveWorks() {
    XCTAssertEqual(collectingFailures { XCTAssertNil(container.circle()) }.count, 1)
    container.circleEnd.register { Speaker("mended") }
    XCTAssertEqual(container.circle()?.text, "mended")
  }

  func testNilOfACycleIsNotKept() {
    let container = container
    XCTAssertEqual(collectingFailures { XCTAssertNil(container.keptCircle()) }.count, 1)
    XCTAssertEqual(collectingFailures { XCTAssertNil(container.keptCircle()) }.count, 1)
    container.keptCircle.register { Speaker("mended") }
    XCTAssertEqual(container.keptCircle()?.text, "mended")
  }

  func testAfterAHandlerThatEndsTheThreadTheNextResolveWorks() {
    let container = container
    let messages = collectingFailures(then: .endThread) {
      for factory in [container.circle, container.keptCircle, container.onlyCircle, container.sharedCircle] {
        onThread {
          _ = factory()
          XCTFail("came back")
        }
      }
    }
    XCTAssertEqual(messages.count, 4)
    for factory in [container.circle, container.keptCircle, container.onlyCircle, container.sharedCircle] {
      factory.register { Speaker("mended") }
      XCTAssertEqual(factory()?.text, "mended")
    }
    let graph = container.graphPair()
    XCTAssertTrue(graph[0] === graph[1])
  }

  func testThoseWhoWaitForAThreadThatEndsBuildAnew() {
    let container = container
    for _ in 0..<50 {
      container.manager.reset()
      let tries = Tally()
      let inside = Event()
      container.needed.register { [unowned container] in
        guard tries.add() == 1 else { return Speaker("made anew") }
        inside.signal()
        return container.circle() ?? Speaker("came back")
      }
      let messages = collectingFailures(then: .endThread) {
        let failing = TestThread {
          _ = container.needed()
          XCTFail("came back")
        }
        inside.wait()
        let seen = Guarded<[any Voice]>([])
        runThreads(3) { _ in
          let voice = container.needed()
          seen.change { $0.append(voice) }
        }
        failing.join()
        XCTAssertEqual(seen.value.map(\.text), ["made anew", "made anew", "made anew"])
        XCTAssertTrue(seen.value.allSatisfy { $0 === container.needed() })
      }
      XCTAssertEqual(messages.count, 1)
    }
  }

  func testAContainerCanEndAfterAThreadEndedInIt() {
    let living = Tally()
    var container: Container? = Container()
    container?.kept.register { Speaker("kept") }
    container?.counted.register { Counted(Tally(), living: living) }
    _ = container?.counted()
    let circle = Guarded<Container?>(container)
    _ = collectingFailures(then: .endThread) {
      onThread { _ = circle.value?.counted2() }
    }
    XCTAssertEqual(living.value, 1)
    circle.change { $0 = nil }
    container?.manager.reset()
    XCTAssertEqual(living.value, 0)
    container = nil
  }

  func testManyThreadsFailAtOnce() {
    let container = container
    let messages = collectingFailures {
      runThreads(4) { _ in
        for _ in 0..<100 { XCTAssertNil(container.circle()) }
      }
    }
    XCTAssertEqual(messages.count, 400)
  }
}

extension Container {
  fileprivate var circle: Factory<(any Voice)?> { self { self.circleEnd() } }
  fileprivate var circleEnd: Factory<(any Voice)?> { self { self.circle() } }
  fileprivate var keptCircle: Factory<(any Voice)?> { self { self.keptCircle() }.cached }
  fileprivate var onlyCircle: Factory<(any Voice)?> { self { self.onlyCircle() }.singleton }
  fileprivate var sharedCircle: Factory<(any Voice)?> { self { self.sharedCircle() }.shared }
  fileprivate var leaf: Factory<(any Voice)?> { self { Speaker("leaf") } }
  fileprivate var kept: Factory<any Voice> { self { Speaker("kept") }.cached }
  fileprivate var needed: Factory<any Voice> { self { Speaker() }.cached }
  fileprivate var graphLeaf: Factory<any Voice> { self { Speaker() }.graph }
  fileprivate var graphPair: Factory<[any Voice]> { self { [self.graphLeaf(), self.graphLeaf()] } }
  fileprivate var counted: Factory<Counted> { self { Counted(Tally()) }.cached }
  fileprivate var counted2: Factory<Counted?> { self { self.counted2() }.cached }
}
