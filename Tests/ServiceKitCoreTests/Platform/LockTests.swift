import XCTest

@testable import ServiceKitCore

final class LockTests: XCTestCase {
  /// What a lock guards, without any other protection.
  private final class Guarded: @unchecked Sendable {
    let lock = Lock()
    let condition = Condition()
    var count = 0
    var isOpen = false
  }

  func testOneThreadAtATimeIsInside() {
    let guarded = Guarded()
    runThreads(4) { _ in
      for _ in 0..<5_000 { guarded.lock.withLock { guarded.count += 1 } }
    }
    XCTAssertEqual(guarded.count, 20_000)
  }

  func testAFailureLeavesTheLock() {
    let guarded = Guarded()
    XCTAssertThrowsError(try guarded.lock.withLock { throw CancellationError() })
    guarded.lock.withLock { guarded.count = 1 }
    XCTAssertEqual(guarded.count, 1)
  }

  func testASignalWakesEveryoneWhoWaits() {
    let guarded = Guarded()
    runThreads(4) { thread in
      guarded.lock.lock()
      if thread == 0 {
        while guarded.count < 3 { guarded.condition.wait(guarded.lock) }
        guarded.isOpen = true
      } else {
        guarded.count += 1
      }
      guarded.condition.signalAll()
      while !guarded.isOpen { guarded.condition.wait(guarded.lock) }
      guarded.lock.unlock()
    }
    XCTAssertTrue(guarded.isOpen)
  }

  func testAWaitThatIsLateAlreadyDoesNotWait() {
    let guarded = Guarded()
    guarded.lock.lock()
    XCTAssertFalse(guarded.condition.wait(guarded.lock, until: .at(0)))
    XCTAssertFalse(guarded.condition.wait(guarded.lock, until: Deadline(timeout: 0)))
    guarded.lock.unlock()
  }

  func testAWaitEndsNotBeforeItsDeadline() {
    let guarded = Guarded()
    let end = Clock.now() + 2_000_000
    guarded.lock.lock()
    while guarded.condition.wait(guarded.lock, until: .at(end)) {}
    guarded.lock.unlock()
    XCTAssertGreaterThanOrEqual(Clock.now(), end)
  }
}
