import ServiceKit
import ServiceKitTesting
import XCTest

final class WithDependenciesTests: XCContainerTestCase {
  func testTheOperationHasItsOwnSharedContainer() {
    let outside = Container.shared
    let result = withDependencies {
      XCTAssertFalse($0 === outside)
      $0.name.register { "inside" }
    } operation: {
      XCTAssertEqual(Container.shared.name(), "inside")
      XCTAssertEqual(dependency(\.name), "inside")
      return 5
    }
    XCTAssertEqual(result, 5)
    XCTAssertTrue(Container.shared === outside)
    XCTAssertEqual(Container.shared.name(), "defined")
  }

  func testItBeginsWithThePresentRegistrationsContextsAndSettings() {
    Container.shared.name.register { "registered" }
    Container.shared.contextual.onTest { "test" }
    Container.shared.manager.defaultScope = .cached
    Container.shared.manager.promiseTriggersError = false
    withDependencies { _ in
    } operation: {
      XCTAssertEqual([Container.shared.name(), Container.shared.contextual()], ["registered", "test"])
      XCTAssertTrue(Container.shared.manager.defaultScope === Scope.cached)
      XCTAssertFalse(Container.shared.manager.promiseTriggersError)
    }
  }

  func testCachesAreItsOwnAndSingletonsAreCloned() {
    let (kept, only) = (Container.shared.kept(), Container.shared.only())
    withDependencies { _ in
    } operation: {
      XCTAssertFalse(Container.shared.kept() === kept)
      XCTAssertTrue(Container.shared.only() === only)
      Scope.singleton.reset()
      XCTAssertFalse(Container.shared.only() === only)
    }
    XCTAssertTrue(Container.shared.kept() === kept)
    XCTAssertTrue(Container.shared.only() === only)
  }

  func testTheyNest() {
    withDependencies {
      $0.name.register { "outer" }
      $0.contextual.register { "outer" }
    } operation: {
      withDependencies {
        $0.name.register { "inner" }
      } operation: {
        XCTAssertEqual([Container.shared.name(), Container.shared.contextual()], ["inner", "outer"])
      }
      XCTAssertEqual(Container.shared.name(), "outer")
    }
  }

  func testErrorsComeOut() {
    struct Failed: Error {}
    XCTAssertThrowsError(try withDependencies({ _ in throw Failed() }, operation: {}))
    XCTAssertThrowsError(try withDependencies({ _ in }, operation: { throw Failed() }))
  }

  @MainActor
  func testAnAsyncOperationStaysOnItsActor() async {
    var steps: [String] = []
    await withDependencies {
      await Task.yield()
      $0.name.register { "inside" }
    } operation: {
      await Task.yield()
      MainActor.assertIsolated()
      steps.append(Container.shared.name())
      await Task { @MainActor in steps.append(Container.shared.name()) }.value
    }
    XCTAssertEqual(steps, ["inside", "inside"])
    XCTAssertEqual(Container.shared.name(), "defined")
  }
}

extension Container {
  fileprivate var name: Factory<String> { self { "defined" }.unique }
  fileprivate var contextual: Factory<String> { self { "defined" }.unique }
  fileprivate var kept: Factory<any Voice> { self { Speaker() }.cached }
  fileprivate var only: Factory<any Voice> { self { Speaker() }.singleton }
}
