import CServiceKit
import XCTest

@testable import ServiceKitCore

final class DecoratorTests: XCTestCase {
  private final class Sink: @unchecked Sendable {
    let name: String
    let calls: Shared<[String]>
    let frees = Tally()

    init(_ name: String, _ calls: Shared<[String]>) {
      self.name = name
      self.calls = calls
    }

    var decorator: Decorator {
      CDecorator(
        { instance, key, isNew, sink in
          let sink = Unmanaged<Sink>.fromOpaque(sink!).takeUnretainedValue()
          let line =
            "\(sink.name): \(Product.of(instance).name) as \(String(cString: key!))\(isNew == 1 ? ", new" : "")"
          sink.calls.change { $0.append(line) }
        },
        UserData(
          Unmanaged.passRetained(self).toOpaque(),
          free: { Unmanaged<Sink>.fromOpaque($0!).takeRetainedValue().frees.add() }))
    }
  }

  private let calls = Shared<[String]>([])
  private let parent = Container.create(parent: nil)
  private lazy var child = Container.create(parent: parent)

  override func tearDown() {
    child.destroy()
    parent.destroy()
  }

  func testItSeesEveryResolveHitsAndRequirementsIncluded() throws {
    let sink = Sink("d", calls)
    parent.register("leaf", Maker("l").registration(.cached))
    parent.register("top", Maker("t") { $0.require("leaf") }.registration(.unique))
    try parent.touch("leaf")
    try parent.decorate(nil, sink.decorator)
    try child.touch("leaf")
    try child.touch("top")
    XCTAssertEqual(calls.value, ["d: l as leaf", "d: l as leaf", "d: t as top, new"])
    try parent.decorate(nil, nil)
    XCTAssertEqual(sink.frees.value, 1)
    try child.touch("leaf")
    XCTAssertEqual(calls.value.count, 3)
  }

  func testTheKeysOwnRunsInsteadOfTheContainers() throws {
    let (ofContainer, ofKey) = (Sink("container", calls), Sink("key", calls))
    parent.register("a", Maker("1").registration(.cached))
    parent.register("b", Maker("2").registration(.cached))
    try child.decorate(nil, ofContainer.decorator)
    try parent.decorate(ByteView("a"), ofKey.decorator)
    try child.touch("a")
    try child.touch("b")
    XCTAssertEqual(calls.value, ["key: 1 as a, new", "container: 2 as b, new"])
  }

  func testADecoratorOutlivesItsKeysRegistration() throws {
    let sink = Sink("d", calls)
    try parent.decorate(ByteView("a"), sink.decorator)
    parent.register("a", Maker("1").registration(.cached))
    XCTAssertEqual(parent.unregister("a"), SVK_OK)
    parent.register("a", Maker("2").registration(.cached))
    try parent.touch("a")
    XCTAssertEqual(calls.value, ["d: 2 as a, new"])
  }

  func testItMayTakeItselfAway() throws {
    let freed = Tally()
    let (container, seen) = (parent, Shared<[Int]>([]))
    final class Context {
      let run: () -> Void
      let freed: Tally
      init(_ freed: Tally, _ run: @escaping () -> Void) {
        self.run = run
        self.freed = freed
      }
    }
    let context = Context(freed) {
      try? container.decorate(nil, nil)
      seen.change { $0.append(freed.value) }
    }
    try container.decorate(
      nil,
      CDecorator(
        { _, _, _, context in Unmanaged<Context>.fromOpaque(context!).takeUnretainedValue().run() },
        UserData(
          Unmanaged.passUnretained(context).toOpaque(),
          free: { Unmanaged<Context>.fromOpaque($0!).takeUnretainedValue().freed.add() })))
    container.register("a", Maker().registration(.cached))
    try container.touch("a")
    try container.touch("a")
    XCTAssertEqual(seen.value, [0], "freed while it ran, or called again")
    XCTAssertEqual(freed.value, 1)
    withExtendedLifetime(context) {}
  }

  func testDecoratorsAreReplacedWhileOthersResolve() {
    let (sinks, container) = ((0..<2).map { Sink("\($0)", Shared<[String]>([])) }, parent)
    container.register("a", Maker("1").registration(.cached))
    let failed = Tally()
    storm(4, rounds: 300) { thread, round in
      if thread < 2 {
        try? container.decorate(round % 2 == 0 ? ByteView("a") : nil, sinks[thread].decorator)
      } else if let held = container.tryResolve("a").held {
        held.release()
      } else {
        failed.add()
      }
    }
    try? container.decorate(ByteView("a"), nil)
    try? container.decorate(nil, nil)
    XCTAssertEqual(failed.value, 0)
    XCTAssertEqual(sinks.reduce(0) { $0 + $1.frees.value }, 600)
  }
}
