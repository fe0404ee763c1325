import CServiceKit
import ServiceKit
import ServiceKitABI
import Synchronization
import XCTest

private final class Logger: Sendable {
  let name: String
  init(_ name: String) { self.name = name }
}

private final class Clock: Sendable {
  private let service: CService
  init(_ service: CService) { self.service = service }
  var number: Int { service.instance.load(as: Int.self) }
}

extension Container {
  fileprivate var logger: Factory<Logger> { self { Logger("live") }.cached.onArg("border-test") { Logger("argument") } }
  fileprivate var clock: Factory<Clock> { imported("clock") { Clock($0) } }
  fileprivate var missing: Factory<Clock?> { imported("missing") { Clock($0) } }
  fileprivate var there: Factory<Clock?> { imported("back") { Clock($0) } }
  fileprivate var holder: Factory<Holder> { self { Holder(self.clock()) }.cached }
}

private final class Holder: Sendable {
  let clock: Clock
  init(_ clock: Clock) { self.clock = clock }
}

/// One container, seen from both sides.
final class BorderTests: XCTestCase {
  private let container = Container()
  private let destroyed = Atomic<Int>(0)

  private func register(
    _ key: String, scope: Int32 = SVK_SCOPE_CACHED,
    _ create: @escaping svk_create_fn = { _, instance, _ in
      instance?.pointee = UnsafeMutableRawPointer(bitPattern: 1)
      return SVK_OK
    }
  ) {
    var options = svk_factory_options()
    options.size = UInt32(MemoryLayout<svk_factory_options>.size)
    options.create = create
    options.scope = scope
    XCTAssertEqual(svk_register(container.cHandle, key, &options), SVK_OK)
  }

  /// A clock whose destructor counts into `destroyed`.
  private func registerClock(scope: Int32) {
    var options = svk_factory_options()
    options.size = UInt32(MemoryLayout<svk_factory_options>.size)
    options.scope = scope
    options.user_data = Unmanaged.passUnretained(self).toOpaque()
    options.create = { _, instance, _ in
      let number = UnsafeMutablePointer<Int>.allocate(capacity: 1)
      number.initialize(to: 7)
      instance?.pointee = UnsafeMutableRawPointer(number)
      return SVK_OK
    }
    options.destroy = { instance, test in
      instance?.deallocate()
      Unmanaged<BorderTests>.fromOpaque(test!).takeUnretainedValue().destroyed.add(1, ordering: .relaxed)
    }
    XCTAssertEqual(svk_register(container.cHandle, "clock", &options), SVK_OK)
  }

  private func resolve(_ key: String, in container: Container? = nil) -> (svk_status, Logger?) {
    var handle: OpaquePointer?
    let status = svk_resolve((container ?? self.container).cHandle, key, &handle)
    defer { XCTAssertEqual(svk_release(handle), handle == nil ? SVK_INVALID_HANDLE : SVK_OK) }
    return (status, svk_instance(handle).map { Unmanaged<Logger>.fromOpaque($0).takeUnretainedValue() })
  }

  func testASwiftFactoryIsResolvedFromCByName() {
    container.export(\.logger, as: "logger", type: "org.example.logger/1")
    let (status, logger) = resolve("logger")
    XCTAssertEqual(status, SVK_OK)
    XCTAssertTrue(logger === container.logger())
    XCTAssertTrue(resolve("logger").1 === logger)
    container.logger.register { Logger("registered") }
    XCTAssertEqual(resolve("logger").1?.name, "registered")
    var handle: OpaquePointer?
    XCTAssertEqual(
      svk_resolve_typed(container.cHandle, "logger", "org.example.other/1", &handle), SVK_TYPE_MISMATCH)
  }

  func testASwiftContextDecidesForCToo() {
    container.export(\.logger, as: "logger")
    FactoryContext.setArg("border-test", forKey: "border")
    defer { FactoryContext.removeArg(forKey: "border") }
    XCTAssertEqual(resolve("logger").1?.name, "argument")
  }

