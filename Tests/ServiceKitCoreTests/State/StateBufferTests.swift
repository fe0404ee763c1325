import XCTest

@testable import ServiceKitCore

final class StateBufferTests: XCTestCase {
  private func take(
    _ buffer: inout StateBuffer, _ text: String, lostBefore: UInt64 = 0, file: StaticString = #filePath,
    line: UInt = #line
  ) {
    let entry = buffer.popFirst()
    XCTAssertEqual(entry?.state.text, text, file: file, line: line)
    XCTAssertEqual(entry?.lostBefore, lostBefore, file: file, line: line)
    entry?.state.release()
  }

  func testStatesComeOutInTheOrderInWhichTheyCame() {
    var buffer = StateBuffer()
    XCTAssertTrue(buffer.isEmpty)
    XCTAssertNil(buffer.popFirst())
    XCTAssertNil(buffer.peek)
    var (next, first) = (0, 0)
    // In and out by steps that share no divisor with the ring's size, so that it wraps everywhere and grows anywhere.
    for round in 0..<200 {
      for _ in 0..<(round % 13 + 3) {
        buffer.append(state("\(next)"))
        next += 1
      }
      for _ in 0..<(round % 11) {
        XCTAssertEqual(buffer.peek?.text, "\(first)")
        take(&buffer, "\(first)")
        first += 1
      }
      XCTAssertEqual(buffer.count, next - first)
    }
    while !buffer.isEmpty {
      take(&buffer, "\(first)")
      first += 1
    }
    XCTAssertEqual(first, next)
  }

  func testABurstLeavesARingThatWorksOn() {
    var buffer = StateBuffer()
    for _ in 0..<2 {
      for number in 0..<5_000 { buffer.append(state("\(number)")) }
      for number in 0..<5_000 { take(&buffer, "\(number)") }
      XCTAssertTrue(buffer.isEmpty)
    }
  }

  func testReleasingAllReleasesEachOnce() {
    var buffer = StateBuffer()
    let states = (0..<20).map { state("\($0)") }
    for state in states {
      state.retain()
      buffer.append(state)
    }
    buffer.releaseAll()
    XCTAssertTrue(buffer.isEmpty)
    for state in states {
      XCTAssertEqual(state.holds, 1)
      state.release()
    }
  }

  func testTakingAllLeavesAnEmptyOneThatWorksOn() {
    var buffer = StateBuffer()
    for number in 0..<3 { buffer.append(state("\(number)")) }
    var taken = buffer.takeAll()
    XCTAssertTrue(buffer.isEmpty)
    buffer.append(state("new"))
    XCTAssertEqual(taken.count, 3)
    XCTAssertEqual(taken.peek?.text, "0")
    XCTAssertEqual(buffer.peek?.text, "new")
    taken.releaseAll()
    buffer.releaseAll()
  }

  func testEachRemembersWhatWasLostBeforeIt() {
    var buffer = StateBuffer()
    XCTAssertFalse(buffer.addLostBeforeFirst(1))
    for number in 0..<20 { buffer.append(state("\(number)"), lostBefore: UInt64(number)) }
    XCTAssertTrue(buffer.addLostBeforeFirst(7))
    take(&buffer, "0", lostBefore: 7)
    XCTAssertTrue(buffer.addLostBeforeFirst(2))
    XCTAssertTrue(buffer.addLostBeforeFirst(3))
    take(&buffer, "1", lostBefore: 6)
    for number in 2..<20 { take(&buffer, "\(number)", lostBefore: UInt64(number)) }
    XCTAssertFalse(buffer.addLostBeforeFirst(1))
  }
}
