import Synchronization
import XCTest

@testable import ServiceKitCore

final class CallbackGateTests: XCTestCase {
  /// A gate with what its callbacks would touch.
  private final class Gated: @unchecked Sendable {
    let frees = Tally()
    let gate: CallbackGate

    init(marks: UInt32 = 0, frees: Tally? = nil) {
      let told = frees ?? self.frees
      gate = CallbackGate(
        Callbacks(
          onState: nil, onFinish: nil, userData: Unmanaged.passRetained(told).toOpaque(),
          userDataFree: { Unmanaged<Tally>.fromOpaque($0!).takeRetainedValue().add() }), marks: marks)
    }
  }

  private let thread = ThreadRecord.current
  private typealias Mark = CallbackGate.Mark

  func testAnOpenGateLetsCallsIn() {
    let gated = Gated()
    for _ in 0..<3 {
      XCTAssertTrue(gated.gate.enter(thread))
      XCTAssertFalse(gated.gate.isOccupied(byOtherThan: thread))
      XCTAssertFalse(gated.gate.leave())
    }
    gated.gate.mark(Mark.closed)
    XCTAssertTrue(gated.gate.beginEnd())
    gated.gate.freeUserData()
  }

  func testAClosedGateLetsNoCallIn() {
    let gated = Gated()
    gated.gate.mark(Mark.closed)
    XCTAssertFalse(gated.gate.enter(thread))
    XCTAssertTrue(gated.gate.leave())
    XCTAssertTrue(gated.gate.beginEnd())
    gated.gate.freeUserData()
    XCTAssertEqual(gated.frees.value, 1)
  }

  func testMarksComeAndGoOneByOne() {
    let gated = Gated(marks: Mark.catchingUp)
    XCTAssertEqual(gated.gate.allMarks, Mark.catchingUp)
    XCTAssertTrue(gated.gate.isMarked(Mark.catchingUp))
    XCTAssertFalse(gated.gate.isMarked(Mark.lost))
    gated.gate.mark(Mark.lost)
    gated.gate.unmark(Mark.catchingUp)
    XCTAssertTrue(gated.gate.isMarked(Mark.lost))
    XCTAssertFalse(gated.gate.isMarked(Mark.catchingUp))
    // Neither of them closes it.
    XCTAssertTrue(gated.gate.enter(thread))
    XCTAssertFalse(gated.gate.leave())
    gated.gate.unmark(Mark.lost)
    XCTAssertEqual(gated.gate.allMarks, 0)
    gated.gate.mark(Mark.closed)
    gated.gate.unmark(Mark.lost)
    XCTAssertTrue(gated.gate.isMarked(Mark.closed))
    XCTAssertTrue(gated.gate.beginEnd())
    gated.gate.freeUserData()
  }

  func testTheLastOneOutEndsAClosedGateOnce() {
    let gated = Gated()
    XCTAssertTrue(gated.gate.enter(thread))
    gated.gate.mark(Mark.closed)
    XCTAssertFalse(gated.gate.beginEnd(), "a call is running")
    XCTAssertFalse(gated.gate.hasEnded)
    XCTAssertTrue(gated.gate.leave())
    XCTAssertTrue(gated.gate.beginEnd())
    XCTAssertFalse(gated.gate.beginEnd())
    gated.gate.freeUserData()
    XCTAssertFalse(gated.gate.hasEnded)
    XCTAssertFalse(gated.gate.finishEnd(), "nobody waits")
    XCTAssertTrue(gated.gate.hasEnded)
    gated.gate.waitForEnd()
    XCTAssertEqual(gated.frees.value, 1)
  }

  func testAnotherThreadsCallOccupiesIt() {
    let gated = Gated()
    let (inside, seen) = (Event(), Event())
    let other = TestThread {
      _ = gated.gate.enter(ThreadRecord.current)
      inside.signal()
      seen.wait()
      _ = gated.gate.leave()
    }
    inside.wait()
    XCTAssertTrue(gated.gate.isOccupied(byOtherThan: thread))
    seen.signal()
    other.join()
    XCTAssertFalse(gated.gate.isOccupied(byOtherThan: thread))
    gated.gate.mark(Mark.closed)
    XCTAssertTrue(gated.gate.beginEnd())
    gated.gate.freeUserData()
  }

  /// One thread calls, one closes as a cancellation does: no call begins after it, and the data is freed once, then.
  func testAfterClosingNoCallRuns() {
    AsymmetricFence.prepare()
    let (late, calls, wrongFrees) = (Tally(), Tally(), Tally())
    for round in rounds(1_500) {
      let gated = Gated()
      let isQuiet = Atomic<Bool>(false)
      let start = Barrier(2)
      func endIfQuiet() -> Bool {
        guard gated.gate.beginEnd() else { return false }
        gated.gate.freeUserData()
        _ = gated.gate.finishEnd()
        return true
      }
      runThreads(2) { number in
        start.wait()
        if number == 0 {
          for _ in 0..<50 {
            if gated.gate.enter(ThreadRecord.current) {
              calls.add()
              if isQuiet.load(ordering: .sequentiallyConsistent) || gated.frees.value > 0 { late.add() }
            }
            if gated.gate.leave() { _ = endIfQuiet() }
          }
        } else {
          for _ in 0..<(round % 40) { yieldProcessor() }
          gated.gate.mark(Mark.closed)
          AsymmetricFence.heavy()
          if !endIfQuiet() { gated.gate.waitForEnd() }
          isQuiet.store(true, ordering: .sequentiallyConsistent)
          if gated.frees.value != 1 { wrongFrees.add() }
        }
      }
      if gated.frees.value != 1 { wrongFrees.add() }
    }
    XCTAssertEqual(late.value, 0)
    XCTAssertEqual(wrongFrees.value, 0)
    XCTAssertGreaterThan(calls.value, 0)
  }

  func testAnAbandonedGateHasEndedAndFreesNothing() {
    let gated = Gated()
    XCTAssertTrue(gated.gate.abandon())
    XCTAssertTrue(gated.gate.hasEnded)
    XCTAssertFalse(gated.gate.beginEnd())
    XCTAssertFalse(gated.gate.abandon())
    gated.gate.waitForEnd()
    XCTAssertEqual(gated.frees.value, 0)

    let ended = Gated()
    ended.gate.mark(Mark.closed)
    XCTAssertTrue(ended.gate.beginEnd())
    XCTAssertFalse(ended.gate.abandon())
    ended.gate.freeUserData()
  }

  func testOnlyAGateOfADirectCallIsLeftByItsCaller() {
    for (marks, expected) in [
      (0, false), (Mark.closed, true), (Mark.indirect, false), (Mark.closed | Mark.indirect, false),
      (Mark.closed | Mark.lost | Mark.catchingUp, true),
    ] as [(UInt32, Bool)] {
      let gated = Gated(marks: marks)
      XCTAssertEqual(gated.gate.isClosedAndDirect, expected)
      gated.gate.mark(Mark.closed)
      XCTAssertTrue(gated.gate.beginEnd())
      gated.gate.freeUserData()
    }
  }
}
