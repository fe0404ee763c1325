import CServiceKit
import XCTest

@testable import ServiceKitCore

/// Threads resolve while others take away what they resolve: nobody meets an instance that has ended, and whatever was
/// built is destroyed, once.
final class RetirementTests: XCTestCase {
  /// On two threads `change`, on two others resolves of `keys`, with the handle held for a moment.
  private func compete(
    _ container: Container, keys: [String], allowed: Set<Int32> = [],
    change: @escaping (_ thread: Int, _ round: Int) -> Void
  ) {
    let (dead, unexpected, resolves) = (Tally(), Tally(), Tally())
    let changing = Tally()
    changing.add(2)
    let barrier = Barrier(4)
    runThreads(4) { thread in
      if thread >= 2 { container.tryResolve(keys[0]).held?.release() }
      barrier.wait()
      guard thread < 2 else {
        var kept: Held?
        while changing.value > 0 {
          let (status, held) = container.tryResolve(keys[resolves.add() % keys.count])
          guard let held else {
            if !allowed.contains(status) { unexpected.add() }
            continue
          }
          if held.product?.isAlive != true { dead.add() }
          if let kept {
            if kept.product?.isAlive != true { dead.add() }
            kept.release()
          }
          kept = held
        }
        kept?.release()
        return
      }
      for round in rounds(1_000) { change(thread, round) }
      changing.add(-1)
    }
    XCTAssertEqual(dead.value, 0, "an instance had ended while a handle on it was held")
    XCTAssertEqual(unexpected.value, 0)
  }

  private func checkBalance(_ makers: Maker..., file: StaticString = #filePath, line: UInt = #line) {
    for maker in makers {
      XCTAssertEqual(maker.builds.value, maker.destroys.value, "builds and destroys", file: file, line: line)
      XCTAssertEqual(maker.doubleDestroys.value, 0, "destroyed twice", file: file, line: line)
    }
  }

  func testRegisteringWhileOthersResolve() {
    for scope in [ScopeKind.unique, .cached, .shared, .graph] {
      let container = Container.create(parent: nil)
      let maker = Maker()
      container.register("key", maker.registration(scope))
      compete(container, keys: ["key"]) { _, _ in container.register("key", maker.registration(scope)) }
      XCTAssertTrue(container.destroy())
      checkBalance(maker)
    }
  }

  func testResettingWhileOthersResolve() {
    let container = Container.create(parent: nil)
    let maker = Maker()
    container.register("key", maker.registration(.cached))
    container.register("shared", maker.registration(.shared))
    compete(container, keys: ["key", "shared"]) { thread, _ in
      _ = container.reset(thread == 0 ? "key" : "shared", scopes: true)
    }
    XCTAssertTrue(container.destroy())
    checkBalance(maker)
  }

  func testUnregisteringWhileOthersResolve() {
    let container = Container.create(parent: nil)
    let maker = Maker()
    compete(container, keys: ["0", "1"], allowed: [SVK_NOT_FOUND]) { thread, _ in
      container.register("\(thread)", maker.registration(.cached))
      _ = container.unregister("\(thread)")
    }
    XCTAssertTrue(container.destroy())
    checkBalance(maker)
  }

  func testPushingAndPoppingWhileOthersResolve() {
    let container = Container.create(parent: nil)
    let maker = Maker()
    for key in ["a", "b"] { container.register(key, maker.registration(.cached)) }
    compete(container, keys: ["a", "b"]) { thread, _ in
      if thread == 0 {
        try? container.push()
        container.register("a", maker.registration(.cached))
        try? container.pop()
      } else {
        container.register("b", maker.registration(.cached))
      }
    }
    XCTAssertTrue(container.destroy())
    checkBalance(maker)
  }

