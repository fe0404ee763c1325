import ServiceKit
import XCTest

final class StatesBufferingTests: XCTestCase {
  func testWithoutALimitAllIsKept() {
    let stream = StateStream<Int>()
    for number in 1...100 { XCTAssertEqual(stream.send(number), .taken) }
    let log = StateLog<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ()) { log.add($0) }
    XCTAssertEqual(log.entries, Array(1...100))
    XCTAssertEqual(service.version, 100)
  }

  func testNewestLosesTheOldest() {
    let stream = StateStream<Int>(buffering: .newest(2)) { continuation in
      for number in 1...5 { XCTAssertEqual(continuation.send(number), .taken) }
    }
    let log = StateLog<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ()) { log.add($0) }
    XCTAssertEqual(log.entries, [4, 5])
    XCTAssertEqual(service.version, 5, "a gap tells of the three that were lost")
  }

  func testOldestRefusesTheNewest() {
    let stream = StateStream<Int>(buffering: .oldest(2))
    XCTAssertEqual([1, 2, 3, 4].map { stream.send($0) }, [.taken, .taken, .dropped, .dropped])
    let log = StateLog<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ()) { log.add($0) }
    XCTAssertEqual(log.entries, [1, 2])
    XCTAssertEqual(service.version, 2)
    XCTAssertEqual(stream.send(5), .taken, "what can be applied at once needs no room")
    XCTAssertEqual(service.state, 5)
  }

  func testBuffersHoldInsideTheCallback() {
    let (newest, oldest) = (StateStream<Int>(buffering: .newest(1)), StateStream<Int>(buffering: .oldest(1)))
    let results = StateLog<StateStream<Int>.SendResult>()
    let log = StateLog<Int>()
    let first = StatefulService(state: 0, stream: newest, api: ()) { state in
      log.add(state)
      if state == 1 { for number in 2...4 { results.add(newest.send(number)) } }
    }
    let second = StatefulService(state: 0, stream: oldest, api: ()) { state in
      log.add(state)
      if state == 11 { for number in 12...14 { results.add(oldest.send(number)) } }
    }
    newest.send(1)
    oldest.send(11)
    XCTAssertEqual(log.entries, [1, 4, 11, 12])
    XCTAssertEqual(results.entries, [.taken, .taken, .taken, .taken, .dropped, .dropped])
    XCTAssertEqual([first.state, second.state], [4, 12])
  }

  func testACapacityBelowOneCountsAsOne() {
    for capacity in [0, -1, Int.min] {
      let stream = StateStream<Int>(buffering: .oldest(capacity))
      XCTAssertEqual([1, 2].map { stream.send($0) }, [.taken, .dropped])
      let newest = StateStream<Int>(buffering: .newest(capacity))
      XCTAssertEqual([1, 2].map { newest.send($0) }, [.taken, .taken])
      XCTAssertEqual(StatefulService(state: 0, stream: newest, api: ()).state, 2)
    }
  }

  func testStatesNobodyWantedAreFreedWithTheStream() {
    let census = StateCounted.Census()
    var stream: StateStream<StateCounted>? = StateStream(buffering: .newest(3))
    for number in 1...10 { stream?.send(StateCounted(number, census)) }
    XCTAssertEqual(census.living, 3)
    stream = nil
    XCTAssertEqual(census.living, 0)
  }

  func testStatesThatWereRefusedAreFreedAtOnce() {
    let census = StateCounted.Census()
    let stream = StateStream<StateCounted>(buffering: .oldest(1))
    for number in 1...10 { stream.send(StateCounted(number, census)) }
    XCTAssertEqual(census.living, 1)
    stream.finish()
    stream.send(StateCounted(11, census))
    XCTAssertEqual(census.living, 1)
  }

  // MARK: - Values of every kind

  func testValuesOfEveryKindComeBackAsTheyWere() {
    func passes<Value: Sendable & Equatable>(_ first: Value, _ second: Value, line: UInt = #line) {
      let stream = StateStream<Value>()
      let log = StateLog<Value>()
      let service = StatefulService(state: first, stream: stream, api: ()) { log.add($0) }
      XCTAssertEqual(service.state, first, line: line)
      stream.send(second)
      stream.send(first)
      XCTAssertEqual(service.state, first, line: line)
      XCTAssertEqual(log.entries, [second, first], line: line)
    }
    struct Large: Sendable, Equatable {
      var numbers: (SIMD64<Int32>, SIMD64<Int32>, SIMD64<Int32>, SIMD64<Int32>, SIMD64<Int32>)
      init(_ number: Int32) {
        let vector = SIMD64(repeating: number)
        numbers = (vector, vector, vector, vector, vector)
      }
      static func == (left: Large, right: Large) -> Bool { left.numbers == right.numbers }
    }
    enum Choice: Sendable, Equatable {
      case none
      indirect case more([String], Choice)
    }
    struct Empty: Sendable, Equatable {}
    passes(true, false)
    passes(UInt8(1), 2)
    passes("a", String(repeating: "long", count: 100))
    passes([1, 2], [])
    passes(Int?.none, 3)
    passes(Choice.none, .more(["a"], .more([], .none)))
    passes(Large(1), Large(2))
    passes(Empty(), Empty())
    passes(["a": [1.5]], [:])
  }

  func testAStateIsAnExistential() {
    let stream = StateStream<any Sendable & CustomStringConvertible>()
    let service = StatefulService(state: 1, stream: stream, api: ())
    stream.send("two")
    XCTAssertEqual(service.state.description, "two")
    stream.send([1.5, 2.5, 3.5])
    XCTAssertEqual(service.state.description, "[1.5, 2.5, 3.5]")
  }
}
