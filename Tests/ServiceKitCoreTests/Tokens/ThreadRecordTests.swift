import CServiceKit
import XCTest

@testable import ServiceKitCore

final class ThreadRecordTests: XCTestCase {
  private func records() -> [UnsafeMutablePointer<ThreadRecord>] {
    var all: [UnsafeMutablePointer<ThreadRecord>] = []
    ThreadRecord.forEach { all.append($0) }
    return all
  }

  func testAThreadKeepsItsRecord() {
    XCTAssertEqual(ThreadRecord.current, ThreadRecord.current)
    XCTAssertTrue(records().contains(ThreadRecord.current))
    XCTAssertTrue(ThreadRecord.current.pointee.isTaken.load(ordering: .relaxed))
  }

  func testThreadsThatLiveTogetherHaveDifferentRecords() {
    let seen = Shared<[UnsafeMutablePointer<ThreadRecord>]>([])
    let barrier = Barrier(8)
    runThreads(8) { _ in
      let mine = ThreadRecord.current
      seen.change { $0.append(mine) }
      barrier.wait()
      if ThreadRecord.current != mine { seen.change { $0.append(mine) } }
    }
    XCTAssertEqual(Set(seen.value).count, 8)
    XCTAssertEqual(seen.value.count, 8)
    XCTAssertFalse(seen.value.contains(ThreadRecord.current))
  }

  func testARecordIsTakenOverAfterItsThread() {
    runThreads(4) { _ in _ = ThreadRecord.current }
    let before = records().count
    for _ in 0..<200 { runThreads(1) { _ in _ = ThreadRecord.current } }
    XCTAssertEqual(records().count, before)
  }

  func testConcurrentBeginningsTakeNoRecordTwice() {
    for _ in 0..<50 {
      let seen = Shared<[UInt]>([])
      let barrier = Barrier(6)
      runThreads(6) { _ in
        barrier.wait()
        let number = ThreadRecord.current.pointee.number
        seen.change { $0.append(number) }
        barrier.wait()
      }
      XCTAssertEqual(Set(seen.value).count, 6)
    }
  }

  func testNumbersAreOfOneRecordEach() {
    let numbers = records().map { $0.pointee.number }
    XCTAssertEqual(Set(numbers).count, numbers.count)
    XCTAssertFalse(numbers.contains(0))
  }

  func testTheNextThreadKnowsNothingOfTheFormersFailure() {
    runThreads(1) { _ in
      for _ in 0..<2 { _ = Failure(SVK_NOT_FOUND) { $0.append("of a former thread") } }
    }
    let words = Shared<[String]>([])
    runThreads(1) { _ in words.change { $0.append(lastWords) } }
    XCTAssertEqual(words.value, [""])
  }

  func testCallbacksNest() {
    XCTAssertFalse(Callback.isRunning)
    Callback.run {
      XCTAssertTrue(Callback.isRunning)
      Callback.run(on: ThreadRecord.current) { XCTAssertTrue(Callback.isRunning) }
      XCTAssertTrue(Callback.isRunning)
      let others = Tally()
      runThreads(1) { _ in if Callback.isRunning { others.add() } }
      XCTAssertEqual(others.value, 0)
    }
    XCTAssertFalse(Callback.isRunning)
  }
}
