import ServiceKit
import XCTest

/// What older programs say still works, with a warning.
final class OlderNamesTests: XCTestCase {
  private let container = Container()

  @available(*, deprecated, message: "It tests what is deprecated.")
  func testWith() async {
    container.with { $0.name.register { "with" } }
    XCTAssertEqual(container.name(), "with")
    await container.with {
      await Task.yield()
      $0.name.register { "with, after a wait" }
    }
    XCTAssertEqual(container.name(), "with, after a wait")
  }

  func testTypeAliasesAndTheRegistration() {
    let plain: VoidFactoryType<String> = { "plain" }
    let numbered: ParameterFactoryType<Int, String> = { "\($0)" }
    XCTAssertEqual(Factory(container, key: "plain", plain)(), "plain")
    XCTAssertEqual(ParameterFactory(container, key: "numbered", numbered)(5), "5")
    var factory = container.name
    factory.registration = container.otherName.registration
    XCTAssertEqual(factory(), "other")
  }
}

extension Container {
  fileprivate var name: Factory<String> { self { "defined" } }
  fileprivate var otherName: Factory<String> { self { "other" } }
}
