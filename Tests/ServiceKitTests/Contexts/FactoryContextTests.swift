import ServiceKit
import XCTest

/// Which context's factory is asked, and what can be said about the process.
final class FactoryContextTests: XCTestCase {
  private let container = Container()
  private let before = FactoryContext.current

  override func setUp() {
    FactoryContext.current.arguments = ["program"]
    for key in FactoryContext.current.runtimeArguments.keys { FactoryContext.removeArg(forKey: key) }
  }

  override func tearDown() {
    FactoryContext.current = before
  }

  /// Says what of the process is true, and nothing else.
  private func set(preview: Bool = false, test: Bool = false, simulator: Bool = false, debug: Bool = false) {
    FactoryContext.current.isPreview = preview
    FactoryContext.current.isTest = test
    FactoryContext.current.isSimulator = simulator
    FactoryContext.current.isDebug = debug
  }

  func testATestProcessIsSeenAsOne() {
    XCTAssertTrue(before.isTest)
    XCTAssertFalse(before.isPreview)
    XCTAssertEqual(before.arguments, CommandLine.arguments)
    #if DEBUG
      XCTAssertTrue(before.isDebug)
    #else
      XCTAssertFalse(before.isDebug)
    #endif
  }

  func testTheOrderOfTheContexts() {
    FactoryContext.current.arguments = ["program", "launch"]
    FactoryContext.setArg("runtime", forKey: "key")
    set(preview: true, test: true, simulator: true, debug: true)
    let steps: [(String, () -> Void)] = [
      ("launch", { FactoryContext.current.arguments = [] }),
      ("runtime", { FactoryContext.removeArg(forKey: "key") }),
      ("preview", { FactoryContext.current.isPreview = false }),
      ("test", { FactoryContext.current.isTest = false }),
      ("simulator", { FactoryContext.current.isSimulator = false }),
      ("device", {}),
    ]
    for (expected, next) in steps {
      XCTAssertEqual(container.everywhere(), expected)
      XCTAssertEqual(container.everywhereOutside(), "defined")
      next()
    }
  }

  func testTheSameOrderFromOutside() {
    container.everywhereOutside
      .onDebug { "debug" }.onDevice { "device" }.onSimulator { "simulator" }.onTest { "test" }
      .onPreview { "preview" }.onArg("runtime") { "runtime" }.onArgs(["launch", "other"]) { "launch" }
    FactoryContext.current.arguments = ["program", "launch"]
    FactoryContext.setArg("runtime", forKey: "key")
    set(preview: true, test: true, simulator: true, debug: true)
    XCTAssertEqual(container.everywhereOutside(), "launch")
    FactoryContext.current.arguments = []
    XCTAssertEqual(container.everywhereOutside(), "runtime")
    FactoryContext.removeArg(forKey: "key")
    XCTAssertEqual(container.everywhereOutside(), "preview")
    FactoryContext.current.isPreview = false
    XCTAssertEqual(container.everywhereOutside(), "test")
    FactoryContext.current.isTest = false
    XCTAssertEqual(container.everywhereOutside(), "simulator")
    FactoryContext.current.isSimulator = false
    XCTAssertEqual(container.everywhereOutside(), "device")
  }

  func testDebugIsLast() {
    set(debug: true)
    XCTAssertEqual(container.forDebug(), "debug")
    set(debug: false)
    XCTAssertEqual(container.forDebug(), "defined")
    set(test: true, debug: true)
    XCTAssertEqual(container.forDebug.onTest { "test" }(), "test")
  }

  func testAContextGoesBeforeWhatIsRegistered() {
    set(test: true)
    container.plainName.onTest { "test" }
    container.plainName.register { "registered" }
    XCTAssertEqual(container.plainName(), "test")
    set()
    XCTAssertEqual(container.plainName(), "registered")
  }

  func testLaunchArgumentsInTheirOrder() {
    container.plainName.onArg("a") { "a" }.onArg("b") { "b" }
    FactoryContext.current.arguments = ["b", "a"]
    XCTAssertEqual(container.plainName(), "b")
    FactoryContext.current.arguments = ["a", "b"]
    XCTAssertEqual(container.plainName(), "a")
  }

  func testRuntimeArgumentsInTheOrderInWhichTheyWereSet() {
    container.plainName.onArg("a") { "a" }.onArg("b") { "b" }.onArg("c") { "c" }
    FactoryContext.setArg("b", forKey: "2")
    FactoryContext.setArg("a", forKey: "1")
    FactoryContext.setArg("c", forKey: "3")
    XCTAssertEqual(FactoryContext.current.runtimeArguments, ["1": "a", "2": "b", "3": "c"])
    XCTAssertEqual(container.plainName(), "b")
    FactoryContext.removeArg(forKey: "2")
    XCTAssertEqual(container.plainName(), "a")
    FactoryContext.setArg("b", forKey: "2")
    XCTAssertEqual(container.plainName(), "a")
    FactoryContext.removeArg(forKey: "1")
    XCTAssertEqual(container.plainName(), "c")
    FactoryContext.removeArg(forKey: "not there")
    FactoryContext.current.runtimeArguments = [:]
    XCTAssertEqual(container.plainName(), "defined")
  }

  func testAContextsRegistrationForgetsNothing() {
    set(test: true)
    let kept = container.cachedVoice()
    container.cachedVoice.onTest { Speaker("test") }
    XCTAssertTrue(container.cachedVoice() === kept)
    container.cachedVoice.reset(.scope)
    XCTAssertEqual(container.cachedVoice().text, "test")
  }

  func testSeveralContextsAtOnce() {
    container.plainName.context(.preview, .test) { "either" }
    set(test: true)
    XCTAssertEqual(container.plainName(), "either")
    set(preview: true)
    XCTAssertEqual(container.plainName(), "either")
    set()
    XCTAssertEqual(container.plainName(), "defined")
  }

  func testResettingContexts() {
    set(test: true)
    container.plainName.register { "registered" }.onTest { "test" }
    container.plainName.reset(.context)
    XCTAssertEqual(container.plainName(), "registered")
    container.plainName.onTest { "test" }
    container.manager.reset(options: .registration)
    XCTAssertEqual(container.plainName(), "test")
    container.manager.reset(options: .context)
    XCTAssertEqual(container.plainName(), "defined")
  }

  func testManyThreadsChangeAndRead() {
    let container = container
    container.plainName.onTest { "test" }.onArg("a") { "a" }
    runThreads(4) { thread in
      for round in 0..<300 {
        switch thread {
        case 0: FactoryContext.current.isTest = round % 2 == 0
        case 1: FactoryContext.setArg("a", forKey: "key")
        case 2: FactoryContext.removeArg(forKey: "key")
        default: XCTAssertTrue(["a", "test", "defined"].contains(container.plainName()))
        }
      }
    }
  }
}

extension Container {
  fileprivate var everywhere: Factory<String> {
    self { "defined" }.onDebug { "debug" }.onDevice { "device" }.onSimulator { "simulator" }.onTest { "test" }
      .onPreview { "preview" }.onArg("runtime") { "runtime" }.onArgs(["launch", "other"]) { "launch" }
  }
  fileprivate var everywhereOutside: Factory<String> { self { "defined" } }
  fileprivate var forDebug: Factory<String> { self { "defined" }.onDebug { "debug" } }
  fileprivate var plainName: Factory<String> { self { "defined" } }
  fileprivate var cachedVoice: Factory<any Voice> { self { Speaker("defined") }.cached }
}
