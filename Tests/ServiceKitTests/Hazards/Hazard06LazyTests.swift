import ServiceKit
import ServiceKitTesting
import XCTest

/// A lazy wrapper whose factory reads the same property is a cycle error, not a hang, and a copy of a struct has a lazy
/// wrapper of its own. More of both in `LazyCycleTests` and `LazyInjectedTests`.
final class Hazard06LazyTests: XCContainerTestCase {
  private final class Owner: @unchecked Sendable {
    @LazyInjected(\.itself) var itself
    @LazyInjected(\.detour) var detour
  }

  private struct Value {
    @LazyInjected(\.part) var part
  }

  func testReadingItselfIsACycle() {
    let owner = Owner()
    Container.shared.itself.register { Part(owner.itself) }
    let messages = collectingFailures(then: .endThread) {
      onThread {
        _ = owner.itself
        XCTFail("came back")
      }
    }
    XCTAssertEqual(messages.count, 1)
    XCTAssertTrue(messages[0].contains("itself"), messages[0])
  }

  func testReadingItselfByADetourIsACycleWithTheWholePath() {
    let owner = Owner()
    Container.shared.detour.register { Part(Container.shared.middle()) }
    Container.shared.middle.register { Part(owner.detour) }
    let messages = collectingFailures(then: .endThread) {
      onThread {
        _ = owner.detour
        XCTFail("came back")
      }
    }
    XCTAssertEqual(messages.count, 1)
    XCTAssertTrue(messages[0].contains("detour") && messages[0].contains("middle"), messages[0])
  }

  func testACopyHasItsOwn() {
    let original = Value()
    let part = original.part
    var copy = original
    copy.part = Part(nil)
    XCTAssertTrue(original.part === part)
    copy.$part.resolve()
    XCTAssertTrue(original.part === part)
    XCTAssertFalse(copy.part === part)
  }

  /// Each needs what the other thread is at work on, once through the wrapper and once through its factory.
  func testTwoThreadsAWrapperAndAFactoryThatWaitForEachOther() {
    let owner = Owner()
    let (inWrapper, inFactory) = (Event(), Event())
    let failed = Tally()
    Container.shared.itself.register {
      inWrapper.signal()
      inFactory.wait()
      return failed.value > 0 ? Part(nil) : Part(Container.shared.keptPart())
    }
    Container.shared.keptPart.register {
      inFactory.signal()
      inWrapper.wait()
      return failed.value > 0 ? Part(nil) : Part(owner.itself)
    }
    let before = ServiceFailure.handler
    defer { ServiceFailure.handler = before }
    ServiceFailure.handler = { _, _, _ in
      failed.add()
      TestThread.exit()
    }
    let threads = [TestThread { _ = owner.itself }, TestThread { _ = Container.shared.keptPart() }]
    for thread in threads { thread.join() }
    XCTAssertGreaterThan(failed.value, 0)
    XCTAssertNotNil(owner.itself)
    XCTAssertNotNil(Container.shared.keptPart())
  }
}

private final class Part: @unchecked Sendable {
  let inner: Part?
  init(_ inner: Part?) { self.inner = inner }
}

extension Container {
  fileprivate var itself: Factory<Part> { self { Part(nil) } }
  fileprivate var detour: Factory<Part> { self { Part(nil) } }
  fileprivate var middle: Factory<Part> { self { Part(nil) }.cached }
  fileprivate var part: Factory<Part> { self { Part(nil) } }
  fileprivate var keptPart: Factory<Part> { self { Part(nil) }.cached }
}
