import CServiceKit
import XCTest

@testable import ServiceKitCore

/// Every transition of a stream, without a lock, a thread or a callback.
final class StreamStateTests: XCTestCase {
  private enum Answer: Equatable {
    case deliver
    case keep(evicted: String?)
    case keepAndSchedule(evicted: String?)
    case closed, full, wait
  }

  private func make(
    _ policy: BufferPolicy = .unbounded, reader: StreamState.Reader = .none, hasEnded: Bool = false,
    hasStart: Bool = false
  ) -> StreamState {
    var stream = StreamState(policy: policy, hasEnded: hasEnded, hasStart: hasStart)
    switch reader {
    case .none: break
    case .gone:
      _ = stream.attach(.onSenders)
      var rest = stream.detach()
      rest.releaseAll()
    default: _ = stream.attach(reader)
    }
    return stream
  }

  /// Sends, and releases what the stream did not keep.
  private func send(
    _ stream: inout StreamState, _ text: String, isFree: Bool = true, isDrainer: Bool = false
  ) -> Answer {
    let new = state(text)
    func evict(_ evicted: State?) -> String? {
      defer { evicted?.release() }
      return evicted?.text
    }
    switch stream.admit(new, isFree: isFree, isDrainer: isDrainer) {
    case .deliver:
      XCTAssertEqual(new.version, stream.accepted)
      new.release()
      return .deliver
    case .keep(let evicted): return .keep(evicted: evict(evicted))
    case .keepAndSchedule(let evicted): return .keepAndSchedule(evicted: evict(evicted))
    case .closed:
      new.release()
      return .closed
    case .full:
      new.release()
      return .full
    case .wait:
      new.release()
      return .wait
    }
  }

  /// What is in the buffer, as "version:text".
  private func drain(_ stream: inout StreamState) -> [String] {
    var all: [String] = []
    while let entry = stream.buffer.popFirst() {
      all.append("\(entry.state.version):\(entry.state.text)")
      entry.state.release()
    }
    return all
  }

  // MARK: - Sending

  func testBeforeAReaderComesStatesAreKept() {
    var stream = make()
    for number in 1...3 { XCTAssertEqual(send(&stream, "\(number)"), .keep(evicted: nil)) }
    XCTAssertEqual(stream.accepted, 3)
    XCTAssertEqual(drain(&stream), ["1:1", "2:2", "3:3"])
  }

  func testASenderOfAnInlineReaderTakesTheRoleIfItIsFree() {
    var stream = make(reader: .onSenders)
    XCTAssertEqual(send(&stream, "a"), .deliver)
    XCTAssertEqual(send(&stream, "b", isFree: false), .keep(evicted: nil))
    XCTAssertEqual(send(&stream, "c"), .deliver)
    XCTAssertEqual(drain(&stream), ["2:b"])
  }

  func testASenderOfAReaderElsewhereMakesATurnDueIfNoneIs() {
    var stream = make(reader: .elsewhere)
    XCTAssertEqual(send(&stream, "a"), .keepAndSchedule(evicted: nil))
    XCTAssertEqual(send(&stream, "b", isFree: false), .keep(evicted: nil))
    XCTAssertEqual(send(&stream, "c"), .keepAndSchedule(evicted: nil))
    XCTAssertEqual(drain(&stream), ["1:a", "2:b", "3:c"])
  }

  /// The shortest way is the same decision.
  func testAtOnceIsForAnInlineReaderWithAFreeRoleOnly() {
    for reader in [StreamState.Reader.none, .onSenders, .elsewhere, .gone] {
      for (isFree, hasEnded) in [(false, false), (false, true), (true, false), (true, true)] {
        var stream = make(reader: reader)
        if hasEnded { _ = stream.end(isFree: false) }
        let new = state("a")
        let isAtOnce = stream.admitAtOnce(new, isFree: isFree)
        XCTAssertEqual(isAtOnce, reader == .onSenders && isFree && !hasEnded)
        XCTAssertEqual(stream.accepted, isAtOnce ? 1 : 0)
        XCTAssertEqual(new.version, stream.accepted)
        new.release()
      }
    }
  }

  func testAfterTheEndOrItsReadersNothingIsTaken() {
    for reader in [StreamState.Reader.none, .onSenders, .elsewhere, .gone] {
      var stream = make(reader: reader)
      if reader != .gone { _ = stream.end(isFree: true) }
      XCTAssertEqual(send(&stream, "a"), .closed, "\(reader)")
      XCTAssertEqual(stream.accepted, 0)
      XCTAssertTrue(stream.buffer.isEmpty)
    }
    var void = make(hasEnded: true)
    XCTAssertEqual(send(&void, "a"), .closed)
  }

