import ServiceKit
import XCTest

/// A container's decorator, and how it stands to a factory's.
final class DecoratorTests: XCTestCase {
  private let container = Container()

  func testSeesEveryResolve() {
    let seen = Guarded<[String]>([])
    container.decorator { instance in seen.change { $0.append("\(instance)") } }
    _ = (container.name(), container.number(), container.kept(), container.kept())
    XCTAssertEqual(seen.value, ["name", "5", "kept", "kept"])
    container.decorator(nil)
    _ = container.name()
    XCTAssertEqual(seen.value.count, 4)
  }

  func testAFactorysOwnReplacesIt() {
    let (seen, own) = (Tally(), Tally())
    container.decorator { _ in seen.add() }
    container.name.decorator { _ in own.add() }
    _ = (container.name(), container.number())
    XCTAssertEqual([seen.value, own.value], [1, 1])
    container.name.reset()
    _ = container.name()
    XCTAssertEqual([seen.value, own.value], [2, 1])
  }

  func testItMayResolveAndRegister() {
    let container = container
    container.decorator { [unowned container] instance in
      guard instance as? String == "name" else { return }
      _ = container.number()
      container.kept.register { "registered by the decorator" }
    }
    XCTAssertEqual(container.name(), "name")
    XCTAssertEqual(container.kept(), "registered by the decorator")
  }
}

extension Container {
  fileprivate var name: Factory<String> { self { "name" } }
  fileprivate var number: Factory<Int> { self { 5 } }
  fileprivate var kept: Factory<String> { self { "kept" }.cached }
}
