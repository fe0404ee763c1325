import CServiceKit
import XCTest

@testable import ServiceKitCore

final class LookupTests: XCTestCase {
  private let parent = Container.create(parent: nil)
  private lazy var child = Container.create(parent: parent)

  override func tearDown() {
    child.destroy()
    parent.destroy()
  }

  func testAChildsOwnComesFirst() throws {
    parent.register("key", Maker("parent").registration(.cached))
    XCTAssertEqual(try child.touch("key").name, "parent")
    child.register("key", Maker("child").registration(.cached))
    XCTAssertEqual(try child.touch("key").name, "child")
    XCTAssertEqual(try parent.touch("key").name, "parent")
    XCTAssertEqual(child.unregister("key"), SVK_OK)
    XCTAssertEqual(try child.touch("key").name, "parent")
  }

  func testACachedInstanceOfTheParentIsBuiltWithTheParentsRegistrations() throws {
    let (ofParent, ofChild) = (Maker("parent"), Maker("child"))
    parent.register("leaf", ofParent.registration(.cached))
    child.register("leaf", ofChild.registration(.cached))
    parent.register("cached", Maker { $0.require("leaf") }.registration(.cached))
    parent.register("unique", Maker { $0.require("leaf") }.registration(.unique))
    try child.touch("cached")
    XCTAssertEqual(ofParent.builds.value, 1)
    XCTAssertEqual(ofChild.builds.value, 0)
    try child.touch("unique")
    XCTAssertEqual(ofChild.builds.value, 1)
  }

  func testAChildOutlivesItsParent() throws {
    parent.register("inherited", Maker().registration(.cached))
    child.register("own", Maker("own").registration(.cached))
    try child.touch("inherited")
    XCTAssertTrue(parent.destroy())
    XCTAssertEqual(child.tryResolve("inherited").status, SVK_NOT_FOUND)
    XCTAssertEqual(try child.touch("own").name, "own")
  }

  func testATypeIsComparedBeforeAnythingIsBuilt() throws {
    let maker = Maker()
    parent.register("typed", maker.registration(.cached, type: "org.example/1"))
    parent.register("untyped", maker.registration(.cached))
    XCTAssertEqual(child.tryResolve("typed", type: "org.example/2").status, SVK_TYPE_MISMATCH)
    XCTAssertTrue(lastWords.contains("org.example/1") && lastWords.contains("org.example/2"))
    XCTAssertEqual(child.tryResolve("untyped", type: "org.example/1").status, SVK_TYPE_MISMATCH)
    XCTAssertEqual(child.tryResolve("typed", type: "").status, SVK_INVALID_ARGUMENT)
    XCTAssertEqual(maker.builds.value, 0)
    let (status, held) = child.tryResolve("typed", type: "org.example/1")
    XCTAssertEqual(status, SVK_OK)
    held?.release()
    XCTAssertFalse(parent.activity.isGoingOn)
  }

  func testTheFailureSaysWhyNothingWasFound() throws {
    XCTAssertEqual(child.tryResolve("key").status, SVK_NOT_FOUND)
    XCTAssertTrue(lastWords.contains("\"key\" is not registered"))
    parent.register("key", Maker().registration(.cached, context: "preview"))
    try child.setContexts(ByteView("live,test"))
    XCTAssertEqual(child.tryResolve("key").status, SVK_NOT_FOUND)
    XCTAssertTrue(lastWords.contains("live, test"), lastWords)
    XCTAssertEqual(child.tryResolve("\u{1}").status, SVK_INVALID_ARGUMENT)
    XCTAssertEqual(child.tryResolve("").status, SVK_INVALID_ARGUMENT)
  }