  /// What a full buffer does, for each reader, while a delivery is under way.
  func testAFullBuffer() {
    for reader in [StreamState.Reader.none, .onSenders, .elsewhere] {
      for (buffering, isDrainer, expected) in [
        (SVK_BUFFER_NEWEST, false, Answer.keep(evicted: "1")), (SVK_BUFFER_NEWEST, true, .keep(evicted: "1")),
        (SVK_BUFFER_OLDEST, false, .full), (SVK_BUFFER_OLDEST, true, .full), (SVK_BUFFER_BLOCK, false, .wait),
        (SVK_BUFFER_BLOCK, true, .full), (SVK_BUFFER_UNBOUNDED, false, .keep(evicted: nil)),
      ] {
        var stream = make(.make(buffering, 2), reader: reader)
        let isFree = reader == .none
        XCTAssertEqual(send(&stream, "1", isFree: isFree), .keep(evicted: nil))
        XCTAssertEqual(send(&stream, "2", isFree: isFree), .keep(evicted: nil))
        XCTAssertEqual(send(&stream, "3", isFree: isFree, isDrainer: isDrainer), expected)
        // What is not taken gets no version; what makes room is lost, and counted.
        let (isKept, isLost) = (expected != .full && expected != .wait, expected == .keep(evicted: "1"))
        XCTAssertEqual(stream.accepted, isKept ? 3 : 2)
        XCTAssertEqual(stream.lost, isLost ? 1 : 0)
        let kept = isLost ? ["2:2", "3:3"] : isKept ? ["1:1", "2:2", "3:3"] : ["1:1", "2:2"]
        XCTAssertEqual(drain(&stream), kept)
      }
    }
  }

  func testAFullBufferOfAReaderWhoseTurnIsNotDueMakesItDue() {
    var stream = make(.make(SVK_BUFFER_NEWEST, 1))
    XCTAssertEqual(send(&stream, "1"), .keep(evicted: nil))
    guard case .attached(hasWork: true, runsStart: false) = stream.attach(.elsewhere) else { return XCTFail() }
    XCTAssertEqual(send(&stream, "2"), .keepAndSchedule(evicted: "1"))
    XCTAssertEqual(drain(&stream), ["2:2"])
  }

  // MARK: - The reader

  func testAStreamHasOneReaderInItsLife() {
    for reader in [StreamState.Reader.onSenders, .elsewhere, .gone] {
      var stream = make(reader: reader)
      guard case .hasReader = stream.attach(.onSenders) else { return XCTFail("\(reader)") }
      XCTAssertEqual(stream.reader, reader)
    }
  }

  func testADestroyedStreamTakesNoReader() {
    var stream = make()
    XCTAssertTrue(stream.destroy())
    guard case .destroyed = stream.attach(.onSenders) else { return XCTFail() }
    XCTAssertEqual(stream.reader, .none)
  }

  func testAReaderThatFindsWorkGetsTheRole() {
    for (sends, hasEnded) in [(false, false), (true, false), (false, true), (true, true)] {
      var stream = make()
      if sends { XCTAssertEqual(send(&stream, "a"), .keep(evicted: nil)) }
      if hasEnded { guard case .left = stream.end(isFree: true) else { return XCTFail() } }
      guard case .attached(let hasWork, runsStart: false) = stream.attach(.onSenders) else { return XCTFail() }
      XCTAssertEqual(hasWork, sends || hasEnded)
      _ = drain(&stream)
    }
  }

  func testDetachingGivesWhatWasNotTaken() {
    var stream = make(reader: .onSenders)
    for text in ["a", "b"] { XCTAssertEqual(send(&stream, text, isFree: false), .keep(evicted: nil)) }
    var rest = stream.detach()
    XCTAssertEqual(rest.count, 2)
    XCTAssertEqual(stream.reader, .gone)
    XCTAssertTrue(stream.buffer.isEmpty)
    rest.releaseAll()
  }

  // MARK: - The end

  func testWhoEndsAStreamDeliversItsEndUnlessSomebodyDoesAlready() {
    for reader in [StreamState.Reader.none, .onSenders, .elsewhere, .gone] {
      for isFree in [false, true] {
        var stream = make(reader: reader)
        let hasReader = reader == .onSenders || reader == .elsewhere
        switch stream.end(isFree: isFree) {
        case .deliver: XCTAssertTrue(hasReader && isFree)
        case .left: XCTAssertFalse(hasReader && isFree)
        case .already: XCTFail()
        }
        XCTAssertTrue(stream.hasEnded)
        guard case .already = stream.end(isFree: isFree) else { return XCTFail() }
      }
    }
  }

  func testWorkIsWhatIsKeptAndAnEndThatWasNotTold() {
    var stream = make()
    XCTAssertFalse(stream.hasWork(isFinished: false))
    XCTAssertEqual(send(&stream, "a"), .keep(evicted: nil))
    XCTAssertTrue(stream.hasWork(isFinished: false))
    _ = stream.end(isFree: true)
    XCTAssertTrue(stream.hasWork(isFinished: true))
    _ = drain(&stream)
    XCTAssertTrue(stream.hasWork(isFinished: false))
    XCTAssertFalse(stream.hasWork(isFinished: true))
  }

  func testStartRunsOnceAndItsDataOutlivesIt() {
    // Destroyed before, while and after it runs; and without one.
    var before = make(hasStart: true)
    XCTAssertTrue(before.destroy())
    XCTAssertEqual(before.start, .done)

    var during = make(hasStart: true)
    guard case .attached(hasWork: false, runsStart: true) = during.attach(.onSenders) else { return XCTFail() }
    XCTAssertFalse(during.destroy())
    XCTAssertTrue(during.startReturned())

    var after = make(hasStart: true)
    guard case .attached(hasWork: false, runsStart: true) = after.attach(.elsewhere) else { return XCTFail() }
    XCTAssertFalse(after.startReturned())
    XCTAssertTrue(after.destroy())

    var without = make()
    guard case .attached(hasWork: false, runsStart: false) = without.attach(.onSenders) else { return XCTFail() }
    XCTAssertTrue(without.destroy())
  }
}
