import CServiceKit
import XCTest

@testable import ServiceKitCore

final class CacheTests: XCTestCase {
  private func customScope() throws -> (Token, CustomScope) {
    let token = try CustomScope.create(ByteView("of a test"))
    return (token, try CustomScope.named(token))
  }

  func testConcurrentFirstResolvesBuildOnce() throws {
    let (scopeToken, custom) = try customScope()
    for scope in [ScopeKind.cached, .shared, .singleton, .custom] {
      for _ in 0..<40 {
        let container = Container.create(parent: nil)
        let maker = Maker()
        container.register("once", maker.registration(scope, custom: scope == .custom ? custom : nil))
        let products = Shared<[ObjectIdentifier]>([])
        let barrier = Barrier(4)
        runThreads(4) { _ in
          barrier.wait()
          guard let held = container.tryResolve("once").held, let product = held.product else { return }
          products.change { $0.append(ObjectIdentifier(product)) }
          barrier.wait()
          held.release()
        }
        XCTAssertEqual(products.value.count, 4)
        XCTAssertEqual(Set(products.value).count, 1, "\(scope)")
        XCTAssertEqual(maker.builds.value, 1, "\(scope)")
        XCTAssertTrue(container.destroy())
        if scope == .singleton { try Singletons.reset(ByteView("once")) }
        XCTAssertEqual(maker.alive, 0, "\(scope)")
        XCTAssertEqual(maker.frees.value, 1, "\(scope)")
      }
    }
    try CustomScope.destroy(scopeToken)
  }

  func testWhoWaitsGetsTheFailureInItsWords() {
    for _ in 0..<40 {
      let container = Container.create(parent: nil)
      let barrier = Barrier(3)
      let waiting = Event()
      let maker = Maker { building in
        waiting.wait()
        return building.require("missing")
      }
      container.register("fails", maker.registration(.cached))
      let answers = Shared<[(Int32, String)]>([])
      runThreads(3) { thread in
        barrier.wait()
        if thread == 0 { waiting.signal() }
        let status = container.tryResolve("fails").status
        let words = lastWords
        answers.change { $0.append((status, words)) }
      }
      for (status, words) in answers.value {
        XCTAssertEqual(status, SVK_NOT_FOUND)
        XCTAssertTrue(words.contains("\"missing\"") && words.contains("\"fails\""), words)
      }
      XCTAssertEqual(maker.builds.value, 0)
      XCTAssertTrue(container.destroy())
    }
  }

  /// Waiting is per key.
  func testASlowFactoryHoldsUpNobodyElse() throws {
    let container = Container.create(parent: nil)
    let (inside, goOn) = (Event(), Event())
    container.register(
      "slow",
      Maker { _ in
        inside.signal()
        goOn.wait()
        return SVK_OK
      }.registration(.cached))
    container.register("fast", Maker("fast").registration(.cached))
    let thread = TestThread { container.tryResolve("slow").held?.release() }
    inside.wait()
    XCTAssertEqual(try container.touch("fast").name, "fast")
    container.register("new", Maker("new").registration(.singleton))
    XCTAssertEqual(try container.touch("new").name, "new")
    XCTAssertEqual(container.unregister("fast"), SVK_OK)
    goOn.signal()
    thread.join()
    XCTAssertTrue(container.destroy())
    try Singletons.reset(ByteView("new"))
  }

  func testTheParameterTakesPartOnlyWhereItIsSaidTo() throws {
    let container = Container.create(parent: nil)
    let (plain, parametrised) = (Maker(), Maker())
    container.register("plain", plain.registration(.cached))
    container.register("parametrised", parametrised.registration(.cached, byParameter: true))
    for parameter in ["1", "2", "", "1", "2", ""] {
      try container.touch("plain", parameter: parameter)
      try container.touch("parametrised", parameter: parameter)
    }
    XCTAssertEqual(plain.builds.value, 1)
    XCTAssertEqual(parametrised.builds.value, 3)
    XCTAssertTrue(container.destroy())
    XCTAssertEqual(plain.alive + parametrised.alive, 0)
  }

