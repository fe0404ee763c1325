import ServiceKit
import ServiceKitTesting
import XCTest

/// A graph instance never leaks from one resolution cycle to another, whatever other threads resolve.
final class Hazard02GraphLeakTests: XCContainerTestCase {
  func testAnotherThreadsCycleInTheMiddleOfOurs() {
    let container = Container()
    let theirs = Guarded<Pair?>(nil)
    let isFirst = Guarded(true)
    container.pair.register { [unowned container] in
      let left = container.leaf()
      let goesFirst = isFirst.change { first in
        defer { first = false }
        return first
      }
      if goesFirst { onThread { theirs.change { $0 = container.pair() } } }
      return Pair(left, container.leaf())
    }
    let ours = container.pair()
    XCTAssertTrue(ours.left === ours.right)
    XCTAssertTrue(theirs.value!.left === theirs.value!.right)
    XCTAssertFalse(ours.left === theirs.value!.left)
    XCTAssertFalse(container.leaf() === ours.left)
  }

  func testManyThreads() {
    let container = Container()
    runThreads(4) { thread in
      var before: Pair?
      for _ in 0..<2_000 {
        if thread % 2 == 0 {
          let pair = container.pair()
          XCTAssertTrue(pair.left === pair.right)
          XCTAssertFalse(pair.left === before?.left)
          before = pair
        } else {
          XCTAssertFalse(container.leaf() === container.leaf())
        }
      }
    }
  }

  func testItEndsWithTheOutermostResolveAlsoAfterAFailure() {
    let container = Container()
    container.failing.register { [unowned container] in
      _ = container.leaf()
      return container.failing()
    }
    XCTAssertEqual(collectingFailures { XCTAssertNil(container.failing()) }.count, 1)
    let pair = container.pair()
    XCTAssertTrue(pair.left === pair.right)
    XCTAssertFalse(container.leaf() === pair.left)
  }

  func testTwoContainersInOneCycle() {
    let (one, two) = (Container(), Container())
    one.pair.register { [unowned one, unowned two] in
      XCTAssertTrue(two.leaf() === two.leaf())
      XCTAssertFalse(two.leaf() === one.leaf())
      return Pair(one.leaf(), one.leaf())
    }
    let pair = one.pair()
    XCTAssertTrue(pair.left === pair.right)
  }
}

private final class Pair: @unchecked Sendable {
  let left: Leaf
  let right: Leaf
  init(_ left: Leaf, _ right: Leaf) { (self.left, self.right) = (left, right) }
}

private final class Leaf: Sendable {}

extension Container {
  fileprivate var pair: Factory<Pair> { self { Pair(self.leaf(), self.leaf()) } }
  fileprivate var leaf: Factory<Leaf> { self { Leaf() }.graph }
  fileprivate var failing: Factory<Leaf?> { self { nil } }
}
