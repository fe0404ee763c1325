import CServiceKit
import XCTest

@testable import ServiceKitCore

/// Every transition of what an observer was sent, without a lock, a thread or a callback.
final class SubscriptionStateTests: XCTestCase {
  private enum Answer: Equatable {
    case kept
    case keptInsteadOf(String)
    case refused, wait, cancelled
  }

  private func offer(
    _ subscription: inout SubscriptionState, _ text: String, lost: UInt64 = 0, isDrainer: Bool = false
  ) -> Answer {
    let new = state(text)
    defer { new.release() }
    switch subscription.offer(new, lost: lost, isDrainer: isDrainer) {
    case .kept:
      XCTAssertEqual(new.holds, 2)
      return .kept
    case .keptInsteadOf(let oldest):
      defer { oldest.release() }
      return .keptInsteadOf(oldest.text)
    case .refused:
      XCTAssertEqual(new.holds, 1)
      return .refused
    case .wait:
      XCTAssertEqual(new.holds, 1)
      return .wait
    case .cancelled:
      XCTAssertEqual(new.holds, 1)
      return .cancelled
    }
  }

  /// The next state, with what was lost before it; or what else there is.
  private func next(_ subscription: inout SubscriptionState) -> String {
    switch subscription.takeNext() {
    case .state(let entry):
      defer { entry.state.release() }
      return entry.lostBefore == 0 ? entry.state.text : "\(entry.state.text)+\(entry.lostBefore)"
    case .end: return "end"
    case .nothing: return "nothing"
    }
  }

  func testAFullBuffer() {
    for (buffering, isDrainer, expected) in [
      (SVK_BUFFER_UNBOUNDED, false, Answer.kept), (SVK_BUFFER_NEWEST, false, .keptInsteadOf("1")),
      (SVK_BUFFER_NEWEST, true, .keptInsteadOf("1")), (SVK_BUFFER_OLDEST, false, .refused),
      (SVK_BUFFER_OLDEST, true, .refused), (SVK_BUFFER_BLOCK, false, .wait), (SVK_BUFFER_BLOCK, true, .refused),
    ] {
      var subscription = SubscriptionState(policy: .make(buffering, 2))
      XCTAssertEqual(offer(&subscription, "1", isDrainer: isDrainer), .kept)
      XCTAssertEqual(offer(&subscription, "2", isDrainer: isDrainer), .kept)
      XCTAssertEqual(offer(&subscription, "3", isDrainer: isDrainer), expected)
      let all = (0..<4).map { _ in next(&subscription) }
      switch expected {
      case .kept: XCTAssertEqual(all, ["1", "2", "3", "nothing"])
      case .keptInsteadOf: XCTAssertEqual(all, ["2+1", "3", "nothing", "nothing"])
      default: XCTAssertEqual(all, ["1", "2", "nothing", "nothing"])
      }
      let isRefused = expected == .refused
      XCTAssertEqual(subscription.lostInAll, isRefused || expected == .keptInsteadOf("1") ? 1 : 0)
      // There is room again, and what was refused is told of.
      XCTAssertEqual(offer(&subscription, "4"), .kept)
      XCTAssertEqual(next(&subscription), isRefused ? "4+1" : "4")
    }
  }

  func testTheEndComesOnceAfterWhatIsKept() {
    var subscription = SubscriptionState(policy: .unbounded)
    XCTAssertFalse(subscription.hasMore)
    XCTAssertEqual(next(&subscription), "nothing")
    XCTAssertEqual(offer(&subscription, "a"), .kept)
    XCTAssertTrue(subscription.hasMore)
    subscription.hasEnded = true
    XCTAssertEqual(next(&subscription), "a")
    XCTAssertTrue(subscription.hasMore)
    XCTAssertFalse(subscription.isEndTaken)
    XCTAssertEqual(next(&subscription), "end")
    XCTAssertTrue(subscription.isEndTaken)
    XCTAssertFalse(subscription.hasMore)
    XCTAssertEqual(next(&subscription), "nothing")
  }

  func testAfterCancellingNothingIsKeptOrDue() {
    for buffering in [SVK_BUFFER_UNBOUNDED, SVK_BUFFER_NEWEST, SVK_BUFFER_OLDEST, SVK_BUFFER_BLOCK] {
      var subscription = SubscriptionState(policy: .make(buffering, 1))
      XCTAssertEqual(offer(&subscription, "a"), .kept)
      subscription.hasEnded = true
      var kept = subscription.cancel()
      XCTAssertEqual(kept.count, 1)
      kept.releaseAll()
      XCTAssertTrue(subscription.isCancelled)
      XCTAssertFalse(subscription.hasMore)
      XCTAssertEqual(offer(&subscription, "b"), .cancelled)
      XCTAssertEqual(offer(&subscription, "c", isDrainer: true), .cancelled)
      XCTAssertTrue(subscription.kept.isEmpty)
    }
  }

  /// What was lost is told with the next state after it, never before and never twice.
  func testLossesAreToldWhereTheyHappened() {
    // To this buffer, which keeps the oldest, and to the stream's before it.
    var oldest = SubscriptionState(policy: .make(SVK_BUFFER_OLDEST, 2))
    XCTAssertEqual(offer(&oldest, "1", lost: 3), .kept)
    XCTAssertEqual(offer(&oldest, "2"), .kept)
    XCTAssertEqual(offer(&oldest, "3", lost: 2), .refused)
    XCTAssertEqual(offer(&oldest, "4"), .refused)
    XCTAssertTrue(oldest.hasLostSinceKept)
    XCTAssertEqual(next(&oldest), "1+3")
    XCTAssertEqual(offer(&oldest, "5", lost: 1), .kept)
    XCTAssertFalse(oldest.hasLostSinceKept)
    XCTAssertEqual(next(&oldest), "2")
    XCTAssertEqual(next(&oldest), "5+5")
    XCTAssertEqual(oldest.lostInAll, 2)

    // To one that keeps the newest: what makes room takes what was lost before it along.
    var newest = SubscriptionState(policy: .make(SVK_BUFFER_NEWEST, 1))
    XCTAssertEqual(offer(&newest, "1", lost: 2), .kept)
    XCTAssertEqual(offer(&newest, "2"), .keptInsteadOf("1"))
    XCTAssertEqual(offer(&newest, "3", lost: 4), .keptInsteadOf("2"))
    XCTAssertEqual(newest.lostInAll, 2)
    XCTAssertEqual(next(&newest), "3+8")
    XCTAssertEqual(next(&newest), "nothing")
    XCTAssertEqual(newest.takeLostSinceKept(), 0)
  }

  func testWhatIsNotToldYetIsTakenOnce() {
    var subscription = SubscriptionState(policy: .make(SVK_BUFFER_BLOCK, 1))
    XCTAssertEqual(offer(&subscription, "1"), .kept)
    XCTAssertEqual(offer(&subscription, "2", lost: 4, isDrainer: true), .refused)
    XCTAssertEqual(subscription.takeLostSinceKept(), 5)
    XCTAssertEqual(subscription.takeLostSinceKept(), 0)
    XCTAssertEqual(next(&subscription), "1")
  }
}