  func testARegistrationReplacedWhileItBuildsGivesItsInstanceToThoseWhoWaitOnly() throws {
    let container = Container.create(parent: nil)
    let (inside, goOn) = (Event(), Event())
    let (old, new) = (
      Maker("old") { _ in
        inside.signal()
        goOn.wait()
        return SVK_OK
      }, Maker("new")
    )
    container.register("key", old.registration(.cached))
    let name = Shared<String>("")
    let thread = TestThread {
      guard let held = container.tryResolve("key").held else { return }
      name.change { $0 = held.product!.name }
      held.release()
    }
    inside.wait()
    container.register("key", new.registration(.cached))
    XCTAssertEqual(try container.touch("key").name, "new")
    goOn.signal()
    thread.join()
    XCTAssertEqual(name.value, "old")
    XCTAssertEqual(old.alive, 0)
    XCTAssertEqual(old.frees.value, 1)
    XCTAssertEqual(try container.touch("key").name, "new")
    XCTAssertEqual(new.builds.value, 1)
    XCTAssertTrue(container.destroy())
  }

  func testAnInstanceTooOldIsBuiltAnew() throws {
    let container = Container.create(parent: nil)
    let (short, long) = (Maker(), Maker())
    container.register("short", short.registration(.cached, timeToLive: 1))
    container.register("long", long.registration(.cached, timeToLive: .max))
    let held = try container.resolve("short")
    for _ in 0..<3 {
      let before = Clock.now()
      while Clock.now() < before + 2 {}
      try container.touch("short")
      try container.touch("long")
    }
    XCTAssertEqual(short.builds.value, 4)
    XCTAssertEqual(long.builds.value, 1)
    XCTAssertEqual(held.product?.isAlive, true)
    XCTAssertEqual(short.destroys.value, 2)
    held.release()
    XCTAssertEqual(short.destroys.value, 3)
    XCTAssertTrue(container.destroy())
  }

  func testUnderStrictTestsACachedLiveInstanceIsNotGiven() throws {
    let container = Container.create(parent: nil)
    let (live, test) = (Maker("live"), Maker("test"))
    container.register("key", live.registration(.cached))
    let before = try container.touch("key")
    try container.setContexts(ByteView("test"))
    XCTAssertTrue(try container.touch("key") === before)
    try container.setStrict(true)
    XCTAssertEqual(container.tryResolve("key").status, SVK_CONTEXT_MISSING)
    XCTAssertTrue(lastWords.contains("\"key\""))
    container.register("key", test.registration(.cached, context: "test"))
    XCTAssertEqual(try container.touch("key").name, "test")
    XCTAssertFalse(before.isAlive)
    XCTAssertTrue(container.destroy())
  }

  func testADestroyedScopeRefusesLaterResolves() throws {
    let (token, custom) = try customScope()
    let container = Container.create(parent: nil)
    let maker = Maker()
    container.register("key", maker.registration(.custom, custom: custom))
    let held = try container.resolve("key")
    try CustomScope.destroy(token)
    XCTAssertEqual(held.product?.isAlive, true)
    XCTAssertEqual(container.tryResolve("key").status, SVK_INVALID_HANDLE)
    XCTAssertTrue(lastWords.contains("of a test"), lastWords)
    held.release()
    XCTAssertEqual(maker.alive, 0)
    XCTAssertEqual(status { () throws(Failure) in try CustomScope.reset(token) }, SVK_INVALID_HANDLE)
    XCTAssertEqual(status { () throws(Failure) in try CustomScope.destroy(token) }, SVK_INVALID_HANDLE)
    XCTAssertTrue(container.destroy())
  }

