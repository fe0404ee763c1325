import CServiceKit
import Synchronization
import XCTest

@testable import ServiceKitCore

final class StateBlockTests: XCTestCase {
  private static let frees = Atomic<Int>(0)
  private static let lastFreed = Atomic<UInt>(0)
  private let free: svk_free_fn = { pointer in
    StateBlockTests.lastFreed.store(UInt(bitPattern: pointer), ordering: .relaxed)
    _ = StateBlockTests.frees.wrappingAdd(1, ordering: .relaxed)
  }

  private var frees: Int { StateBlockTests.frees.load(ordering: .relaxed) }

  override func setUp() {
    StateBlockTests.frees.store(0, ordering: .relaxed)
  }

  /// Around every size at which another kind of block begins.
  private var sizes: [Int] {
    let header = StateBlock.headerSize
    let edges = [0, 1, 15, 16, 17, 128 - header, 256 - header, 512 - header, 1_024 - header, 4_096, 100_000]
    return edges.flatMap { [$0 - 1, $0, $0 + 1] }.filter { $0 >= 0 }
  }

  func testACopyHasItsBytesAlignedTo16() {
    var states: [State] = []
    for size in sizes {
      let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) }
      let state = bytes.withUnsafeBytes { State.copy($0.baseAddress, size, on: ThreadRecord.current) }
      XCTAssertEqual(UInt(bitPattern: state.data) & 15, 0)
      XCTAssertEqual(state.size, size)
      XCTAssertEqual(state.version, 0)
      XCTAssertEqual(state.holds, 1)
      states.append(state)
    }
    // None overlaps another.
    for (state, size) in zip(states, sizes) {
      XCTAssertEqual(
        ByteView(start: state.data, count: state.size).bytes,
        (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) })
      state.release()
    }
  }

  func testABlockIsUsedAgain() {
    for size in sizes where size < 1_024 - StateBlock.headerSize {
      var blocks = Set<UnsafeMutablePointer<StateBlock>>()
      for _ in 0..<100 {
        let state = State.copy(nil, size, on: ThreadRecord.current)
        blocks.insert(state.block)
        XCTAssertNil(state.block.pointee.freeData)
        XCTAssertEqual(state.holds, 1)
        state.release()
      }
      XCTAssertEqual(blocks.count, 1, "\(size)")
    }
  }

  func testABlockTakenOverIsFreedOnceAfterItsLastHold() {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16)
    defer { memory.deallocate() }
    let state = State.own(memory, 64, free, on: ThreadRecord.current)
    XCTAssertEqual(state.data, memory)
    XCTAssertEqual(state.size, 64)
    state.retain()
    state.release()
    XCTAssertEqual(frees, 0)
    state.release()
    XCTAssertEqual(frees, 1)
    XCTAssertEqual(StateBlockTests.lastFreed.load(ordering: .relaxed), UInt(bitPattern: memory))
    // The header is used again, and does not free what it freed.
    let other = State.copy(nil, 0, on: ThreadRecord.current)
    other.release()
    XCTAssertEqual(frees, 1)
  }

  func testABlockThatIsNotAlignedIsCopiedAndFreedAtOnce() {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 7, count: 64)
    let state = State.own(memory + 8, 10, free, on: ThreadRecord.current)
    XCTAssertEqual(frees, 1)
    XCTAssertEqual(StateBlockTests.lastFreed.load(ordering: .relaxed), UInt(bitPattern: memory + 8))
    XCTAssertEqual(UInt(bitPattern: state.data) & 15, 0)
    XCTAssertEqual(ByteView(start: state.data, count: state.size).bytes, [UInt8](repeating: 7, count: 10))
    state.release()
    XCTAssertEqual(frees, 1)
  }

  func testNothingMayBeTakenOverToo() {
    let state = State.own(nil, 0, free, on: ThreadRecord.current)
    XCTAssertEqual(state.size, 0)
    state.release()
    XCTAssertEqual(frees, 1)
    State.own(nil, 0, nil, on: ThreadRecord.current).release()
    XCTAssertEqual(frees, 1)
  }

  func testSameBytesAreTheSame() {
    let (a, b, c, d, empty) = (state("abc"), state("abc"), state("abd"), state("abcd"), state(""))
    XCTAssertTrue(a.hasSameBytes(as: b))
    XCTAssertFalse(a.hasSameBytes(as: c))
    XCTAssertFalse(a.hasSameBytes(as: d))
    XCTAssertFalse(a.hasSameBytes(as: empty))
    XCTAssertTrue(empty.hasSameBytes(as: empty))
    for state in [a, b, c, d, empty] { state.release() }
  }

  func testAViewSaysWhatTheStateIs() {
    let state = state("abc")
    state.block.pointee.version = 9
    let view = state.view(dropped: 4)
    XCTAssertEqual(view.version, 9)
    XCTAssertEqual(view.dropped, 4)
    XCTAssertEqual(view.size, 3)
    XCTAssertEqual(view.text, "abc")
    state.release()
  }

  /// One thread sends, others let go: the memory comes back, and no block is in two hands.
  func testBlocksComeBackFromOtherThreads() {
    let (threads, perRound) = (3, 60)
    let blocks = Shared<Set<UnsafeMutablePointer<StateBlock>>>([])
    let wrong = Tally()
    let current = Shared<[State]>([])
    storm(threads, rounds: 300) { thread, round in
      if thread == 0 {
        let states = (0..<perRound).map { state("\(round).\($0)") }
        blocks.change { all in for state in states { all.insert(state.block) } }
        if Set(states.map { $0.block }).count != perRound { wrong.add() }
        current.change { $0.append(contentsOf: states) }
      } else {
        let mine = current.change { all in
          let mine = all
          all = []
          return mine
        }
        for state in mine where state.size == 0 { wrong.add() }
        for state in mine { state.release() }
      }
    }
    for state in current.value { state.release() }
    XCTAssertEqual(wrong.value, 0)
    XCTAssertLessThan(blocks.value.count, 300 * perRound / 2, "no block came back")
  }

  func testTheLastOfManyHoldsFreesOnce() {
    for _ in 0..<300 {
      let memory = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16)
      defer { memory.deallocate() }
      StateBlockTests.frees.store(0, ordering: .relaxed)
      let state = State.own(memory, 16, free, on: ThreadRecord.current)
      for _ in 0..<3 { state.retain() }
      let barrier = Barrier(4)
      runThreads(4) { _ in
        barrier.wait()
        state.release()
      }
      XCTAssertEqual(frees, 1)
    }
  }
}
