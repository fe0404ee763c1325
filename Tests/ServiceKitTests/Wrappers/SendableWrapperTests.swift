import Observation
import ServiceKit
import ServiceKitTesting
import XCTest

/// That wrappers can sit in types that are checked for concurrency: this compiles without a warning, or not at all.
final class SendableWrapperTests: XCContainerTestCase {
  private struct Everything: Sendable {
    @Injected(\.voice) var injected
    @LazyInjected(\.voice) var lazy
    @WeakLazyInjected(\.voice) var weak
    @DynamicInjected(\.voice) var dynamic
    @InjectedType var typed: Speaker?
    @InjectedContainer var container
    @InjectedObservable(\.observed) var observed
  }

  @MainActor @Observable
  fileprivate final class Model {
    @ObservationIgnored @Injected(\.voice) var injected
    @ObservationIgnored @LazyInjected(\.voice) var lazy
    @ObservationIgnored @WeakLazyInjected(\.voice) var weak
    @ObservationIgnored @DynamicInjected(\.voice) var dynamic
    @ObservationIgnored @InjectedContainer var container
    @ObservationIgnored @InjectedObservable(\.observed) var observed
    @ObservationIgnored @Injected(\.onMainActor) var mainActor
    @ObservationIgnored @LazyInjected(\.onMainActor) var lazyMainActor
    var changes = 0
  }

  private actor Keeper {
    @Injected(\.voice) var injected
    @LazyInjected(\.voice) var lazy
    func texts() -> [String] { [injected.text, lazy.text] }
  }

  func testASendableValueGoesToAnotherTask() async {
    let everything = Everything()
    let texts = await Task.detached { [everything.injected.text, everything.lazy.text, everything.dynamic.text] }.value
    XCTAssertEqual(texts, ["hello", "hello", "hello"])
    XCTAssertTrue(everything.observed === everything.observed)
  }

  @MainActor
  func testAnObservableModelOnTheMainActor() {
    let model = Model()
    model.changes += 1
    XCTAssertEqual([model.injected, model.lazy, model.dynamic].map(\.text), ["hello", "hello", "hello"])
    XCTAssertEqual(model.mainActor.number, 1)
    XCTAssertEqual(model.lazyMainActor.number, 1)
    model.$lazy.resolve()
  }

  func testAnActor() async {
    let texts = await Keeper().texts()
    XCTAssertEqual(texts, ["hello", "hello"])
  }
}

@Observable
private final class Observed: @unchecked Sendable {
  var count = 0
}

@MainActor
final class OnMainActor {
  var number = 1
}

extension Container {
  fileprivate var observed: Factory<Observed> { self { Observed() } }
  @MainActor fileprivate var onMainActor: Factory<OnMainActor> { self { OnMainActor() } }
}
