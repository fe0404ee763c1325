import CPlatform
import XCTest

@testable import ServiceKitCore

final class ClockTests: XCTestCase {
  func testTheClockNeverGoesBack() {
    var last = Clock.now()
    for _ in 0..<10_000 {
      let now = Clock.now()
      XCTAssertGreaterThanOrEqual(now, last)
      last = now
    }
  }

  func testNanosecondsAreSplitIntoSecondsAndTheRest() {
    for (nanoseconds, seconds, rest) in [
      (UInt64(0), 0, 0), (999_999_999, 0, 999_999_999), (1_000_000_000, 1, 0), (3_000_000_007, 3, 7),
      (UInt64(Int64.max), 9_223_372_036, 854_775_807),
    ] {
      let time = Clock.timespec(nanoseconds: nanoseconds)
      XCTAssertEqual(time.tv_sec, seconds)
      XCTAssertEqual(Int(time.tv_nsec), rest)
    }
  }

  func testANegativeTimeoutIsForEver() {
    for timeout in [Int64(-1), -2, .min] { XCTAssertNil(end(Deadline(timeout: timeout))) }
  }

  func testATimeoutBeyondTheClocksEndIsForEver() {
    for timeout in [Int64.max, Int64.max - 1] {
      XCTAssertNil(end(Deadline(timeout: timeout)))
      XCTAssertFalse(Deadline(timeout: timeout).hasPassed)
    }
  }

  func testATimeoutEndsThatFarFromNow() throws {
    for timeout in [0, 1, 1_000_000_000, 3_000_000_000_000_000_000] as [Int64] {
      let before = Clock.now()
      let deadline = try XCTUnwrap(end(Deadline(timeout: timeout)))
      XCTAssertGreaterThanOrEqual(deadline, before + UInt64(timeout))
      XCTAssertLessThanOrEqual(deadline, Clock.now() + UInt64(timeout))
    }
  }

  func testADeadlineHasPassedFromItsMomentOn() {
    XCTAssertTrue(Deadline(timeout: 0).hasPassed)
    XCTAssertTrue(Deadline.at(0).hasPassed)
    XCTAssertTrue(Deadline.at(Clock.now()).hasPassed)
    XCTAssertFalse(Deadline.at(.max).hasPassed)
    XCTAssertFalse(Deadline.never.hasPassed)
  }

  private func end(_ deadline: Deadline) -> UInt64? {
    if case .at(let end) = deadline { return end }
    return nil
  }
}
