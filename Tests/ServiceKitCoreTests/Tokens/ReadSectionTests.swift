import Synchronization
import XCTest

@testable import ServiceKitCore

final class ReadSectionTests: XCTestCase {
  func testASectionIsOpenFromEnteringToLeaving() {
    let thread = ThreadRecord.current
    let before = thread.pointee.section.load(ordering: .relaxed)
    XCTAssertEqual(before & 1, 0)
    ReadSection.enter(thread)
    XCTAssertEqual(thread.pointee.section.load(ordering: .relaxed) & 1, 1)
    ReadSection.leave(thread)
    XCTAssertEqual(thread.pointee.section.load(ordering: .relaxed), before &+ 2)
  }

  func testWithoutAnOpenSectionThereIsNothingToWaitFor() {
    for _ in 0..<1_000 { ReadSection.waitForOthers() }
  }

  func testTheWaitEndsNotBeforeTheSection() {
    let (entered, waiting) = (Event(), Event())
    let left = Atomic<Bool>(false)
    let tooEarly = Tally()
    runThreads(2) { thread in
      if thread == 0 {
        ReadSection.enter(ThreadRecord.current)
        entered.signal()
        waiting.wait()
        for _ in 0..<1_000 { yieldProcessor() }
        left.store(true, ordering: .sequentiallyConsistent)
        ReadSection.leave(ThreadRecord.current)
      } else {
        entered.wait()
        waiting.signal()
        ReadSection.waitForOthers()
        if !left.load(ordering: .sequentiallyConsistent) { tooEarly.add() }
      }
    }
    XCTAssertEqual(tooEarly.value, 0)
  }

  /// Sections that begin after the call are not waited for: a reader that never rests holds up nobody.
  func testTheWaitEndsThoughSectionsFollowEachOther() {
    let isOver = Atomic<Bool>(false)
    let barrier = Barrier(3)
    runThreads(3) { thread in
      barrier.wait()
      if thread == 0 {
        for _ in rounds(500) { ReadSection.waitForOthers() }
        isOver.store(true, ordering: .releasing)
      } else {
        let record = ThreadRecord.current
        while !isOver.load(ordering: .acquiring) {
          ReadSection.enter(record)
          ReadSection.leave(record)
        }
      }
    }
  }

  /// What was unlinked before the wait is met by nobody after it.
  func testWhatWasUnlinkedIsNotMetAfterTheWait() {
    final class Node: Sendable {
      let isAlive = Atomic<Bool>(true)
    }
    let barrier = Barrier(4)
    let current = Atomic<Unmanaged<Node>?>(Unmanaged.passRetained(Node()))
    let isOver = Atomic<Bool>(false)
    let dead = Tally()
    runThreads(4) { thread in
      barrier.wait()
      guard thread == 0 else {
        let record = ThreadRecord.current
        var visits = 0
        while !isOver.load(ordering: .acquiring) {
          ReadSection.enter(record)
          let node = current.load(ordering: .sequentiallyConsistent)!
          // Now and then it stays in the section for longer than the engine ever would.
          visits += 1
          if visits % 16 == 0 { yieldProcessor() }
          if !node._withUnsafeGuaranteedRef({ $0.isAlive.load(ordering: .sequentiallyConsistent) }) { dead.add() }
          ReadSection.leave(record)
        }
        return
      }
      for _ in rounds(3_000) {
        let old = current.exchange(Unmanaged.passRetained(Node()), ordering: .sequentiallyConsistent)!
        ReadSection.waitForOthers()
        old._withUnsafeGuaranteedRef { $0.isAlive.store(false, ordering: .sequentiallyConsistent) }
        old.release()
      }
      isOver.store(true, ordering: .releasing)
    }
    current.load(ordering: .acquiring)!.release()
    XCTAssertEqual(dead.value, 0)
  }
}
