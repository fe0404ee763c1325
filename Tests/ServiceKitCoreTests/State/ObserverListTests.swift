import XCTest

@testable import ServiceKitCore

final class ObserverListTests: XCTestCase {
  private var source: Source!
  private var subscriptions: [Subscription] = []

  override func setUpWithError() throws {
    source = try Source()
    subscriptions = try (0..<12).map { _ in try source.observe(Watcher()) }
  }

  override func tearDown() {
    source.destroy()
    subscriptions = []
    source = nil
  }

  private func numbers(_ walk: ObserverList.Walk) -> [Int] {
    var all: [Int] = []
    walk.forEach { subscription in all.append(subscriptions.firstIndex { $0 === subscription }!) }
    return all
  }

  private func now(_ list: inout ObserverList) -> [Int] {
    let walk = list.beginWalk()
    defer { XCTAssertFalse(list.endWalk()) }
    return numbers(walk)
  }

  private func clear(_ list: inout ObserverList) { list.takeAll().dispose() }

  func testTheyStandInTheOrderInWhichTheyCame() {
    var list = ObserverList()
    for subscription in subscriptions { list.append(subscription) }
    XCTAssertEqual(now(&list), Array(0..<12))
    XCTAssertEqual(list.count, 12)
    clear(&list)
    XCTAssertEqual(list.count, 0)
    XCTAssertEqual(now(&list), [])
  }

  func testEachMayBeRemovedAndTheOthersKeepTheirOrder() {
    for removed in 0..<12 {
      var list = ObserverList()
      for subscription in subscriptions { list.append(subscription) }
      let hold = list.remove(subscriptions[removed])
      XCTAssertTrue(hold?.takeUnretainedValue() === subscriptions[removed])
      hold?.release()
      XCTAssertNil(list.remove(subscriptions[removed]))
      XCTAssertEqual(now(&list), (0..<12).filter { $0 != removed })
      clear(&list)
    }
  }

  func testAWalkSeesTheListAsItWas() {
    var list = ObserverList()
    for subscription in subscriptions[..<5] { list.append(subscription) }
    let walk = list.beginWalk()
    list.append(subscriptions[5])
    list.remove(subscriptions[0])?.release()
    list.append(subscriptions[6])
    XCTAssertEqual(numbers(walk), [0, 1, 2, 3, 4])
    XCTAssertTrue(list.endWalk(), "the walker must dispose of it")
    walk.dispose()
    XCTAssertEqual(now(&list), [1, 2, 3, 4, 5, 6])
    clear(&list)
  }

  func testAnyChangeUnderAWalkLeavesTheWalkItsOwn() {
    for changed in -1..<5 {
      var list = ObserverList()
      for subscription in subscriptions[..<5] { list.append(subscription) }
      let walk = list.beginWalk()
      if changed < 0 { list.append(subscriptions[5]) } else { list.remove(subscriptions[changed])?.release() }
      XCTAssertEqual(numbers(walk), [0, 1, 2, 3, 4])
      XCTAssertTrue(list.endWalk())
      walk.dispose()
      XCTAssertEqual(now(&list), changed < 0 ? [0, 1, 2, 3, 4, 5] : (0..<5).filter { $0 != changed })
      clear(&list)
    }
  }

  func testAForgottenWalkIsNoReasonToCopy() {
    var list = ObserverList()
    for subscription in subscriptions[..<5] { list.append(subscription) }
    let first = list.entries
    _ = list.beginWalk()
    list.forgetWalk()
    list.remove(subscriptions[2])?.release()
    XCTAssertEqual(list.entries, first)
    XCTAssertEqual(now(&list), [0, 1, 3, 4])
    clear(&list)
  }

  func testAnUndisturbedWalkLeavesNothingToDisposeOf() {
    var list = ObserverList()
    list.append(subscriptions[0])
    let first = list.entries
    _ = list.beginWalk()
    XCTAssertFalse(list.endWalk())
    list.append(subscriptions[1])
    XCTAssertEqual(list.entries, first, "copied though nobody walks")
    clear(&list)
  }

  func testTakingAllFromUnderAWalkLeavesTheWalkItsOwn() {
    var list = ObserverList()
    for subscription in subscriptions[..<3] { list.append(subscription) }
    let walk = list.beginWalk()
    let taken = list.takeAll()
    XCTAssertEqual(numbers(taken), [0, 1, 2])
    taken.dispose()
    XCTAssertEqual(numbers(walk), [0, 1, 2])
    XCTAssertTrue(list.endWalk())
    walk.dispose()
    XCTAssertEqual(list.count, 0)
  }

  func testEveryHoldIsReleased() throws {
    let frees = Tally()
    var watchers: [Watcher] = []
    for _ in 0..<8 {
      let watcher = Watcher()
      watchers.append(watcher)
      let subscription = try source.observe(watcher)
      subscription.cancel()
      frees.add(watcher.frees.value)
    }
    XCTAssertEqual(frees.value, 8)
  }
}
