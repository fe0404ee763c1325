import XCTest

@testable import ServiceKitCore

final class ActivityTests: XCTestCase {
  private enum Step { case begin, end, close }

  /// Every short history, and at which of its steps the container is to be taken down.
  private let histories: [([Step], takenDownAt: Int?)] = [
    ([.close], 0),
    ([.close, .close, .close], 0),
    ([.begin, .end, .close], 2),
    ([.begin, .end, .begin, .end], nil),
    ([.begin, .close], nil),
    ([.begin, .close, .close], nil),
    ([.begin, .close, .end], 2),
    ([.begin, .begin, .close, .end], nil),
    ([.begin, .begin, .close, .end, .end], 4),
    ([.begin, .close, .begin, .end], nil),
    ([.begin, .close, .begin, .end, .end], 4),
    ([.close, .begin, .end], 0),
    ([.close, .begin, .begin, .end, .end, .close], 0),
    ([.begin, .close, .end, .begin, .end], 2),
    ([.begin, .close, .end, .close, .begin, .end], 2),
  ]

  func testWhoeverEndsTheLastOfItTakesTheContainerDownOnce() {
    for (steps, expected) in histories {
      let activity = Activity()
      var takenDown: [Int] = []
      var atWork = 0
      for (index, step) in steps.enumerated() {
        switch step {
        case .begin:
          activity.begin()
          atWork += 1
        case .end:
          atWork -= 1
          if activity.end() { takenDown.append(index) }
        case .close: if activity.close() { takenDown.append(index) }
        }
        XCTAssertEqual(activity.isGoingOn, atWork > 0, "\(steps), step \(index)")
      }
      XCTAssertEqual(takenDown, expected.map { [$0] } ?? [], "\(steps)")
    }
  }

  func testExactlyOneOfManyTakesTheContainerDown() {
    for _ in 0..<300 {
      let activity = ActivityBox()
      let claims = Tally()
      let barrier = Barrier(4)
      runThreads(4) { thread in
        barrier.wait()
        for _ in 0..<20 {
          activity.activity.begin()
          if activity.activity.end() { claims.add() }
        }
        if thread == 0, activity.activity.close() { claims.add() }
      }
      XCTAssertEqual(claims.value, 1)
      XCTAssertFalse(activity.activity.isGoingOn)
    }
  }

  private final class ActivityBox: @unchecked Sendable {
    let activity = Activity()
  }
}
