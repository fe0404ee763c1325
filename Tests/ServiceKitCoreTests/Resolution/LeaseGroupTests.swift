import Synchronization
import XCTest

@testable import ServiceKitCore

/// A look through all leases skips what holds none, and misses nothing that is held.
final class LeaseGroupTests: XCTestCase {
  private let bench = Bench()
  private lazy var instance = bench.instance()

  private func take() -> Token { LeaseTable.take(instance, marks: 0, on: ThreadRecord.current) }

  /// How often each place is met in one look.
  private func look() -> [Int: Int] {
    var found: [Int: Int] = [:]
    let instance = instance
    LeaseTable.forEachHeld { slot, _ in
      guard slot.pointee.instance.load(ordering: .relaxed) == instance else { return }
      found[Int(slot.pointee.index), default: 0] += 1
    }
    return found
  }

  private func check(_ leases: [Token], file: StaticString = #filePath, line: UInt = #line) {
    // Twice: a look must leave things so that the next one finds the same.
    for _ in 0..<2 {
      let found = look()
      XCTAssertEqual(Set(found.keys), Set(leases.map { $0.index }), file: file, line: line)
      XCTAssertTrue(found.values.allSatisfy { $0 == 1 }, file: file, line: line)
    }
  }

  /// More than fit into a group of runs.
  func testManyLeasesOfOneThread() {
    let leases = (0..<10_000).map { _ in take() }
    check(leases)
    let (released, kept) = (
      leases.enumerated().filter { $0.offset % 3 != 0 }, leases.enumerated().filter { $0.offset % 3 == 0 }
    )
    for (_, lease) in released { XCTAssertTrue(LeaseTable.release(lease)) }
    check(kept.map { $0.element })
    for (_, lease) in kept { XCTAssertTrue(LeaseTable.release(lease)) }
    check([])
  }

  func testALeaseIsFoundAfterManyLooksThatFoundNone() {
    for _ in 0..<100 {
      check([])
      let lease = take()
      check([lease])
      XCTAssertTrue(LeaseTable.release(lease))
    }
  }

  func testLeasesOfThreadsThatEnded() {
    let leases = Shared<[Token]>([])
    let instance = instance
    runThreads(4) { _ in
      for _ in 0..<100 {
        let lease = LeaseTable.take(instance, marks: 0, on: ThreadRecord.current)
        leases.change { $0.append(lease) }
      }
    }
    check(leases.value)
    for lease in leases.value { XCTAssertTrue(LeaseTable.release(lease)) }
    check([])
  }

  /// What was held before a look began, and is held after it, is found by it, whatever others take and release.
  func testWhatIsHeldIsFoundWhileOthersComeAndGo() {
    let instance = instance
    let isOver = Atomic<Bool>(false)
    let missed = Tally()
    let held = Shared<[Token]>([])
    let barrier = Barrier(3)
    runThreads(3) { thread in
      let record = ThreadRecord.current
      if thread > 0 {
        let lease = LeaseTable.take(instance, marks: 0, on: record)
        held.change { $0.append(lease) }
        barrier.wait()
        while !isOver.load(ordering: .acquiring) {
          let leases = (0..<100).map { _ in LeaseTable.take(instance, marks: 0, on: record) }
          for lease in leases { _ = LeaseTable.release(lease) }
        }
        return
      }
      barrier.wait()
      let expected = Set(held.value.map { $0.index })
      for _ in rounds(500) where !expected.isSubset(of: self.look().keys) { missed.add() }
      isOver.store(true, ordering: .releasing)
    }
    XCTAssertEqual(missed.value, 0)
    for lease in held.value { XCTAssertTrue(LeaseTable.release(lease)) }
    check([])
  }
}
