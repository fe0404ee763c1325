import ServiceKit
import XCTest

/// The tests of that program, as they are written for Factory 3.
final class DemoTests: XCTestCase {
  override func setUp() {
    super.setUp()
    Container.shared.manager.push()
    PaymentContainer.shared.manager.push()
    Scope.singleton.reset()
  }

  override func tearDown() {
    super.tearDown()
    Container.shared.manager.pop()
    PaymentContainer.shared.manager.pop()
    ByTypeContainer.shared.reset()
  }

  func testTheProgramAsItIs() {
    let model = UserViewModel()
    XCTAssertEqual(model.title(for: 1), "live/users/1")
    XCTAssertEqual(model.balance(), "bank/balance")
    XCTAssertEqual(model.ping(), "live/ping")
    XCTAssertEqual((Container.shared.demoLogger() as? DemoLogger)?.all, ["name of 1"])
  }

  func testAMock() {
    Container.shared.userService.register { MockUserService() }
    XCTAssertEqual(UserViewModel().title(for: 2), "mock 2")
    Container.shared.userService.reset()
    XCTAssertEqual(UserViewModel().title(for: 2), "live/users/2")
  }

  func testAMockForTests() {
    Container.shared.userService.onTest { MockUserService("test") }
    XCTAssertEqual(UserViewModel().title(for: 3), "test 3")
    Container.shared.userService.reset(.context)
    XCTAssertEqual(UserViewModel().title(for: 3), "live/users/3")
  }

  func testPushAndPop() {
    Container.shared.manager.push()
    Container.shared.network.register { Network(host: "pushed") }
    XCTAssertEqual(UserViewModel().ping(), "pushed/ping")
    Container.shared.manager.pop()
    XCTAssertEqual(UserViewModel().ping(), "live/ping")
  }

  func testContexts() {
    let before = FactoryContext.current
    defer { FactoryContext.current = before }
    FactoryContext.current.isPreview = true
    XCTAssertEqual(Container.shared.network().get(""), "preview")
    FactoryContext.setArg("offline", forKey: "mode")
    XCTAssertEqual(Container.shared.network().get(""), "offline")
    FactoryContext.removeArg(forKey: "mode")
    FactoryContext.current.isPreview = false
    XCTAssertEqual(Container.shared.network().get(""), "live")
  }

  func testParameters() {
    let one = Container.shared.account(1)
    XCTAssertTrue(Container.shared.account(1) === one)
    XCTAssertFalse(Container.shared.account(2) === one)
    XCTAssertEqual(Container.shared.priced((3, "paid")).plan, "paid")
    Container.shared.account.register { Account(number: -$0, plan: "test") }
    XCTAssertEqual(Container.shared.account.resolve(1).number, -1)
  }

  func testSharedInstancesAreThereAsLongAsSomebodyHoldsThem() {
    var model: UserViewModel? = UserViewModel()
    let id = model?.users.id
    XCTAssertEqual(UserViewModel().users.id, id)
    model = nil
    XCTAssertNotEqual(UserViewModel().users.id, id)
  }

  func testParentAndChild() {
    var session: Session? = Container.shared.session()
    let delegate = Container.shared.sessionDelegate()
    XCTAssertTrue(session?.delegate === delegate)
    XCTAssertEqual(delegate.user(), "anna")
    session = nil
    XCTAssertNil(delegate.user())
    XCTAssertNotNil(delegate.$session.factory)
    delegate.$session.resolve()
    XCTAssertNil(delegate.user())
  }

  func testLazyWrappers() {
    let session = Session()
    XCTAssertNil(session.$delegate.resolvedOrNil())
    let delegate = session.delegate
    XCTAssertTrue(session.$delegate.resolvedOrNil() === delegate)
    session.$delegate.resolve(reset: .scope)
    XCTAssertFalse(session.delegate === delegate)
  }

  func testOneGraph() {
    let report = Container.shared.report()
    XCTAssertFalse(report.header === report.footer)
    XCTAssertTrue(report.header.stamp === report.footer.stamp)
    XCTAssertFalse(Container.shared.report().header.stamp === report.header.stamp)
  }

  func testPromises() {
    Container.shared.manager.promiseTriggersError = false
    XCTAssertNil(Container.shared.accountLoader())
    Container.shared.accountLoader.register { AccountLoader() }
    XCTAssertEqual(Container.shared.accountLoader()?.load(), [1, 2, 3])
  }

