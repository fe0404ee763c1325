import Observation
import ServiceKit
import ServiceKitTesting
import XCTest

/// A lazy wrapper that needs itself.
final class LazyCycleTests: XCContainerTestCase {
  /// Has lazy properties that factories read.
  private final class Holder: @unchecked Sendable {
    @LazyInjected(\.looped) var looped
    @LazyInjected(\.optionalLooped) var optional
    @LazyInjected(\.left) var left
    @LazyInjected(\.right) var right
    @WeakLazyInjected(\.looped) var weak
  }

  private let holder = Holder()

  func testOneThatReadsItselfIsReported() {
    let holder = holder
    Container.shared.looped.register { Node(holder.looped) }
    let messages = collectingFailures(then: .endThread) {
      onThread {
        _ = holder.looped
        XCTFail("came back")
      }
    }
    XCTAssertEqual(messages.count, 1)
    XCTAssertTrue(messages[0].contains("looped"), messages[0])
  }

  func testOneThatReadsItselfWeaklyIsReported() {
    let holder = holder
    Container.shared.looped.register { Node(holder.weak) }
    let messages = collectingFailures(then: .endThread) {
      onThread {
        _ = holder.weak
        XCTFail("came back")
      }
    }
    XCTAssertEqual(messages.count, 1)
  }

  func testAnOptionalOneThatReadsItselfIsNilWhenTheHandlerReturns() {
    let holder = holder
    Container.shared.optionalLooped.register { Node(holder.optional) }
    let messages = collectingFailures { XCTAssertNotNil(holder.optional) }
    XCTAssertEqual(messages.count, 1)
    XCTAssertTrue(holder.optional!.inner.isEmpty)
    XCTAssertTrue(holder.optional === holder.optional)
  }

  func testAfterTheThreadHasEndedTheNextReadMakesItAnew() {
    let holder = holder
    let isBroken = Guarded(true)
    Container.shared.looped.register { isBroken.value ? Node(holder.looped) : Node(nil) }
    let messages = collectingFailures(then: .endThread) {
      onThread { _ = holder.looped }
      XCTAssertNil(holder.$looped.resolvedOrNil())
      onThread { _ = holder.looped }
    }
    XCTAssertEqual(messages.count, 2)
    isBroken.change { $0 = false }
    XCTAssertTrue(holder.looped === holder.looped)
  }

  func testThoseWhoWaitForAThreadThatEndsMakeItThemselves() {
    for _ in 0..<50 {
      let holder = Holder()
      let tries = Tally()
      let inside = Event()
      Container.shared.looped.register {
        guard tries.add() == 1 else { return Node(nil) }
        inside.signal()
        return Node(holder.looped)
      }
      let messages = collectingFailures(then: .endThread) {
        let failing = TestThread {
          _ = holder.looped
          XCTFail("came back")
        }
        inside.wait()
        let seen = Guarded<[Node]>([])
        runThreads(3) { _ in
          let node = holder.looped
          seen.change { $0.append(node) }
        }
        failing.join()
        XCTAssertEqual(seen.value.count, 3)
        XCTAssertTrue(seen.value.allSatisfy { $0 === holder.looped })
      }
      XCTAssertEqual(messages.count, 1)
    }
  }

  #if !canImport(SwiftUI)
    func testAThreadThatEndsInTheMiddleIsNotWaitedFor() {
      let (inside, goOn) = (Event(), Event())
      let tries = Tally()
      @Sendable func make() -> Model {
        guard tries.add() == 1 else { return Model() }
        inside.signal()
        goOn.wait()
        TestThread.exit()
      }
      let wrapper = InjectedObservable(make())
      let ending = TestThread { _ = wrapper.wrappedValue }
      inside.wait()
      let waiting = TestThread { XCTAssertTrue(wrapper.wrappedValue === wrapper.wrappedValue) }
      goOn.signal()
      ending.join()
      waiting.join()
      XCTAssertEqual(tries.value, 2)
    }

    func testAModelThatReadsItsOwnWrapperIsReported() {
      let model = Guarded<InjectedObservable<Model>?>(nil)
      model.change { $0 = InjectedObservable(Model(model.value!.wrappedValue)) }
      let messages = collectingFailures(then: .endThread) {
        onThread {
          _ = model.value!.wrappedValue
          XCTFail("came back")
        }
      }
      XCTAssertEqual(messages.count, 1)
      XCTAssertTrue(messages[0].contains("Model"), messages[0])
    }
  #endif

  func testTwoThreadsThatWaitForEachOtherAreACycle() {
    let holder = holder
    let (insideLeft, insideRight) = (Event(), Event())
    let failed = Tally()
    Container.shared.left.register {
      insideLeft.signal()
      insideRight.wait()
      if failed.value > 0 { return Node(nil) }
      return Node(holder.right)
    }
    Container.shared.right.register {
      insideRight.signal()
      insideLeft.wait()
      if failed.value > 0 { return Node(nil) }
      return Node(holder.left)
    }
    let messages = Guarded<[String]>([])
    let before = ServiceFailure.handler
    defer { ServiceFailure.handler = before }
    ServiceFailure.handler = { message, _, _ in
      failed.add()
      messages.change { $0.append(message) }
      TestThread.exit()
    }
    let threads = [TestThread { _ = holder.left }, TestThread { _ = holder.right }]
    for thread in threads { thread.join() }
    // Whoever found it ended; the other may have come upon it by itself before it saw that.
    XCTAssertTrue((1...2).contains(messages.value.count), "\(messages.value)")
    XCTAssertNotNil(holder.left)
    XCTAssertNotNil(holder.right)
  }

  func testTheSameFactoryThroughAnotherWrapperIsNoCycle() {
    let (outer, inner) = (Holder(), Holder())
    let depth = Tally()
    Container.shared.left.register { depth.add() == 1 ? Node(inner.right) : Node(nil) }
    Container.shared.right.register { Node(nil) }
    XCTAssertEqual(collectingFailures { XCTAssertEqual(outer.left.inner.count, 1) }, [])
  }
}

private final class Node: @unchecked Sendable {
  let inner: [AnyObject]
  init(_ inner: Node?) { self.inner = inner.map { [$0] } ?? [] }
}

@Observable
private final class Model: @unchecked Sendable {
  init(_ inner: Model? = nil) {}
}

extension Container {
  fileprivate var looped: Factory<Node> { self { Node(nil) } }
  fileprivate var optionalLooped: Factory<Node?> { self { Node(nil) } }
  fileprivate var left: Factory<Node> { self { Node(nil) } }
  fileprivate var right: Factory<Node> { self { Node(nil) } }
}
