import CServiceKit
import XCTest

@testable import ServiceKitCore

final class RegisteringTests: XCTestCase {
  private let container = Container.create(parent: nil)
  private let (old, new) = (Maker("old"), Maker("new"))

  override func tearDown() { container.destroy() }

  func testReplacingEndsAnInstanceThatNobodyHolds() throws {
    container.register("key", old.registration(.cached))
    let product = try container.touch("key")
    container.register("key", new.registration(.cached))
    XCTAssertFalse(product.isAlive)
    XCTAssertEqual(old.frees.value, 1)
    XCTAssertEqual(try container.touch("key").name, "new")
  }

  func testAHeldInstanceOutlivesItsRegistration() throws {
    container.register("key", old.registration(.cached))
    let (first, second) = (try container.resolve("key"), try container.resolve("key"))
    container.register("key", new.registration(.cached))
    XCTAssertEqual(first.product?.name, "old")
    XCTAssertEqual(old.frees.value, 0)
    first.release()
    XCTAssertEqual(old.destroys.value, 0)
    second.release()
    XCTAssertEqual(old.destroys.value, 1)
    XCTAssertEqual(old.frees.value, 1)
  }

  func testARegistrationForAContextClearsNoCache() throws {
    container.register("key", old.registration(.cached))
    let product = try container.touch("key")
    container.register("key", new.registration(.cached, context: "test"))
    try container.setContexts(ByteView("test"))
    XCTAssertTrue(try container.touch("key") === product)
    XCTAssertEqual(container.reset("key", scopes: true), SVK_OK)
    XCTAssertEqual(try container.touch("key").name, "new")
  }

  func testAPlainRegistrationRetiresAContextsInstance() throws {
    container.register("key", old.registration(.cached, context: "test"))
    try container.setContexts(ByteView("test"))
    let product = try container.touch("key")
    container.register("key", new.registration(.cached))
    XCTAssertFalse(product.isAlive)
    XCTAssertEqual(try container.touch("key").name, "old")
  }

  func testARefusedRegistrationIsNotKept() {
    let registration = old.registration(.cached)
    for key in ["", "a\u{7}", String(repeating: "a", count: 256)] {
      XCTAssertEqual(
        status { () throws(Failure) in
          let key = owned(key)
          try container.register(key.view, registration)
        }, SVK_INVALID_ARGUMENT)
    }
    container.destroy()
    XCTAssertEqual(
      status { () throws(Failure) in try container.register(ByteView("key"), registration) }, SVK_INVALID_HANDLE)
    XCTAssertEqual(old.frees.value, 0)
  }

  /// What each part of a reset drops, for a key with both registrations and an instance.
  func testAResetDropsWhatItNames() throws {
    for parts in 1...7 {
      let (plain, test) = (Maker("plain"), Maker("test"))
      container.register("key", plain.registration(.cached))
      container.register("key", test.registration(.cached, context: "other"))
      let product = try container.touch("key")
      let (registrations, contexts, scopes) = (parts & 1 != 0, parts & 2 != 0, parts & 4 != 0)
      XCTAssertEqual(
        container.reset("key", registrations: registrations, contexts: contexts, scopes: scopes), SVK_OK)
      XCTAssertEqual(product.isAlive, !registrations && !scopes, "\(parts)")
      XCTAssertEqual(plain.frees.value, registrations ? 1 : 0, "\(parts)")
      XCTAssertEqual(test.frees.value, contexts ? 1 : 0, "\(parts)")
      let state = try container.cell(of: "key").pointee.state
      XCTAssertEqual(state.plain == nil, registrations)
      XCTAssertEqual(state.contextual.isEmpty, contexts)
      if state.hasRegistration { XCTAssertEqual(container.unregister("key"), SVK_OK) }
    }
  }

  func testAContainersResetReachesEveryKeyAndItsContexts() throws {
    for number in 0..<20 { container.register("key.\(number)", old.registration(.cached)) }
    for number in 0..<20 { try container.touch("key.\(number)") }
    try container.setContexts(ByteView("test"))
    try container.reset(registrations: false, contexts: false, scopes: true)
    XCTAssertEqual(old.alive, 0)
    XCTAssertNotNil(container.settings.contexts)
    try container.reset(registrations: true, contexts: true, scopes: true)
    XCTAssertEqual(old.frees.value, 20)
    XCTAssertNil(container.settings.contexts)
    XCTAssertEqual(container.tryResolve("key.7").status, SVK_NOT_FOUND)
  }

  func testAnUnknownKeyCannotBeReset() throws {
    XCTAssertEqual(container.unregister("key"), SVK_NOT_FOUND)
    container.register("key", old.registration(.cached))
    let child = Container.create(parent: container)
    defer { child.destroy() }
    XCTAssertEqual(child.unregister("key"), SVK_NOT_FOUND)
    XCTAssertEqual(child.reset("key", scopes: true), SVK_NOT_FOUND)
    XCTAssertEqual(container.unregister("key"), SVK_OK)
    XCTAssertEqual(container.unregister("key"), SVK_NOT_FOUND)
  }

  func testTheScopesAreTheHeaders() {
    let scopes: [(ScopeKind, Int32, String)] = [
      (.default, SVK_SCOPE_DEFAULT, "default"), (.unique, SVK_SCOPE_UNIQUE, "unique"),
      (.cached, SVK_SCOPE_CACHED, "cached"), (.shared, SVK_SCOPE_SHARED, "shared"),
      (.singleton, SVK_SCOPE_SINGLETON, "singleton"), (.graph, SVK_SCOPE_GRAPH, "graph"),
      (.custom, SVK_SCOPE_CUSTOM, "custom"),
    ]
    for (scope, value, name) in scopes {
      XCTAssertEqual(scope.rawValue, value)
      XCTAssertEqual("\(scope.name)", name)
      XCTAssertEqual(ScopeKind(rawValue: value), scope)
    }
    XCTAssertNil(ScopeKind(rawValue: -1))
    XCTAssertNil(ScopeKind(rawValue: 7))
  }
}
