import CServiceKit
import Synchronization
import XCTest

@testable import ServiceKitCore

final class LeaseTableTests: XCTestCase {
  private let bench = Bench()
  private lazy var instance = bench.instance()

  private func take(marks: UInt = 0) -> Token { LeaseTable.take(instance, marks: marks, on: ThreadRecord.current) }

  /// The slots that hold a lease on the instance.
  private func held() -> [UnsafeMutablePointer<LeaseSlot>] {
    var slots: [UnsafeMutablePointer<LeaseSlot>] = []
    let instance = instance
    LeaseTable.forEachHeld { slot, _ in
      if slot.pointee.instance.load(ordering: .relaxed) == instance { slots.append(slot) }
    }
    return slots
  }

  func testALeaseGivesTheValueUntilItIsReleased() {
    let lease = take()
    XCTAssertTrue(lease.isKind(.handle))
    XCTAssertEqual(LeaseTable.value(lease), instance.pointee.value)
    XCTAssertEqual(LeaseTable.instance(lease), instance)
    XCTAssertEqual(held().count, 1)
    XCTAssertTrue(LeaseTable.release(lease))
    XCTAssertNil(LeaseTable.value(lease))
    XCTAssertEqual(held().count, 0)
    for _ in 0..<3 { XCTAssertFalse(LeaseTable.release(lease)) }
  }

  func testAForgedHandleIsNone() {
    let lease = take()
    let one = UInt(1) << UInt(Token.indexBits)
    for word in [
      0, UInt.max, lease.word &+ one, lease.word &- one, lease.word ^ 1, lease.word | Token.indexMask,
      lease.with(kind: 2).word, lease.with(kind: 0).word, lease.with(kind: 15).word,
    ] {
      XCTAssertNil(LeaseTable.value(Token(word: word)), "\(word)")
      XCTAssertFalse(LeaseTable.release(Token(word: word)), "\(word)")
    }
    XCTAssertTrue(LeaseTable.release(lease))
  }

  /// What an instance required is not the program's to release.
  func testADependencyIsNoHandle() {
    let lease = take(marks: LeaseSlot.Mark.dependency)
    XCTAssertFalse(lease.isKind(.handle))
    XCTAssertNil(LeaseTable.value(lease))
    XCTAssertFalse(LeaseTable.release(lease))
    let asHandle = lease.with(kind: UInt(Token.Kind.handle.rawValue))
    XCTAssertFalse(LeaseTable.release(asHandle))
    XCTAssertNil(LeaseTable.value(asHandle))
    XCTAssertEqual(held().count, 1)
    Teardown.release(lease)
    XCTAssertEqual(held().count, 0)
  }

  /// No storage grows with the number of resolves.
  func testASlotIsUsedAgain() {
    var (places, words) = (Set<Int>(), Set<UInt>())
    for _ in 0..<10_000 {
      let lease = take()
      places.insert(lease.index)
      XCTAssertTrue(words.insert(lease.word).inserted)
      XCTAssertTrue(LeaseTable.release(lease))
    }
    XCTAssertEqual(places.count, 1)
  }

  func testSlotsReleasedElsewhereComeBackToTheirThread() {
    // All that this thread has at first is used up in the beginning; from then on nothing new comes.
    var (places, placesAtFirst) = (Set<Int>(), 0)
    for round in 0..<200 {
      let leases = (0..<200).map { _ in take() }
      for lease in leases { places.insert(lease.index) }
      runThreads(1) { _ in
        for lease in leases where !LeaseTable.release(lease) { XCTFail("it had ended") }
      }
      if round == 100 { placesAtFirst = places.count }
    }
    XCTAssertEqual(places.count, placesAtFirst)
    XCTAssertEqual(held().count, 0)
  }

