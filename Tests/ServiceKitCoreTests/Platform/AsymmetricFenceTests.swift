import Synchronization
import XCTest

@testable import ServiceKitCore

final class AsymmetricFenceTests: XCTestCase {
  private final class Mark: Sendable {
    private let atomic = Atomic<Int>(0)
    var value: Int { atomic.load(ordering: .relaxed) }
    func set(_ value: Int) { atomic.store(value, ordering: .relaxed) }
  }

  /// Lets two threads go on at the same moment, as nearly as spinning can.
  private final class Start: Sendable {
    private let arrived = Atomic<Int>(0)

    func meet(_ round: Int) {
      arrived.wrappingAdd(1, ordering: .acquiringAndReleasing)
      var turns = 0
      while arrived.load(ordering: .acquiring) < 2 * round {
        turns += 1
        if turns % 1_000 == 0 { yieldProcessor() }
      }
    }
  }

  /// Each side writes its mark and then looks at the other's: they cannot both miss it.
  func testOneSideSeesTheOther() {
    AsymmetricFence.prepare()
    let (light, heavy, start) = (Mark(), Mark(), Start())
    let seen = Shared<[[Bool]]>([[], []])
    let isOver = Mark()
    runThreads(2) { thread in
      var sees: [Bool] = []
      var iterator = rounds(20_000).makeIterator()
      for round in 1... {
        // One of them decides that it was the last round, before both meet.
        if thread == 0, iterator.next() == nil { isOver.set(1) }
        start.meet(2 * round - 1)
        if isOver.value == 1 { break }
        // Sweeps over the moments at which the two meet.
        for _ in 0..<(thread == 0 ? round % 32 : round / 32 % 32) { _ = isOver.value }
        if thread == 0 {
          light.set(round)
          AsymmetricFence.light()
          sees.append(heavy.value >= round)
        } else {
          heavy.set(round)
          AsymmetricFence.heavy()
          sees.append(light.value >= round)
        }
        start.meet(2 * round)
      }
      seen.change { $0[thread] = sees }
    }
    let (left, right) = (seen.value[0], seen.value[1])
    XCTAssertEqual(left.count, right.count)
    XCTAssertEqual(zip(left, right).filter { !$0 && !$1 }.count, 0)
  }
}
