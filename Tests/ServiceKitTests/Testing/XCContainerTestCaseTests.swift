import ServiceKit
import ServiceKitTesting
import XCTest

/// Two tests do the same, so that whichever comes second would see what the first left behind.
final class XCContainerTestCaseTests: XCContainerTestCase {
  override var transform: (@Sendable (Container) -> Void)? { { $0.prepared.register { "prepared" } } }

  override func setUp() {
    Container.shared.fromSetUp.register { "set up" }
  }

  private func beginAfresh() {
    XCTAssertEqual(Container.shared.prepared(), "prepared")
    XCTAssertEqual(Container.shared.fromSetUp(), "set up")
    XCTAssertEqual(Container.shared.name(), "nobody")
    XCTAssertNil(Container.shared.only().owner)
    Container.shared.name.register { "somebody" }
    Container.shared.only().owner = "somebody"
    XCTAssertEqual(Container.shared.only().owner, "somebody")
  }

  func testBeginsAfresh() { beginAfresh() }

  func testBeginsAfreshEachTime() { beginAfresh() }

  func testAnAsyncTestHasItToo() async {
    beginAfresh()
    await Task.yield()
    XCTAssertEqual(Container.shared.name(), "somebody")
    await Task { XCTAssertEqual(Container.shared.only().owner, "somebody") }.value
  }

  @MainActor
  func testATestOnTheMainActorHasItToo() async {
    beginAfresh()
    await Task.yield()
    XCTAssertEqual(Container.shared.name(), "somebody")
  }
}

final class WithContainerTests: XCTestCase {
  func testOperationsAreApart() {
    XCTAssertNil(Container.shared.onlyApart().owner)
    withContainer(shared: Container.$shared, container: Container()) {
      Container.shared.onlyApart().owner = "inside"
      withContainer(shared: Container.$shared, container: Container()) {
        // A copy of the singletons has the instances that were there already.
        XCTAssertEqual(Container.shared.onlyApart().owner, "inside")
        Scope.singleton.reset()
        XCTAssertNil(Container.shared.onlyApart().owner)
      }
      XCTAssertEqual(Container.shared.onlyApart().owner, "inside")
    } transform: {
      $0.name.register { "prepared" }
      XCTAssertEqual($0.name(), "prepared")
    }
  }

  func testWhatIsMadeInsideGoesWithIt() {
    let living = Tally()
    withContainer(shared: Container.$shared, container: Container()) {
      Container.shared.counted.register { Counted(Tally(), living: living) }
      _ = Container.shared.counted()
      XCTAssertEqual(living.value, 1)
    }
    XCTAssertEqual(living.value, 0)
  }

  func testErrorsComeOut() async {
    struct Failed: Error {}
    XCTAssertThrowsError(
      try withContainer(shared: Container.$shared, container: Container(), operation: { throw Failed() }))
    do {
      try await withContainer(
        shared: Container.$shared, container: Container(),
        operation: {
          await Task.yield()
          throw Failed()
        })
      XCTFail("came back")
    } catch { XCTAssertTrue(error is Failed) }
  }

  @MainActor
  func testAnAsyncOperationStaysOnItsActor() async {
    var steps: [String] = []
    await withContainer(shared: Container.$shared, container: Container()) {
      await Task.yield()
      MainActor.assertIsolated()
      steps.append(Container.shared.name())
    } transform: {
      $0.name.register { "prepared" }
    }
    XCTAssertEqual(steps, ["prepared"])
  }
}

private final class Only: @unchecked Sendable {
  var owner: String?
}

extension Container {
  fileprivate var name: Factory<String> { self { "nobody" } }
  fileprivate var prepared: Factory<String> { self { "not prepared" } }
  fileprivate var fromSetUp: Factory<String> { self { "not set up" } }
  fileprivate var only: Factory<Only> { self { Only() }.singleton }
  fileprivate var onlyApart: Factory<Only> { self { Only() }.singleton }
  fileprivate var counted: Factory<Counted> { self { Counted(Tally()) }.cached }
}
