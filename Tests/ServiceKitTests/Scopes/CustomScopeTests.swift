import ServiceKit
import ServiceKitTesting
import XCTest

/// Custom scopes are instances: each keeps and resets its own.
final class CustomScopeTests: XCContainerTestCase {
  private let container = Container()

  func testKeepsUntilItIsReset() {
    let (inSession, cached, inRequest) = (container.inSession(), container.justCached(), container.inRequest())
    XCTAssertTrue(container.inSession() === inSession)
    container.manager.reset(scope: .session)
    XCTAssertFalse(container.inSession() === inSession)
    XCTAssertTrue(container.justCached() === cached)
    XCTAssertTrue(container.inRequest() === inRequest)
    container.manager.reset(scope: .cached)
    XCTAssertFalse(container.justCached() === cached)
    XCTAssertTrue(container.inRequest() === inRequest)
  }

  func testAResetIsForOneContainer() {
    let other = Container()
    let (mine, theirs) = (container.inSession(), other.inSession())
    XCTAssertFalse(mine === theirs)
    container.manager.reset(scope: .session)
    XCTAssertFalse(container.inSession() === mine)
    XCTAssertTrue(other.inSession() === theirs)
  }

  func testASharedOneHoldsWeakly() {
    let living = Tally()
    container.inRequest.register { Counted(Tally(), living: living) }
    var instance: Counted? = container.inRequest()
    XCTAssertTrue(container.inRequest() === instance)
    instance = nil
    XCTAssertEqual(living.value, 0)
  }

  func testASingletonOneIsForAllContainers() {
    let instance = container.inProcess()
    XCTAssertTrue(Container().inProcess() === instance)
    let ordinary = container.ordinary()
    Scope.process.reset()
    XCTAssertFalse(container.inProcess() === instance)
    XCTAssertTrue(container.ordinary() === ordinary)
  }

  func testOnesThatAreMadeAndGoneKeepNothing() {
    let living = Tally()
    for _ in 0..<100 {
      let container = Container()
      let scope = Scope.Cached()
      container.justCached.register { Counted(Tally(), living: living) }
      let factory = container.plainInScope.scope(scope).register { Counted(Tally(), living: living) }
      XCTAssertTrue(factory() === factory())
    }
    XCTAssertEqual(living.value, 0)
  }
}

extension Scope {
  fileprivate static let session = Cached()
  fileprivate static let request = Shared()
  fileprivate static let process = Singleton()
}

extension Container {
  fileprivate var inSession: Factory<Counted> { self { Counted(Tally()) }.scope(.session) }
  fileprivate var inRequest: Factory<Counted> { self { Counted(Tally()) }.scope(.request) }
  fileprivate var inProcess: Factory<Counted> { self { Counted(Tally()) }.scope(.process) }
  fileprivate var ordinary: Factory<Counted> { self { Counted(Tally()) }.singleton }
  fileprivate var justCached: Factory<Counted> { self { Counted(Tally()) }.cached }
  fileprivate var plainInScope: Factory<Counted> { self { Counted(Tally()) } }
}
