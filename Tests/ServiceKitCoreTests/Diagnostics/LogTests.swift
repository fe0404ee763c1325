import CServiceKit
import XCTest

@testable import ServiceKitCore

final class LogTests: XCTestCase {
  /// Where a log's messages go.
  private final class Sink: @unchecked Sendable {
    let messages = Shared<[(Int32, String)]>([])
    let frees = Tally()
    let afterFree = Tally()

    func target(_ level: Int32) -> Log.Target {
      Log.Target(
        { level, message, sink in
          let sink = Unmanaged<Sink>.fromOpaque(sink!).takeUnretainedValue()
          let text = String(cString: message!)
          sink.messages.change { $0.append((level, text)) }
        }, level: level,
        UserData(
          Unmanaged.passUnretained(self).toOpaque(),
          free: { Unmanaged<Sink>.fromOpaque($0!).takeUnretainedValue().frees.add() }))
    }
  }

  private let sink = Sink()

  override func tearDown() { Log.set(nil) }

  func testMessagesUpToTheLevelAreMade() {
    for level in SVK_LOG_ERROR...SVK_LOG_DEBUG {
      Log.set(sink.target(level))
      sink.messages.change { $0 = [] }
      let made = Tally()
      for each in SVK_LOG_ERROR...SVK_LOG_DEBUG {
        Log.write(each) { text in
          made.add()
          text.append("message ")
          text.append(Int64(each))
        }
        XCTAssertEqual(Log.wants(each), each <= level)
      }
      XCTAssertEqual(sink.messages.value.map { $0.0 }, Array(SVK_LOG_ERROR...level))
      XCTAssertEqual(sink.messages.value.last?.1, "message \(level)")
      XCTAssertEqual(made.value, Int(level), "a message that nobody wants is not made")
    }
  }

  func testWithoutAFunctionNothingIsMade() {
    Log.set(nil)
    Log.write(SVK_LOG_ERROR) { _ in XCTFail("made") }
  }

  func testAReplacedFunctionsDataIsFreed() {
    Log.set(sink.target(SVK_LOG_DEBUG))
    XCTAssertEqual(sink.frees.value, 0)
    Log.set(sink.target(SVK_LOG_DEBUG))
    XCTAssertEqual(sink.frees.value, 1)
    Log.set(nil)
    XCTAssertEqual(sink.frees.value, 2)
  }

  func testEachKeyStillHeldIsNamedAtTheEnd() throws {
    Log.set(sink.target(SVK_LOG_WARNING))
    let container = Container.create(parent: nil)
    for key in ["one", "two", "three"] { container.register(key, Maker().registration(.cached)) }
    let held = [try container.resolve("one"), try container.resolve("two"), try container.resolve("two")]
    try container.touch("three")
    _ = try Resolve.pin(container.token, KeyView(ByteView("three")))
    XCTAssertTrue(container.destroy())
    let messages = sink.messages.value.map { $0.1 }.sorted()
    XCTAssertEqual(messages.count, 2)
    XCTAssertTrue(messages[0].contains("1 handle is still held on \"one\""), messages[0])
    XCTAssertTrue(messages[1].contains("2 handles are still held on \"two\""), messages[1])
    for each in held { each.release() }
  }

  func testAPopNamesOnlyWhatCameSince() throws {
    Log.set(sink.target(SVK_LOG_WARNING))
    let container = Container.create(parent: nil)
    container.register("key", Maker().registration(.cached))
    let before = try container.resolve("key")
    try container.push()
    container.register("key", Maker().registration(.cached))
    let since = try container.resolve("key")
    try container.pop()
    XCTAssertEqual(sink.messages.value.count, 1)
    XCTAssertTrue(
      try XCTUnwrap(sink.messages.value.first).1.contains("svk_container_pop: 1 handle is still held on \"key\""))
    before.release()
    since.release()
    XCTAssertTrue(container.destroy())
    XCTAssertEqual(sink.messages.value.count, 1)
  }

  func testFunctionsAreReplacedWhileOthersWrite() {
    let sinks = (0..<4).map { _ in Sink() }
    let sets = Tally()
    storm(4, rounds: 300) { thread, round in
      if thread < 2 {
        Log.set(round % 5 == 0 ? nil : sinks[thread].target(SVK_LOG_DEBUG))
        if round % 5 != 0 { sets.add() }
      } else {
        Log.write(SVK_LOG_INFO) { $0.append("message") }
      }
    }
    Log.set(nil)
    XCTAssertEqual(sinks.reduce(0) { $0 + $1.frees.value }, sets.value)
  }
}