  func testAScopesResetReachesAllItsContainers() throws {
    let (token, custom) = try customScope()
    let containers = (0..<3).map { _ in Container.create(parent: nil) }
    let maker = Maker()
    for container in containers {
      container.register("a", maker.registration(.custom, custom: custom))
      container.register("b", maker.registration(.custom, custom: custom, byParameter: true))
      for parameter in ["1", "2"] { try container.touch("b", parameter: parameter) }
      try container.touch("a")
      try container.touch("a")
    }
    XCTAssertEqual(maker.builds.value, 9)
    // One of the containers ends first: its instances leave the scope's list.
    containers[1].destroy()
    XCTAssertEqual(maker.alive, 6)
    try CustomScope.reset(token)
    XCTAssertEqual(maker.alive, 0)
    try containers[0].touch("a")
    XCTAssertEqual(maker.alive, 1)
    try CustomScope.destroy(token)
    XCTAssertEqual(maker.alive, 0)
    for container in containers { container.destroy() }
  }

  func testASingletonIsTheProcesses() throws {
    let maker = Maker()
    let containers = (0..<3).map { _ in Container.create(parent: nil) }
    var products: [Product] = []
    for container in containers {
      container.register("singleton.of.test", maker.registration(.singleton))
      products.append(try container.touch("singleton.of.test"))
      container.destroy()
    }
    XCTAssertTrue(products.allSatisfy { $0 === products[0] && $0.isAlive })
    XCTAssertEqual(maker.builds.value, 1)
    try Singletons.reset(ByteView("singleton.of.test"))
    XCTAssertFalse(products[0].isAlive)
    XCTAssertEqual(maker.frees.value, 3)
    XCTAssertEqual(
      status { () throws(Failure) in try Singletons.reset(ByteView("singleton.of.test")) }, SVK_NOT_FOUND)
    XCTAssertEqual(status { () throws(Failure) in try Singletons.reset(ByteView("")) }, SVK_INVALID_ARGUMENT)
    XCTAssertEqual(status { () throws(Failure) in try Singletons.reset(nil) }, SVK_OK)
  }

  func testASharedInstanceEndsWithItsLastHolder() throws {
    let container = Container.create(parent: nil)
    let maker = Maker()
    container.register("key", maker.registration(.shared))
    container.register("dependent", Maker { $0.require("key") }.registration(.cached))
    let (first, second) = (try container.resolve("key"), try container.resolve("key"))
    XCTAssertTrue(first.product === second.product)
    first.release()
    XCTAssertEqual(maker.alive, 1)
    second.release()
    XCTAssertEqual(maker.alive, 0)
    try container.touch("dependent")
    XCTAssertEqual(maker.alive, 1)
    XCTAssertEqual(container.reset("dependent", scopes: true), SVK_OK)
    XCTAssertEqual(maker.alive, 0)
    XCTAssertEqual(maker.builds.value, 2)
    XCTAssertTrue(container.destroy())
  }

  func testAGraphHasOneInstanceForItsOutermostResolve() throws {
    let container = Container.create(parent: nil)
    let leaf = Maker("leaf")
    container.register("leaf", leaf.registration(.graph))
    container.register("left", Maker { $0.require("leaf") }.registration(.unique))
    container.register("right", Maker { $0.require("leaf") }.registration(.unique))
    container.register(
      "top",
      Maker { building in
        for key in ["left", "right", "leaf"] { _ = building.require(key) }
        return SVK_OK
      }.registration(.unique))
    let (first, second) = (try container.resolve("top"), try container.resolve("top"))
    XCTAssertEqual(leaf.builds.value, 2)
    first.release()
    XCTAssertEqual(leaf.alive, 1)
    second.release()
    XCTAssertEqual(leaf.alive, 0)
    try container.touch("leaf")
    XCTAssertEqual(leaf.builds.value, 3)
    XCTAssertEqual(leaf.alive, 0)
    XCTAssertTrue(container.destroy())
  }
}
