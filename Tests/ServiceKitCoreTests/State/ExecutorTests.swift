import XCTest

@testable import ServiceKitCore

final class ExecutorTests: XCTestCase {
  /// Counts what it is told.
  private final class Counting: Executor {
    var (arrived, withdrawn) = (0, 0)
    override func workArrived() { arrived += 1 }
    override func workWithdrawn() { withdrawn += 1 }
  }

  /// Takes turns that a test has written down.
  private final class Target: DeliveryTarget {
    var turns: [Turn] = []
    var onTurn: (() -> Void)?
    var taken = 0
    let ended = Tally()

    deinit { ended.add() }

    override func takeTurn(_ thread: UnsafeMutablePointer<ThreadRecord>, limit: Int) -> Turn {
      taken += 1
      onTurn?()
      return turns.isEmpty ? Turn() : turns.removeFirst()
    }
  }

  private let executor = Counting()
  private let thread = ThreadRecord.current

  private func target() throws -> Target {
    let target = Target(
      Callbacks(onState: nil, onFinish: nil, userData: nil, userDataFree: nil), marks: 0, executor: executor)
    try executor.join(target)
    return target
  }

  private func giveTurn() -> DeliveryTarget.Turn {
    executor.lock.lock()
    defer { executor.lock.unlock() }
    return executor.giveTurn(thread, limit: 1)
  }

  private var readyCount: Int { executor.lock.withLock { executor.ready.count } }

  func testATurnIsDueOnce() throws {
    let target = try target()
    executor.schedule(target)
    executor.schedule(target)
    XCTAssertEqual(readyCount, 1)
    XCTAssertEqual(executor.arrived, 1)
    _ = giveTurn()
    XCTAssertEqual(target.taken, 1)
    XCTAssertEqual(readyCount, 0)
    executor.schedule(target)
    XCTAssertEqual(executor.arrived, 2)
    executor.bar(target)
  }

  func testATurnThatHasMoreIsDueAgainBehindTheOthers() throws {
    let (first, second) = (try target(), try target())
    var more = DeliveryTarget.Turn()
    more.hasMore = true
    first.turns = [more]
    executor.schedule(first)
    executor.schedule(second)
    for _ in 0..<2 { _ = giveTurn() }
    XCTAssertEqual([first.taken, second.taken], [1, 1])
    XCTAssertEqual(readyCount, 1)
    _ = giveTurn()
    XCTAssertEqual(first.taken, 2)
    XCTAssertEqual(readyCount, 0)
    XCTAssertEqual(giveTurn().didWork, false)
  }

  func testABarredTargetTakesNoTurn() throws {
    let (barred, other) = (try target(), try target())
    executor.schedule(barred)
    executor.schedule(other)
    executor.bar(barred)
    XCTAssertEqual(readyCount, 1)
    XCTAssertEqual(executor.withdrawn, 0)
    executor.schedule(barred)
    XCTAssertEqual(readyCount, 1)
    executor.bar(other)
    XCTAssertEqual(executor.withdrawn, 1)
    XCTAssertEqual(readyCount, 0)
    executor.bar(other)
    XCTAssertEqual(executor.withdrawn, 1)
    XCTAssertEqual(barred.taken + other.taken, 0)
  }

  func testATargetBarredInItsOwnTurnIsNotDueAgain() throws {
    let target = try target()
    var more = DeliveryTarget.Turn()
    more.hasMore = true
    target.turns = [more]
    target.onTurn = { [unowned target, executor] in executor.bar(target) }
    executor.schedule(target)
    XCTAssertTrue(giveTurn().hasMore)
    XCTAssertEqual(readyCount, 0)
  }

  func testAQueuedTurnKeepsItsTarget() throws {
    var target: Target? = try target()
    let ended = target!.ended
    executor.schedule(target!)
    executor.leave(target!)
    target = nil
    XCTAssertEqual(ended.value, 0)
    _ = giveTurn()
    XCTAssertEqual(ended.value, 1)
  }

  func testMembersLeaveInAnyOrder() throws {
    let targets = try (0..<4).map { _ in try target() }
    for index in [1, 3, 0, 2] {
      executor.leave(targets[index])
      executor.leave(targets[index])
      XCTAssertFalse(executor.members.contains { $0 === targets[index] })
      for (position, member) in executor.members.enumerated() { XCTAssertEqual(member.memberIndex, position) }
    }
    XCTAssertTrue(executor.members.isEmpty)
  }

  func testAfterItsEndNobodyJoins() throws {
    executor.lock.withLock { executor.hasEnded = true }
    XCTAssertThrowsError(try target())
  }

  func testItKnowsItsRunner() {
    XCTAssertFalse(executor.isRun(by: thread))
    executor.lock.lock()
    executor.runner = UInt(bitPattern: thread)
    executor.lock.unlock()
    XCTAssertTrue(executor.isRun(by: thread))
    XCTAssertFalse(executor.isRun(by: thread + 1))
  }
}
