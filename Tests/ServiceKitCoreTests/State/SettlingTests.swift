import CServiceKit
import XCTest

@testable import ServiceKitCore

final class SettlingTests: XCTestCase {
  private let notified = Tally()

  private func settling() -> Settling { Settling { [notified] in notified.add() } }

  func testThereIsNothingToWaitForWhereNobodyDelivers() throws {
    let source = try Source()
    XCTAssertFalse(source.service.settle(settling()))
    source.send("1")
    XCTAssertFalse(source.service.settle(settling()))
    source.close()
    XCTAssertFalse(source.service.settle(settling()))
    XCTAssertEqual(notified.value, 0)
    source.destroy()
  }

  func testItIsNotifiedAfterTheCallbacksOfAllThatWasSent() throws {
    let executor = HostExecutor { _ in }
    let notified = notified
    let seen = Shared<[Int]>([])
    let source = try Source(
      .unbounded, .host(executor), watcher: Watcher { _ in seen.change { $0.append(notified.value) } })
    let observer = Watcher { _ in seen.change { $0.append(notified.value) } }
    let subscription = try source.observe(observer)
    source.send("1")
    source.send("2")
    XCTAssertTrue(source.service.settle(settling()))
    source.send("3")
    while executor.run() {}
    XCTAssertEqual(notified.value, 1)
    // Two calls for each state: the waiter was notified after the second, and did not wait for the third.
    XCTAssertEqual(seen.value, [0, 0, 0, 0, 1, 1])
    subscription.cancel()
    source.destroy()
  }

  func testItWaitsForWhatTheCallbacksSend() throws {
    let source = Shared<Source?>(nil)
    let (notified, seen) = (notified, Shared<[String]>([]))
    let watcher = Watcher { state in
      seen.change { $0.append("\(state.text) \(notified.value)") }
      if state.text == "1", let service = source.value?.service {
        XCTAssertTrue(service.settle(Settling { notified.add() }))
        source.value?.send("2")
      }
      if state.text == "2" { source.value?.send("3") }
    }
    source.change { $0 = try? Source(watcher: watcher) }
    source.value?.send("1")
    XCTAssertEqual(seen.value, ["1 0", "2 0", "3 0"])
    XCTAssertEqual(notified.value, 1)
    source.value?.destroy()
  }

  func testItWaitsForTheEndThatWasSent() throws {
    let executor = HostExecutor { _ in }
    let source = try Source(.unbounded, .host(executor))
    source.send("1")
    try source.stream.finish()
    XCTAssertTrue(source.service.settle(settling()))
    while executor.run() {}
    XCTAssertEqual(notified.value, 1)
    XCTAssertEqual(source.watcher.finishes.value, 1)
    source.destroy()
  }

  func testStatesThatAreSkippedAsEqualOrLostAreNotWaitedFor() throws {
    let executor = HostExecutor { _ in }
    let skipping = try Source(.unbounded, .host(executor), skipsEqual: true)
    skipping.send("initial")
    XCTAssertTrue(skipping.service.settle(settling()))
    let losing = try Source(.make(SVK_BUFFER_NEWEST, 1), .host(executor))
    losing.send("1")
    XCTAssertTrue(losing.service.settle(settling()))
    losing.send("2")
    while executor.run() {}
    XCTAssertEqual(notified.value, 2)
    skipping.destroy()
    losing.destroy()
  }

  func testACloseNotifiesAndAWaitCanBeGivenUp() throws {
    let executor = HostExecutor { _ in }
    let source = try Source(.unbounded, .host(executor))
    source.send("1")
    let given = settling()
    XCTAssertTrue(source.service.settle(given))
    XCTAssertTrue(source.service.settle(settling()))
    XCTAssertTrue(source.service.unsettle(given))
    XCTAssertFalse(source.service.unsettle(given))
    source.close()
    XCTAssertEqual(notified.value, 1)
    source.destroy()
  }

  func testNoWaitIsForgottenWhileManySend() throws {
    let source = try Source()
    let (begun, ended) = (Tally(), Tally())
    runThreads(3) { thread in
      for round in rounds(5000) {
        if thread > 0 {
          source.send("\(round)")
        } else if source.service.settle(Settling { ended.add() }) {
          begun.add()
        }
      }
    }
    XCTAssertEqual(ended.value, begun.value)
    source.destroy()
  }
}