  func testAutoRegistering() {
    XCTAssertEqual(PaymentContainer.shared.currency(), "EUR")
    XCTAssertEqual(PaymentContainer.shared.limited(), 100)
    let container = PaymentContainer()
    container.currency.register { "SEK" }
    XCTAssertEqual(container.currency(), "SEK")
    container.manager.reset()
    XCTAssertEqual(container.currency(), "EUR")
  }

  func testACustomScope() {
    Container.shared.cart.register { ["apple"] }
    XCTAssertEqual(Container.shared.cart(), ["apple"])
    Container.shared.cart.onTest { ["pear"] }
    XCTAssertEqual(Container.shared.cart(), ["apple"])
    Container.shared.manager.reset(scope: .demoSession)
    XCTAssertEqual(Container.shared.cart(), ["pear"])
  }

  func testByType() {
    XCTAssertNil(TypedViewModel().loader)
    ByTypeContainer.shared.register { AccountLoader() }.scope(.singleton)
    XCTAssertEqual(TypedViewModel().loader?.load(), [1, 2, 3])
    XCTAssertEqual(ByTypeContainer.shared.resolve(AccountLoader.self)?.load(), [1, 2, 3])
  }

  func testDecorators() {
    final class Seen: @unchecked Sendable {
      var all: [String] = []
      var new: [Bool] = []
    }
    let seen = Seen()
    PaymentContainer.shared.decorator { seen.all.append("\(type(of: $0))") }
    _ = PaymentContainer.shared.currency()
    PaymentContainer.shared.gateway.decorator { _, isNew in seen.new.append(isNew) }
    _ = PaymentContainer.shared.gateway()
    _ = PaymentContainer.shared.gateway()
    XCTAssertEqual(seen.all, ["String"])
    XCTAssertEqual(seen.new, [true, false])
  }

  func testResolvingAgain() {
    let model = UserViewModel()
    let id = model.users.id
    Container.shared.userService.register { MockUserService() }
    XCTAssertEqual(model.users.id, id)
    model.$users.resolve()
    XCTAssertNotEqual(model.users.id, id)
    XCTAssertEqual(model.$users.factory().name(of: 1), "mock 1")
    model.users = MockUserService("set")
    XCTAssertEqual(model.title(for: 1), "set 1")
  }

  func testPassedIn() {
    let container = Container()
    container.userService.register { MockUserService() }
    let passed = PassedIn(container: container, number: 7)
    XCTAssertEqual(passed.users.name(of: passed.account.number), "mock 7")
    XCTAssertEqual(UserViewModel().title(for: 7), "live/users/7")
  }

  func testGlobalFunctions() {
    XCTAssertEqual(dependency(\.network).get(""), "live")
    XCTAssertEqual(dependency(\PaymentContainer.currency), "EUR")
    XCTAssertEqual(dependency(\.account, parameter: 4).number, 4)
  }

  func testAContainerOfOnesOwn() {
    Container.$shared.withValue(Container()) {
      Container.shared.network.register { Network(host: "own") }
      XCTAssertEqual(UserViewModel().ping(), "own/ping")
    }
    XCTAssertEqual(UserViewModel().ping(), "live/ping")
  }

  func testTheDefaultScope() {
    let container = Container()
    container.manager.defaultScope = .cached
    XCTAssertTrue(container.reportPart() === container.reportPart())
    XCTAssertFalse(Container.shared.reportPart() === Container.shared.reportPart())
  }

  @MainActor
  func testAnObservableModel() {
    let model = Container.shared.demoModel()
    model.press()
    XCTAssertEqual(model.name(), "live/users/1")
    XCTAssertFalse(Container.shared.demoModel() === model)
  }

  func testTracing() {
    let manager = Container.shared.manager
    let before = manager.logger
    defer { manager.logger = before }
    let logger = DemoLogger()
    manager.logger = { logger.log($0) }
    manager.trace.toggle()
    _ = Container.shared.report()
    manager.trace.toggle()
    XCTAssertEqual(logger.all.count, 5)
    XCTAssertTrue(logger.all[0].hasPrefix("0: Container.report<Report> = F:"))
    XCTAssertTrue(logger.all[4].contains("reportStamp") && logger.all[4].contains(" = C:"))
  }
}
