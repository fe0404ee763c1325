import CServiceKit
import XCTest

@testable import ServiceKitCore

final class FailureTests: XCTestCase {
  func testTheLastWordsAreKeptThroughSuccesses() {
    let failure = Failure(SVK_BUSY) { $0.append("first") }
    XCTAssertEqual(failure.status, SVK_BUSY)
    XCTAssertEqual(lastWords, "first")
    XCTAssertEqual(status { () throws(Failure) in try KeyRules.check(ByteView("good"), "key") }, SVK_OK)
    XCTAssertEqual(lastWords, "first")
    _ = Failure(SVK_CLOSED)
    XCTAssertEqual(lastWords, "\(Constants.statusText(SVK_CLOSED))")
    _ = Failure(passingOn: SVK_CYCLE)
    XCTAssertEqual(lastWords, "\(Constants.statusText(SVK_CLOSED))")
    _ = Failure(SVK_CYCLE, words: owned("of another thread"))
    XCTAssertEqual(lastWords, "of another thread")
  }

  func testADescriptionMayQuoteTheFailureBefore() {
    _ = Failure(SVK_BUSY) { $0.append("inner") }
    _ = Failure(SVK_BUSY) { text in
      text.append("outer: ")
      text.append(ThreadRecord.current.pointee.lastError.view)
    }
    XCTAssertEqual(lastWords, "outer: inner")
  }

  func testEachThreadHasItsOwn() {
    _ = Failure(SVK_BUSY) { $0.append("of this thread") }
    let others = Shared<[String]>([])
    let barrier = Barrier(3)
    runThreads(3) { thread in
      let before = lastWords
      others.change { $0.append(before) }
      _ = Failure(SVK_BUSY) { $0.append(Int64(thread)) }
      barrier.wait()
      let after = lastWords
      if after != "\(thread)" { others.change { $0.append(after) } }
    }
    XCTAssertEqual(others.value, ["", "", ""])
    XCTAssertEqual(lastWords, "of this thread")
  }

  func testFailuresAreCounted() {
    let before = ThreadRecord.current.pointee.lastError.count
    _ = Failure(SVK_TIMEOUT)
    _ = Failure(SVK_BUSY)
    XCTAssertEqual(ThreadRecord.current.pointee.lastError.count, before + 2)
    XCTAssertEqual(ThreadRecord.current.pointee.lastError.status, SVK_BUSY)
  }
}
