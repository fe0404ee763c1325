import XCTest

@testable import ServiceKitCore

final class ReadyQueueTests: XCTestCase {
  private var targets: [DeliveryTarget] = []

  override func setUp() {
    targets = (0..<5).map { _ in
      DeliveryTarget(
        Callbacks(onState: nil, onFinish: nil, userData: nil, userDataFree: nil), marks: 0, executor: nil)
    }
  }

  private func number(_ target: Unmanaged<DeliveryTarget>?) -> Int? {
    target.flatMap { target in targets.firstIndex { $0 === target.takeUnretainedValue() } }
  }

  private func fill(_ queue: inout ReadyQueue) {
    for target in targets { queue.append(Unmanaged.passUnretained(target)) }
  }

  private func drain(_ queue: inout ReadyQueue) -> [Int] {
    var all: [Int] = []
    while let next = number(queue.popFirst()) { all.append(next) }
    return all
  }

  func testTargetsComeInTheirOrder() {
    var queue = ReadyQueue()
    XCTAssertTrue(queue.isEmpty)
    XCTAssertNil(queue.popFirst())
    fill(&queue)
    XCTAssertEqual(queue.count, 5)
    XCTAssertTrue(targets.allSatisfy { $0.isReady })
    XCTAssertEqual(drain(&queue), [0, 1, 2, 3, 4])
    XCTAssertTrue(queue.isEmpty)
    XCTAssertTrue(targets.allSatisfy { !$0.isReady && $0.nextReady == nil && $0.previousReady == nil })
  }

  func testEachPairMayBeTakenOut() {
    for first in 0..<5 {
      for second in 0..<5 where second != first {
        var queue = ReadyQueue()
        fill(&queue)
        XCTAssertEqual(number(queue.remove(targets[first])), first)
        XCTAssertEqual(number(queue.remove(targets[second])), second)
        XCTAssertEqual(queue.count, 3)
        // And come back, at the end.
        queue.append(Unmanaged.passUnretained(targets[first]))
        XCTAssertEqual(drain(&queue), (0..<5).filter { $0 != first && $0 != second } + [first])
      }
    }
  }

  func testTheOnlyOneMayBeTakenOut() {
    var queue = ReadyQueue()
    queue.append(Unmanaged.passUnretained(targets[0]))
    XCTAssertEqual(number(queue.remove(targets[0])), 0)
    XCTAssertNil(queue.popFirst())
    queue.append(Unmanaged.passUnretained(targets[1]))
    XCTAssertEqual(drain(&queue), [1])
  }
}
