import Synchronization
import XCTest

@testable import ServiceKitCore

final class AsymmetricFenceTests: XCTestCase {
  private final class Mark: Sendable {
    let round = Atomic<Int>(0)
  }

  /// Each side writes its mark and then looks at the other's: they cannot both miss it.
  func testOneSideSeesTheOther() {
    AsymmetricFence.prepare()
    let rounds = 4_000
    let (light, heavy, start, done) = (Mark(), Mark(), Mark(), Mark())
    let (lightMissed, heavyMissed) = (Mark(), Mark())
    let bothMissed = Tally()
    runThreads(2) { thread in
      for round in 1...rounds {
        // Spinning, so that both are on their way at once.
        if thread == 0 {
          while done.round.load(ordering: .acquiring) < round - 1 { yieldProcessor() }
          start.round.store(round, ordering: .releasing)
          light.round.store(round, ordering: .relaxed)
          AsymmetricFence.light()
          if heavy.round.load(ordering: .relaxed) < round { lightMissed.round.store(round, ordering: .relaxed) }
          while done.round.load(ordering: .acquiring) < round { yieldProcessor() }
          if lightMissed.round.load(ordering: .relaxed) == round, heavyMissed.round.load(ordering: .relaxed) == round {
            bothMissed.add()
          }
        } else {
          while start.round.load(ordering: .acquiring) < round { yieldProcessor() }
          heavy.round.store(round, ordering: .relaxed)
          AsymmetricFence.heavy()
          if light.round.load(ordering: .relaxed) < round { heavyMissed.round.store(round, ordering: .relaxed) }
          done.round.store(round, ordering: .releasing)
        }
      }
    }
    XCTAssertEqual(bothMissed.value, 0)
  }
}
