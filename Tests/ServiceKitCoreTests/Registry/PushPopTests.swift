import CServiceKit
import XCTest

@testable import ServiceKitCore

final class PushPopTests: XCTestCase {
  private let container = Container.create(parent: nil)
  private let (old, new) = (Maker("old"), Maker("new"))

  override func tearDown() { container.destroy() }

  private func pop() -> Int32 { status { () throws(Failure) in try container.pop() } }
  private func push() throws { try container.push() }

  func testThereIsNothingToPopWithoutAPush() throws {
    XCTAssertEqual(pop(), SVK_NOT_FOUND)
    try push()
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertEqual(pop(), SVK_NOT_FOUND)
  }

  func testAPushChangesNothing() throws {
    container.register("key", old.registration(.cached))
    let before = try container.touch("key")
    try push()
    XCTAssertTrue(try container.touch("key") === before)
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertTrue(try container.touch("key") === before)
    XCTAssertEqual(old.builds.value, 1)
  }

  func testAPopBringsBackRegistrationAndInstance() throws {
    container.register("key", old.registration(.cached))
    let before = try container.touch("key")
    try push()
    container.register("key", new.registration(.cached))
    XCTAssertTrue(before.isAlive, "a pop has to bring it back")
    let since = try container.touch("key")
    XCTAssertEqual(since.name, "new")
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertFalse(since.isAlive)
    XCTAssertEqual(new.frees.value, 1)
    XCTAssertTrue(try container.touch("key") === before)
    XCTAssertEqual(old.frees.value, 0)
  }

  func testPushesNest() throws {
    var products: [Product] = []
    for level in 0..<5 {
      if level > 0 { try push() }
      container.register("key", Maker("\(level)").registration(.cached))
      products.append(try container.touch("key"))
    }
    XCTAssertTrue(products.allSatisfy { $0.isAlive })
    for level in (0..<5).reversed() {
      XCTAssertTrue(try container.touch("key") === products[level])
      XCTAssertEqual(pop(), level == 0 ? SVK_NOT_FOUND : SVK_OK)
      XCTAssertEqual(products[level].isAlive, level == 0)
    }
  }

  /// A key that only an outer level changed is saved there, and an inner pop leaves it alone.
  func testAnInnerPopLeavesTheOuterLevelsChange() throws {
    container.register("key", old.registration(.cached))
    try push()
    container.register("key", new.registration(.cached))
    try push()
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertEqual(try container.touch("key").name, "new")
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertEqual(try container.touch("key").name, "old")
  }

  func testAKeyThatCameSinceIsGone() throws {
    try push()
    container.register("key", new.registration(.cached))
    let product = try container.touch("key")
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertFalse(product.isAlive)
    XCTAssertEqual(container.tryResolve("key").status, SVK_NOT_FOUND)
    XCTAssertEqual(new.frees.value, 1)
  }

  func testAKeyThatWentIsBack() throws {
    container.register("key", old.registration(.cached))
    let product = try container.touch("key")
    try push()
    XCTAssertEqual(container.unregister("key"), SVK_OK)
    XCTAssertEqual(container.tryResolve("key").status, SVK_NOT_FOUND)
    XCTAssertTrue(product.isAlive)
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertTrue(try container.touch("key") === product)
  }

  func testWhatIsHeldOutlivesThePop() throws {
    try push()
    container.register("key", new.registration(.cached))
    let held = try container.resolve("key")
    let product = try XCTUnwrap(held.product)
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertTrue(product.isAlive)
    held.release()
    XCTAssertFalse(product.isAlive)
  }

  func testAnInstanceBuiltSinceForAnOldRegistrationRetires() throws {
    container.register("key", old.registration(.cached))
    try push()
    let since = try container.touch("key")
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertFalse(since.isAlive)
    XCTAssertFalse(try container.touch("key") === since)
    XCTAssertEqual(old.builds.value, 2)
  }

