import CServiceKit
import XCTest

@testable import ServiceKitCore

final class TeardownTests: XCTestCase {
  private let container = Container.create(parent: nil)
  private let order = Shared<[String]>([])

  override func tearDown() { container.destroy() }

  private func register(_ key: String, _ scope: ScopeKind, requires: [String] = []) {
    let maker = Maker(key, order: order) { building in
      for each in requires {
        let status = building.require(each)
        guard status == SVK_OK else { return status }
      }
      return SVK_OK
    }
    container.register(key, maker.registration(scope))
  }

  func testDependentsEndFirst() throws {
    for scope in [ScopeKind.unique, .cached, .shared, .graph] {
      order.change { $0 = [] }
      register("a", scope)
      register("b", scope, requires: ["a"])
      register("c", scope, requires: ["b", "a"])
      try container.touch("c")
      try container.reset(registrations: false, contexts: false, scopes: true)
      let ends = order.value
      for key in ["a", "b", "c"] { XCTAssertTrue(ends.contains(key)) }
      XCTAssertLessThan(try XCTUnwrap(ends.firstIndex(of: "c")), try XCTUnwrap(ends.firstIndex(of: "b")))
      XCTAssertLessThan(try XCTUnwrap(ends.firstIndex(of: "b")), try XCTUnwrap(ends.lastIndex(of: "a")))
      XCTAssertEqual(ends.count, scope == .unique ? 4 : 3)
    }
  }

  func testAContainersEndIsInOrderWhateverTheKeysOrder() throws {
    // Built in an order that is neither that of their names nor the reverse.
    for (key, requires) in [("m", ["a", "z"]), ("a", ["z"]), ("z", []), ("b", ["m"])] {
      register(key, .cached, requires: requires)
    }
    try container.touch("b")
    XCTAssertTrue(container.destroy())
    XCTAssertEqual(order.value, ["b", "m", "a", "z"])
  }

  func testAnInstanceThatIsRequiredOutlivesItsReset() throws {
    register("a", .cached)
    register("b", .cached, requires: ["a"])
    try container.touch("b")
    XCTAssertEqual(container.unregister("a"), SVK_OK)
    XCTAssertEqual(order.value, [])
    XCTAssertEqual(container.unregister("b"), SVK_OK)
    XCTAssertEqual(order.value, ["b", "a"])
  }

  func testALongChainEndsWithoutADeepStack() throws {
    // Each link is built by hand: resolving so deep would need a deep stack, as the program's factories nest.
    let bench = Bench()
    let count = 100_000
    let ends = Tally()
    let registration = CRegistration(
      create: { _, _, _ in SVK_OK },
      destroy: { _, tally in Unmanaged<Tally>.fromOpaque(tally!).takeUnretainedValue().add() },
      userData: UserData(Unmanaged.passUnretained(ends).toOpaque(), free: nil), scope: .unique, customScope: nil,
      timeToLive: 0, cachesByParameter: false, type: nil, requiredKeys: [], context: nil)
    var dependencies: [Token] = []
    for number in 0..<count {
      let instance = Instance.create(
        value: UnsafeMutableRawPointer(bitPattern: 8)!, container: bench.container, cell: bench.cell(),
        registration: registration, scope: ScopeChoice(.unique), parameter: nil, dependencies: dependencies)
      let marks = number < count - 1 ? LeaseSlot.Mark.dependency : 0
      dependencies = [Instance.lease(instance, marks: marks, on: ThreadRecord.current)]
    }
    XCTAssertEqual(ends.value, 0)
    XCTAssertTrue(LeaseTable.release(dependencies[0]))
    XCTAssertEqual(ends.value, count)
    XCTAssertEqual(bench.cell().pointee.liveInstances.load(ordering: .relaxed), 0)
  }

  func testADestructorIsACallback() throws {
    let wasCallback = Tally()
    let pointer = Unmanaged.passUnretained(wasCallback).toOpaque()
    container.register(
      "key",
      CRegistration(
        create: { _, instance, _ in
          instance!.pointee = UnsafeMutableRawPointer(bitPattern: 8)
          return SVK_OK
        },
        destroy: { _, tally in
          if Callback.isRunning { Unmanaged<Tally>.fromOpaque(tally!).takeUnretainedValue().add() }
        }, userData: UserData(pointer, free: nil), scope: .unique, customScope: nil, timeToLive: 0,
        cachesByParameter: false, type: nil, requiredKeys: [], context: nil))
    let handle = try Resolve.handle(container.token, KeyView(ByteView("key")))
    XCTAssertTrue(LeaseTable.release(handle))
    XCTAssertEqual(wasCallback.value, 1)
  }
}
