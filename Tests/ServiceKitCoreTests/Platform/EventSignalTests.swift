import CPlatform
import XCTest

@testable import ServiceKitCore

final class EventSignalTests: XCTestCase {
  private var signal: EventSignal!

  override func setUpWithError() throws { signal = try XCTUnwrap(EventSignal()) }

  override func tearDown() { signal = nil }

  private var isReadable: Bool { isDescriptorReadable(signal.descriptor) }

  func testItIsReadableFromSetToClear() {
    XCTAssertFalse(isReadable)
    signal.set()
    XCTAssertTrue(isReadable)
    signal.clear()
    XCTAssertFalse(isReadable)
    signal.set()
    XCTAssertTrue(isReadable)
  }

  func testClearingWhatIsNotSetDoesNothing() {
    signal.clear()
    XCTAssertFalse(isReadable)
    signal.set()
    signal.clear()
    signal.clear()
    XCTAssertFalse(isReadable)
  }

  #if os(Linux)
    func testSetsAreCoalesced() {
      for _ in 0..<100 { signal.set() }
      var writes: UInt64 = 0
      XCTAssertEqual(read(signal.descriptor, &writes, 8), 8)
      XCTAssertEqual(writes, 1)
    }

    func testSettingAgainWritesThoughItIsSet() {
      signal.set()
      signal.setAgain()
      signal.setAgain()
      var writes: UInt64 = 0
      XCTAssertEqual(read(signal.descriptor, &writes, 8), 8)
      XCTAssertEqual(writes, 3)
    }
  #endif

  func testSettingAgainSetsWhatWasClear() {
    signal.setAgain()
    XCTAssertTrue(isReadable)
    signal.clear()
    XCTAssertFalse(isReadable)
  }

  func testSettingLeavesTheSystemsErrorAlone() {
    SystemError.current = 42
    signal.set()
    signal.setAgain()
    XCTAssertEqual(SystemError.current, 42)
  }

  func testTheDescriptorDoesNotChangeAndIsNotInherited() {
    let descriptor = signal.descriptor
    signal.set()
    signal.clear()
    XCTAssertEqual(signal.descriptor, descriptor)
    XCTAssertNotEqual(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0)
    XCTAssertNotEqual(fcntl(descriptor, F_GETFL) & O_NONBLOCK, 0)
  }

  func testItsEndClosesTheDescriptor() {
    let descriptor = signal.descriptor
    signal = nil
    XCTAssertEqual(fcntl(descriptor, F_GETFD), -1)
  }

  /// What is made before a set is found after the clear that takes it: nobody waits for work that is there.
  func testNoWakeUpIsLost() {
    let (made, taken) = (Tally(), Tally())
    let total = 20_000
    let signal = signal!
    runThreads(3) { thread in
      if thread > 0 {
        for _ in 0..<(total / 2) {
          made.add()
          signal.set()
        }
        return
      }
      while taken.value < total {
        guard poll(signal.descriptor, until: Deadline(timeout: 30_000_000_000)) else { return }
        signal.clear()
        taken.add(made.value - taken.value)
      }
    }
    XCTAssertEqual(taken.value, total)
    signal.clear()
    XCTAssertFalse(isReadable)
  }

  func testAForkedChildHasADescriptorOfItsOwn() {
    let descriptor = signal.descriptor
    signal.set()
    let result = inForkedChild {
      // Set in the parent: so it is here.
      guard isDescriptorReadable(signal.descriptor) else { return 1 }
      signal.clear()
      return isDescriptorReadable(signal.descriptor) ? 2 : 0
    }
    XCTAssertEqual(result, 0)
    XCTAssertEqual(signal.descriptor, descriptor)
    XCTAssertTrue(isReadable, "the child cleared its parent's signal")
  }

  func testAForkedChildsSetIsNotItsParents() {
    let result = inForkedChild {
      signal.set()
      return isDescriptorReadable(signal.descriptor) ? 0 : 1
    }
    XCTAssertEqual(result, 0)
    XCTAssertFalse(isReadable)
  }

  func testForksAreCountedInTheChildOnly() {
    let before = Fork.count
    let result = inForkedChild { Int32(Fork.count - before) }
    XCTAssertEqual(result, 1)
    XCTAssertEqual(Fork.count, before)
  }

  func testPollingEndsInTimeOrWhenReadable() {
    XCTAssertFalse(poll(signal.descriptor, until: .at(0)))
    XCTAssertFalse(poll(signal.descriptor, until: Deadline(timeout: 1_000_000)))
    signal.set()
    XCTAssertTrue(poll(signal.descriptor, until: .never))
    XCTAssertTrue(poll(signal.descriptor, until: Deadline(timeout: 1_000_000_000)))
  }
}