  func testAResetUnderAPushKeepsWhatAPopBringsBack() throws {
    container.register("key", old.registration(.cached))
    let before = try container.touch("key")
    try push()
    XCTAssertEqual(container.reset("key", scopes: true), SVK_OK)
    XCTAssertTrue(before.isAlive)
    let since = try container.touch("key")
    XCTAssertFalse(since === before)
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertFalse(since.isAlive)
    XCTAssertTrue(try container.touch("key") === before)
  }

  /// What ends with its last lease cannot be brought back.
  func testASharedInstanceThatEndedUnderAPushIsBuiltAnew() throws {
    container.register("key", old.registration(.shared))
    let held = try container.resolve("key")
    try push()
    container.register("key", new.registration(.shared))
    held.release()
    XCTAssertEqual(old.alive, 0)
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertTrue(try XCTUnwrap(try container.resolve("key").product).isAlive)
    XCTAssertEqual(old.builds.value, 2)
  }

  func testSettingsComeBack() throws {
    let decorator = Tally()
    let pointer = Unmanaged.passUnretained(decorator).toOpaque()
    try container.setContexts(ByteView("preview"))
    try container.setDefaultScope(.cached)
    try push()
    try container.setContexts(ByteView("test"))
    try container.setStrict(true)
    try container.setDefaultScope(.shared)
    try container.decorate(
      nil,
      CDecorator(
        { _, _, _, tally in Unmanaged<Tally>.fromOpaque(tally!).takeUnretainedValue().add() },
        UserData(pointer, free: nil)))
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertEqual(container.settings.contexts?.names.map { $0.string }, ["preview"])
    XCTAssertNil(container.settings.isStrict)
    XCTAssertEqual(container.settings.defaultScope.kind, .cached)
    container.register("key", old.registration(.cached))
    try container.touch("key")
    XCTAssertEqual(decorator.value, 0)
  }

  func testAKeysDecoratorComesAndGoesWithTheLevels() throws {
    let calls = Tally()
    let decorator = CDecorator(
      { _, _, _, tally in Unmanaged<Tally>.fromOpaque(tally!).takeUnretainedValue().add() },
      UserData(Unmanaged.passUnretained(calls).toOpaque(), free: nil))
    container.register("key", old.registration(.cached))
    try push()
    try container.decorate(ByteView("key"), decorator)
    XCTAssertEqual(container.decoratedKeys, 1)
    try container.touch("key")
    XCTAssertEqual(calls.value, 1)
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertEqual(container.decoratedKeys, 0)
    try container.touch("key")
    XCTAssertEqual(calls.value, 1)

    try container.decorate(ByteView("key"), decorator)
    try push()
    try container.decorate(ByteView("key"), nil)
    XCTAssertEqual(container.decoratedKeys, 0)
    XCTAssertEqual(pop(), SVK_OK)
    XCTAssertEqual(container.decoratedKeys, 1)
    try container.touch("key")
    XCTAssertEqual(calls.value, 2)
  }

  func testAContainersEndAlsoEndsWhatIsSaved() throws {
    container.register("key", old.registration(.cached))
    let before = try container.touch("key")
    try push()
    container.register("key", new.registration(.cached))
    let since = try container.touch("key")
    XCTAssertTrue(container.destroy())
    XCTAssertFalse(before.isAlive)
    XCTAssertFalse(since.isAlive)
    XCTAssertEqual(old.frees.value + new.frees.value, 2)
  }

  /// Levels and registrations cost nothing once they are gone.
  func testLevelsLeaveNothingBehind() throws {
    container.register("key", old.registration(.cached))
    for _ in 0..<500 {
      try push()
      container.register("key", new.registration(.cached))
      try container.touch("key")
      XCTAssertEqual(pop(), SVK_OK)
    }
    XCTAssertEqual(new.alive, 0)
    XCTAssertEqual(new.frees.value, 500)
    let cell = try container.cell(of: "key")
    XCTAssertNil(cell.pointee.saved)
    XCTAssertEqual(cell.pointee.level, 0)
  }
}