  func testChangingSettingsWhileOthersResolve() {
    let container = Container.create(parent: nil)
    let (plain, test) = (Maker("plain"), Maker("test"))
    container.register("key", plain.registration(.cached))
    container.register("key", test.registration(.cached, context: "test"))
    compete(container, keys: ["key"]) { thread, round in
      if thread == 0 {
        try? container.setContexts(round % 2 == 0 ? ByteView("test") : ByteView("live"))
      } else {
        try? container.setStrict(round % 2 == 0)
      }
    }
    XCTAssertTrue(container.destroy())
    checkBalance(plain, test)
  }

  func testResettingASingletonWhileOthersResolve() {
    let container = Container.create(parent: nil)
    let maker = Maker()
    container.register("singleton.storm", maker.registration(.singleton))
    compete(container, keys: ["singleton.storm"]) { thread, _ in
      try? Singletons.reset(thread == 0 ? nil : ByteView("singleton.storm"))
    }
    XCTAssertTrue(container.destroy())
    try? Singletons.reset(nil)
    checkBalance(maker)
  }

  func testResettingACustomScopeWhileOthersResolve() throws {
    let token = try CustomScope.create(ByteView("storm"))
    let custom = try CustomScope.named(token)
    let container = Container.create(parent: nil)
    let maker = Maker()
    container.register("key", maker.registration(.custom, custom: custom))
    compete(container, keys: ["key"]) { thread, _ in
      if thread == 0 {
        try? CustomScope.reset(token)
      } else {
        container.register("key", maker.registration(.custom, custom: custom))
      }
    }
    try CustomScope.destroy(token)
    XCTAssertTrue(container.destroy())
    checkBalance(maker)
  }

  func testDependentsAreRebuiltWhileTheirDependencyIsReplaced() {
    let container = Container.create(parent: nil)
    let dead = Tally()
    let leaf = Maker("leaf")
    let top = Maker("top") { building in
      var required: UnsafeMutableRawPointer?
      let result = status { () throws(Failure) in
        required = try Require.instance(building.resolver, ByteView("leaf"), parameter: .empty)
      }
      if result == SVK_OK, !Product.of(required).isAlive { dead.add() }
      return result
    }
    container.register("leaf", leaf.registration(.cached))
    container.register("top", top.registration(.cached))
    compete(container, keys: ["top", "leaf"]) { thread, _ in
      _ = container.reset(thread == 0 ? "leaf" : "top", scopes: true)
    }
    XCTAssertEqual(dead.value, 0)
    XCTAssertTrue(container.destroy())
    checkBalance(leaf, top)
  }

  /// The container closes to new work, lets factories in progress end, and then everything of it ends.
  func testDestroyingAContainerWhileOthersResolve() {
    for _ in rounds(100) {
      let container = Container.create(parent: nil)
      let (maker, unexpected, dead) = (Maker(), Tally(), Tally())
      for key in ["a", "b"] { container.register(key, maker.registration(key == "a" ? .cached : .unique)) }
      let barrier = Barrier(4)
      runThreads(4) { thread in
        barrier.wait()
        if thread == 0 {
          if !container.destroy() { unexpected.add() }
          return
        }
        while true {
          let (status, held) = container.tryResolve(thread == 1 ? "a" : "b")
          guard let held else {
            if status != SVK_INVALID_HANDLE { unexpected.add() }
            return
          }
          if held.product?.isAlive != true { dead.add() }
          held.release()
        }
      }
      XCTAssertEqual(unexpected.value, 0)
      XCTAssertEqual(dead.value, 0)
      checkBalance(maker)
    }
  }

  func testSharedInstancesAreGivenAndEndedTogether() {
    let container = Container.create(parent: nil)
    let (maker, dead) = (Maker(), Tally())
    container.register("key", maker.registration(.shared))
    storm(4, rounds: 2_000) { _, _ in
      guard let held = container.tryResolve("key").held else { return _ = dead.add() }
      if held.product?.isAlive != true { dead.add() }
      held.release()
    }
    XCTAssertEqual(dead.value, 0)
    checkBalance(maker)
    XCTAssertTrue(container.destroy())
  }
}
