import CServiceKit
import XCTest

@testable import ServiceKitCore

final class TraceTests: XCTestCase {
  private final class Sink: @unchecked Sendable {
    let events = Shared<[String]>([])
    let frees = Tally()

    var trace: Trace {
      Trace(
        { event, sink in
          let event = event!.pointee
          let kinds = [
            SVK_TRACE_CONTEXT: "context", SVK_TRACE_REGISTRATION: "registration", SVK_TRACE_CACHE: "cache",
            SVK_TRACE_FAILED: "failed",
          ]
          let name = event.instance.map { Product.of($0).name } ?? "nothing"
          let isRight = event.size == UInt32(MemoryLayout<svk_trace_event>.size)
          let line =
            "\(event.depth) \(String(cString: event.key)) \(kinds[event.kind]!) \(name)\(isRight ? "" : ", wrong size")"
          Unmanaged<Sink>.fromOpaque(sink!).takeUnretainedValue().events.change { $0.append(line) }
        },
        UserData(
          Unmanaged.passUnretained(self).toOpaque(),
          free: { Unmanaged<Sink>.fromOpaque($0!).takeUnretainedValue().frees.add() }))
    }
  }

  private let (sink, other) = (Sink(), Sink())

  func testDependenciesComeBeforeDependents() throws {
    let container = Container.create(parent: nil)
    container.register("leaf", Maker("leaf").registration(.cached))
    container.register("middle", Maker("middle") { $0.require("leaf") }.registration(.unique, context: "live"))
    container.register(
      "top",
      Maker("top") { building in
        _ = building.require("middle")
        _ = building.require("missing")
        return building.require("leaf")
      }.registration(.unique))
    try container.setTrace(sink.trace)
    try container.touch("top")
    XCTAssertEqual(
      sink.events.value,
      [
        "2 leaf registration leaf", "1 middle context middle", "1 missing failed nothing", "1 leaf cache leaf",
        "0 top registration top",
      ])
    try container.setTrace(nil)
    XCTAssertEqual(sink.frees.value, 1)
    try container.touch("top")
    XCTAssertEqual(sink.events.value.count, 5)
    XCTAssertTrue(container.destroy())
  }

  func testTheNearestContainerIsTold() throws {
    let parent = Container.create(parent: nil)
    let child = Container.create(parent: parent)
    parent.register("key", Maker("made").registration(.cached))
    try parent.setTrace(sink.trace)
    try child.touch("key")
    XCTAssertEqual(sink.events.value, ["0 key registration made"])
    try child.setTrace(other.trace)
    try child.touch("key")
    XCTAssertEqual(sink.events.value.count, 1)
    XCTAssertEqual(other.events.value, ["0 key cache made"])
    XCTAssertTrue(child.destroy())
    XCTAssertTrue(parent.destroy())
    XCTAssertEqual(sink.frees.value, 1)
    XCTAssertEqual(other.frees.value, 1)
  }
}
