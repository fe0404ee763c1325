import Observation
import ServiceKit
import ServiceKitTesting
import XCTest

/// An actor-isolated factory can be declared, and `@Injected` can sit in a `Sendable` or `@Observable` type, in Swift 6
/// mode without warnings: this compiles, or not at all.
final class Hazard10IsolationTests: XCContainerTestCase {
  @MainActor
  func testAFactoryOfTheMainActor() {
    XCTAssertEqual(Container.shared.window().title, "window")
    XCTAssertTrue(Container.shared.keptWindow() === Container.shared.keptWindow())
    Container.shared.window.register { Window("registered") }
    XCTAssertEqual(Container.shared.window().title, "registered")
    Container.shared.window.onTest { Window("in a test") }
    XCTAssertEqual(Container.shared.window().title, "in a test")
    XCTAssertEqual(Container.shared.windowByTitle("given").title, "given")
  }

  @MainActor
  func testWrappersOnTheMainActor() {
    let screen = Screen()
    XCTAssertEqual(screen.window.title, "window")
    XCTAssertEqual(screen.lazyWindow.title, "window")
    XCTAssertEqual(screen.voice.text, "hello")
    screen.presses += 1
  }

  func testFromElsewhere() async {
    let title = await MainActor.run { Container.shared.window().title }
    XCTAssertEqual(title, "window")
  }

  @OwnActor
  func testAFactoryOfAnotherGlobalActor() {
    XCTAssertEqual(Container.shared.engine().power, 5)
  }

  func testSendableValues() async {
    let value = SendableValue()
    let texts = await Task.detached { value.voice.text + value.lazy.text }.value
    XCTAssertEqual(texts, "hellohello")
  }

  func testActors() async {
    let text = await Keeper().text()
    XCTAssertEqual(text, "hello")
  }
}

@MainActor
private final class Window {
  let title: String
  init(_ title: String) { self.title = title }
}

@MainActor @Observable
private final class Screen {
  @ObservationIgnored @Injected(\.window) var window
  @ObservationIgnored @LazyInjected(\.keptWindow) var lazyWindow
  @ObservationIgnored @Injected(\.voice) var voice
  var presses = 0
}

private struct SendableValue: Sendable {
  @Injected(\.voice) var voice
  @LazyInjected(\.voice) var lazy
}

private actor Keeper {
  @Injected(\.voice) var voice
  func text() -> String { voice.text }
}

@globalActor
private actor OwnActor {
  static let shared = OwnActor()
}

@OwnActor
private final class Engine {
  let power = 5
}

extension Container {
  @MainActor fileprivate var window: Factory<Window> { self { Window("window") } }
  @MainActor fileprivate var keptWindow: Factory<Window> { self { Window("window") }.cached }
  @MainActor fileprivate var windowByTitle: ParameterFactory<String, Window> { self { Window($0) } }
  @OwnActor fileprivate var engine: Factory<Engine> { self { Engine() } }
}