  func testAnExportedObjectLivesAsLongAsCsHandle() {
    container.export(\.logger, as: "logger")
    var handle: OpaquePointer?
    XCTAssertEqual(svk_resolve(container.cHandle, "logger", &handle), SVK_OK)
    weak let object = svk_instance(handle).map { Unmanaged<Logger>.fromOpaque($0).takeUnretainedValue() }
    container.logger.reset()
    XCTAssertNotNil(object)
    XCTAssertEqual(svk_release(handle), SVK_OK)
    XCTAssertNil(object)
  }

  func testACServiceIsResolvedFromSwiftAndHeld() {
    registerClock(scope: SVK_SCOPE_UNIQUE)
    var clock: Clock? = container.clock()
    XCTAssertEqual(clock?.number, 7)
    XCTAssertEqual(destroyed.load(ordering: .relaxed), 0)
    clock = nil
    XCTAssertEqual(destroyed.load(ordering: .relaxed), 1)
  }

  func testDependentsEndFirstAcrossTheBorder() {
    registerClock(scope: SVK_SCOPE_CACHED)
    var holder: Holder? = container.holder()
    XCTAssertEqual(svk_unregister(container.cHandle, "clock"), SVK_OK)
    XCTAssertEqual(destroyed.load(ordering: .relaxed), 0, "the Swift object still uses it")
    XCTAssertEqual(holder?.clock.number, 7)
    container.manager.reset(options: .scope)
    XCTAssertEqual(destroyed.load(ordering: .relaxed), 0)
    holder = nil
    XCTAssertEqual(destroyed.load(ordering: .relaxed), 1)
  }

  func testWhatCCannotGiveIsReported() {
    let heard = Mutex<[String]>([])
    let before = ServiceFailure.handler
    defer { ServiceFailure.handler = before }
    ServiceFailure.handler = { message, _, _ in heard.withLock { $0.append(message) } }
    XCTAssertNil(container.missing())
    XCTAssertTrue(heard.withLock { $0.first }!.contains("\"missing\" is not registered"))
    container.export(\.logger, as: "")
    XCTAssertTrue(heard.withLock { $0.last }!.contains("1 to 255 bytes"))
  }

  func testACycleOverTheBorderIsFound() {
    let heard = Mutex<[String]>([])
    let before = ServiceFailure.handler
    defer { ServiceFailure.handler = before }
    ServiceFailure.handler = { message, _, _ in heard.withLock { $0.append(message) } }
    container.export(
      \.there, as: "swift", instance: { _ in UnsafeMutableRawPointer(bitPattern: 8)! }, destroy: { _ in })
    register("back") { resolver, instance, _ in svk_require(resolver, "swift", instance) }
    _ = container.there()
    let message = heard.withLock { $0.first }
    XCTAssertTrue(message?.contains("there → back → swift → there") ?? false, message ?? "nothing")
  }

  func testTheSharedContainerIsOne() {
    XCTAssertEqual(Container.shared.cHandle, svk_container_shared())
    XCTAssertEqual(Container(cHandle: container.cHandle).cHandle, container.cHandle)
  }

  func testAContainerOfCIsSeenFromSwift() {
    var made: OpaquePointer?
    XCTAssertEqual(svk_container_create(&made), SVK_OK)
    let view = Container(cHandle: made!)
    XCTAssertTrue(view.logger() === Container(cHandle: made!).logger())
    view.export(\.logger, as: "logger")
    XCTAssertTrue(resolve("logger", in: view).1 === view.logger())
    XCTAssertEqual(svk_container_destroy(made), SVK_OK)
  }

  func testACopiedContainersNameGivesTheCopysInstance() {
    Container.$shared.withValue(container) {
      container.export(\.logger, as: "logger")
      withDependencies {
        $0.logger.register { Logger("copy") }
      } operation: {
        XCTAssertEqual(resolve("logger", in: Container.shared).1?.name, "copy")
      }
      XCTAssertEqual(resolve("logger").1?.name, "live")
    }
  }
}
