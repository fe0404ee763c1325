import Synchronization
import XCTest

@testable import ServiceKitCore

final class DeliveryRoleTests: XCTestCase {
  private let thread = ThreadRecord.current
  /// Never looked at.
  private lazy var other = thread + 1

  func testAFreeRoleIsNobodys() {
    let role = DeliveryRole()
    XCTAssertTrue(role.isFree)
    guard case .nobody = role.holder() else { return XCTFail() }
    XCTAssertTrue(role.isFree, "to ask takes nothing")
    XCTAssertFalse(role.isHeld(by: thread))
    XCTAssertFalse(role.giveUpUnpinned(thread))
  }

  func testAThreadsRole() {
    let role = DeliveryRole()
    role.take(thread)
    XCTAssertFalse(role.isFree)
    XCTAssertTrue(role.isHeld(by: thread))
    XCTAssertFalse(role.isHeld(by: other))
    XCTAssertFalse(role.giveUpUnpinned(other))
    XCTAssertTrue(role.giveUpUnpinned(thread))
    XCTAssertTrue(role.isFree)
    XCTAssertFalse(role.giveUpUnpinned(thread))
  }

  func testWhoAsksPinsIt() {
    let role = DeliveryRole()
    role.take(thread)
    let holder = role.holder()
    guard case .thread(UInt(bitPattern: thread)) = holder else { return XCTFail() }
    XCTAssertTrue(holder.isThread)
    XCTAssertFalse(holder.isOther(than: thread))
    XCTAssertTrue(holder.isOther(than: other))
    XCTAssertTrue(role.isHeld(by: thread))
    XCTAssertFalse(role.giveUpUnpinned(thread), "something has come meanwhile")
    XCTAssertFalse(role.isFree)
    role.giveUp()
    XCTAssertTrue(role.isFree)
    // Taken anew it is not pinned.
    role.take(thread)
    XCTAssertTrue(role.giveUpUnpinned(thread))
  }

  func testATurnsRole() {
    let role = DeliveryRole()
    role.takeForTurn()
    XCTAssertFalse(role.isFree)
    guard case .turn = role.holder() else { return XCTFail() }
    XCTAssertFalse(role.holder().isThread)
    XCTAssertFalse(role.holder().isOther(than: thread))
    XCTAssertFalse(role.isHeld(by: thread))
    // The turn begins, and goes on in another one.
    role.take(thread)
    XCTAssertTrue(role.isHeld(by: thread))
    role.takeForTurn()
    guard case .turn = role.holder() else { return XCTFail() }
    role.giveUp()
    XCTAssertTrue(role.isFree)
  }

  /// Work that is left under the lock while the role is held is seen by its holder, who gives it up without the lock.
  func testNoWorkIsLeftBehind() {
    final class Shop: @unchecked Sendable {
      let lock = Lock()
      let role = DeliveryRole()
      var queued = 0
      var done = 0
    }
    let shop = Shop()
    let (count, overlaps, inside) = (5_000, Tally(), Tally())
    func work() {
      if inside.add() != 1 { overlaps.add() }
      inside.add(-1)
    }
    func begin(_ thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
      shop.lock.withLock {
        // If it is held, then at least until the lock is left, and what is left here is seen.
        if case .nobody = shop.role.holder() {
          shop.role.take(thread)
          shop.done += 1
          return true
        }
        shop.queued += 1
        return false
      }
    }
    func finish(_ thread: UnsafeMutablePointer<ThreadRecord>) {
      if shop.role.giveUpUnpinned(thread) { return }
      shop.lock.lock()
      while shop.queued > 0 {
        shop.queued -= 1
        shop.done += 1
        shop.lock.unlock()
        work()
        shop.lock.lock()
      }
      shop.role.giveUp()
      shop.lock.unlock()
    }
    runThreads(3) { _ in
      let thread = ThreadRecord.current
      for _ in 0..<count where begin(thread) {
        work()
        finish(thread)
      }
    }
    XCTAssertEqual(overlaps.value, 0)
    XCTAssertEqual(shop.queued, 0)
    XCTAssertEqual(shop.done, 3 * count)
    XCTAssertTrue(shop.role.isFree)
  }
}