  func testStrictnessIsSatisfiedAnywhereUpTheChain() throws {
    parent.register("key", Maker("test").registration(.cached, context: "test"))
    child.register("key", Maker("live").registration(.cached))
    try child.setContexts(ByteView("test"))
    XCTAssertEqual(try child.touch("key").name, "live")
    try parent.setStrict(true)
    XCTAssertEqual(try child.touch("key").name, "test")
    XCTAssertEqual(parent.unregister("key"), SVK_OK)
    XCTAssertEqual(child.tryResolve("key").status, SVK_CONTEXT_MISSING)
  }

  func testAPinKeepsWhatAResetWouldEnd() throws {
    for scope in [ScopeKind.cached, .shared, .singleton] {
      let container = Container.create(parent: nil)
      let maker = Maker()
      container.register("pinned", maker.registration(scope))
      let key = KeyView(ByteView("pinned"))
      let first = Product.of(try Resolve.pin(container.token, key))
      XCTAssertTrue(Product.of(try Resolve.pin(container.token, key)) === first)
      XCTAssertEqual(try container.cell(of: "pinned").pointee.pins.count, 1)
      XCTAssertTrue(try container.touch("pinned") === first)
      try container.reset(registrations: true, contexts: true, scopes: true)
      if scope == .singleton { try Singletons.reset(ByteView("pinned")) }
      XCTAssertTrue(first.isAlive, "\(scope)")
      XCTAssertTrue(container.destroy())
      XCTAssertFalse(first.isAlive, "\(scope)")
      XCTAssertEqual(maker.alive, 0, "\(scope)")
    }
  }

  func testWhatEndsByItselfCannotBePinned() throws {
    let token = try CustomScope.create(ByteView("pins"))
    let custom = try CustomScope.named(token)
    let maker = Maker()
    for scope in [ScopeKind.unique, .default, .graph, .custom] {
      parent.register("key", maker.registration(scope, custom: scope == .custom ? custom : nil))
      XCTAssertEqual(
        status { () throws(Failure) in _ = try Resolve.pin(parent.token, KeyView(ByteView("key"))) },
        SVK_INVALID_ARGUMENT)
    }
    XCTAssertEqual(maker.builds.value, 0)
    XCTAssertFalse(parent.activity.isGoingOn)
    try CustomScope.destroy(token)
  }

  func testTheSharedContainerCannotBeDestroyed() {
    XCTAssertEqual(
      status { () throws(Failure) in _ = try Closing.destroy(Container.shared.token) }, SVK_INVALID_ARGUMENT)
    XCTAssertNotNil(TokenTable.object(Container.shared.token, .container, Container.self))
  }

  func testAContainerDestroyedInItsOwnFactoryEndsAfterIt() throws {
    let container = Container.create(parent: nil)
    let states = Shared<[Bool]>([])
    let maker = Maker { _ in
      let isDone = container.destroy()
      states.change { $0.append(isDone) }
      states.change { $0.append(container.isTakenDown) }
      return SVK_OK
    }
    container.register("key", maker.registration(.cached))
    let (status, held) = container.tryResolve("key")
    XCTAssertEqual(states.value, [false, false])
    XCTAssertTrue(container.isTakenDown)
    XCTAssertEqual(status, SVK_OK)
    XCTAssertEqual(held?.product?.isAlive, true)
    held?.release()
    XCTAssertEqual(maker.alive, 0)
    XCTAssertEqual(maker.frees.value, 1)
  }

  func testADestroyedContainerAnswersNothing() throws {
    let container = Container.create(parent: nil)
    container.register("key", Maker().registration(.cached))
    XCTAssertTrue(container.destroy())
    XCTAssertEqual(container.tryResolve("key").status, SVK_INVALID_HANDLE)
    XCTAssertEqual(status { () throws(Failure) in try container.push() }, SVK_INVALID_HANDLE)
    XCTAssertEqual(status { () throws(Failure) in try container.setStrict(true) }, SVK_INVALID_HANDLE)
    XCTAssertEqual(status { () throws(Failure) in _ = try Closing.destroy(container.token) }, SVK_INVALID_HANDLE)
  }
}