  func testAThreadMayEndWhileItHoldsLeases() {
    let leases = Shared<[Token]>([])
    let places = Shared<Set<Int>>([])
    let instance = instance
    for _ in 0..<50 {
      runThreads(4) { _ in
        for _ in 0..<20 {
          let lease = LeaseTable.take(instance, marks: 0, on: ThreadRecord.current)
          places.change { _ = $0.insert(lease.index) }
          leases.change { $0.append(lease) }
        }
      }
      for lease in leases.value {
        XCTAssertEqual(LeaseTable.value(lease), instance.pointee.value)
        XCTAssertTrue(LeaseTable.release(lease))
      }
      leases.change { $0 = [] }
    }
    XCTAssertEqual(held().count, 0)
    XCTAssertLessThan(places.value.count, 2_000, "the next threads take over the slots of those that ended")
  }

  func testASlotWhoseGenerationsAreUsedUpIsNotUsedAgain() throws {
    let lease = take()
    let slot = try XCTUnwrap(held().first)
    let last = Token(kind: .handle, generation: Token.lastGeneration, index: UInt(lease.index))
    slot.pointee.state.store(last.word & ~Token.indexMask, ordering: .sequentiallyConsistent)
    XCTAssertNil(LeaseTable.value(lease))
    XCTAssertEqual(LeaseTable.value(last), instance.pointee.value)
    XCTAssertTrue(LeaseTable.release(last))
    XCTAssertFalse(LeaseTable.release(last))
    let others = (0..<1_000).map { _ in take() }
    XCTAssertFalse(others.contains { $0.index == lease.index })
    for other in others { XCTAssertTrue(LeaseTable.release(other)) }
    // Every token that the slot ever had stays invalid.
    for generation in [0, 1, Token.lastGeneration] {
      XCTAssertNil(LeaseTable.value(Token(kind: .handle, generation: generation, index: UInt(lease.index))))
    }
  }

  func testOneOfManyReleases() {
    let rounds = 500
    let leases = (0..<rounds).map { _ in take() }
    let won = Tally()
    storm(4, rounds: rounds) { _, round in
      if LeaseTable.release(leases[round]) { won.add() }
    }
    XCTAssertEqual(won.value, rounds)
    XCTAssertEqual(held().count, 0)
  }

  /// A handle asked for its value while another thread releases it and takes the slot again: its own value or none.
  func testAHandleNeverGivesAnothersValue() {
    let (mine, other) = (bench.instance(), bench.instance())
    let current = Atomic<UInt>(0)
    let wrong = Tally()
    let barrier = Barrier(3)
    runThreads(3) { thread in
      barrier.wait()
      guard thread == 0 else {
        while true {
          let word = current.load(ordering: .acquiring)
          if word == 1 { return }
          if let value = LeaseTable.value(Token(word: word)), value != mine.pointee.value { wrong.add() }
        }
      }
      for _ in rounds(20_000) {
        let lease = LeaseTable.take(mine, marks: 0, on: ThreadRecord.current)
        current.store(lease.word, ordering: .releasing)
        _ = LeaseTable.release(lease)
        _ = LeaseTable.release(LeaseTable.take(other, marks: 0, on: ThreadRecord.current))
      }
      current.store(1, ordering: .releasing)
    }
    XCTAssertEqual(wrong.value, 0)
  }

  func testHandlesAreCountedByKey() {
    let other = bench.instance(key: "other")
    let leases = [
      take(), take(), take(marks: LeaseSlot.Mark.dependency),
      LeaseTable.take(other, marks: LeaseSlot.Mark.dependency, on: ThreadRecord.current),
    ]
    var counts = HeldHandles.count(of: bench.container)
    XCTAssertEqual(counts[bench.cell()]?.handles, 2)
    XCTAssertEqual(counts[bench.cell()]?.dependencies, 1)
    XCTAssertEqual(counts[bench.cell("other")]?.handles, 0)
    XCTAssertEqual(counts[bench.cell("other")]?.dependencies, 1)
    counts = HeldHandles.count(of: bench.container, among: [other])
    XCTAssertNil(counts[bench.cell()])
    XCTAssertNotNil(counts[bench.cell("other")])
    for lease in leases where !LeaseTable.release(lease) { Teardown.release(lease) }
    XCTAssertTrue(HeldHandles.count(of: bench.container).keys.isEmpty)
  }
}
