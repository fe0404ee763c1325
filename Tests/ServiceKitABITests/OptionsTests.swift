import CServiceKit
import ServiceKitABI
import XCTest

/// The sizes that a struct of options may have.
final class OptionsTests: XCTestCase {
  private var container: Word!

  override func setUpWithError() throws { container = try made { svk_container_create($0) } }

  override func tearDown() { ok(svk_container_destroy(container)) }

  /// Calls with each size; the struct stands at the beginning of 4 KB and more.
  private func check<Options>(
    _ options: Options, smallest: Int, file: StaticString = #filePath, line: UInt = #line,
    _ call: (UnsafePointer<Options>) -> svk_status
  ) {
    let known = MemoryLayout<Options>.size
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 8_192, alignment: 16)
    defer { memory.deallocate() }
    func answer(_ size: UInt32, byteAt offset: Int? = nil) -> svk_status {
      memory.initializeMemory(as: UInt8.self, repeating: 0, count: 8_192)
      withUnsafeBytes(of: options) { memory.copyMemory(from: $0.baseAddress!, byteCount: known) }
      memory.storeBytes(of: size, as: UInt32.self)
      if let offset { memory.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self) }
      return call(UnsafePointer(memory.assumingMemoryBound(to: Options.self)))
    }
    for size in [0, 1, 4, smallest - 8, smallest - 1, 4_097, 8_192, Int(UInt32.max)] {
      XCTAssertEqual(answer(UInt32(size)), SVK_INVALID_ARGUMENT, "size \(size)", file: file, line: line)
      XCTAssertTrue(lastError.contains("sizeof"), lastError, file: file, line: line)
    }
    for size in [smallest, known, known + 1, known + 8, 4_096] {
      XCTAssertEqual(answer(UInt32(size)), SVK_OK, "size \(size): \(lastError)", file: file, line: line)
    }
    // What this version does not know must not be set; what lies behind the size is not looked at.
    for (size, offset) in [(known + 1, known), (known + 8, known + 7), (4_096, known), (4_096, 4_095)] {
      XCTAssertEqual(
        answer(UInt32(size), byteAt: offset), SVK_INVALID_ARGUMENT, "byte \(offset) of \(size)", file: file, line: line)
    }
    for (size, offset) in [(known, known), (known + 8, known + 8), (4_096, 4_096)] {
      XCTAssertEqual(
        answer(UInt32(size), byteAt: offset), SVK_OK, "byte \(offset) behind \(size)", file: file, line: line)
    }
  }

  private var is64: Bool { UInt.bitWidth == 64 }

  func testOfAFactory() {
    var options = svk_factory_options.defaults
    options.create = { _, _, _ in SVK_FACTORY_ERROR_BASE }
    let container = container
    check(options, smallest: is64 ? 80 : 48) { svk_register(container, "key", $0) }
    check(options, smallest: is64 ? 80 : 48) { svk_register_for(container, "key", "test", $0) }
  }

  func testOfAStream() {
    check(svk_stream_options.defaults, smallest: is64 ? 40 : 24) { options in
      let (status, stream): (svk_status, Word?) = out { svk_stream_create(options, $0) }
      XCTAssertEqual(stream == nil, status != SVK_OK)
      if stream != nil { ok(svk_stream_destroy(stream)) }
      return status
    }
  }

  func testOfAService() {
    check(svk_service_options.defaults, smallest: is64 ? 88 : 48) { options in
      let (status, service): (svk_status, Word?) = out { svk_service_create(options, $0) }
      XCTAssertEqual(service == nil, status != SVK_OK)
      if service != nil { ok(svk_service_close(service)) }
      return status
    }
  }

  func testOfAnObserver() throws {
    let (stream, service) = try makeSource()
    var options = svk_observer_options.defaults
    options.on_state = { _, _ in }
    check(options, smallest: is64 ? 72 : 40) { options in
      let (status, subscription): (svk_status, Word?) = out { svk_service_observe(service, options, $0) }
      XCTAssertEqual(subscription == nil, status != SVK_OK)
      if subscription != nil { ok(svk_subscription_cancel(subscription)) }
      return status
    }
    ok(svk_service_close(service))
    ok(svk_stream_destroy(stream))
  }

  func testUnknownFlagsAndConstantsAreRefusedAndNothingIsKept() throws {
    let factory = Factory(8)
    for change: (inout svk_factory_options) -> Void in [
      { $0.flags = 2 }, { $0.flags = 1 << 31 }, { $0.scope = -1 }, { $0.scope = 7 }, { $0.create = nil },
    ] {
      var options = factory.options()
      change(&options)
      XCTAssertEqual(svk_register(container, "key", &options), SVK_INVALID_ARGUMENT)
    }
    var custom = factory.options(SVK_SCOPE_CUSTOM)
    XCTAssertEqual(svk_register(container, "key", &custom), SVK_INVALID_HANDLE)

    let (stream, service) = try makeSource()
    let listener = Listener()
    for change: (inout svk_observer_options) -> Void in [
      { $0.flags = 2 }, { $0.delivery = 4 }, { $0.delivery = -1 }, { $0.buffering = 4 }, { $0.on_state = nil },
      { $0.buffering = SVK_BUFFER_NEWEST },
    ] {
      var options = listener.observer()
      change(&options)
      let (status, subscription): (svk_status, Word?) = out { svk_service_observe(service, &options, $0) }
      XCTAssertEqual(status, SVK_INVALID_ARGUMENT)
      XCTAssertNil(subscription)
    }
    for change: (inout svk_service_options) -> Void in [
      { $0.flags = 2 }, { $0.delivery = SVK_DELIVER_PULL }, { $0.delivery = 9 }, { $0.initial_size = 1 },
    ] {
      var options = svk_service_options.defaults
      options.user_data = listener.pointer
      options.user_data_free = UserData.free
      change(&options)
      let (status, service): (svk_status, Word?) = out { svk_service_create(&options, $0) }
      XCTAssertEqual(status, SVK_INVALID_ARGUMENT)
      XCTAssertNil(service)
    }
    for change: (inout svk_stream_options) -> Void in [
      { $0.buffering = 4 }, { $0.buffering = SVK_BUFFER_BLOCK }, { $0.buffering = -1 },
    ] {
      var options = svk_stream_options.defaults
      options.user_data = listener.pointer
      options.user_data_free = UserData.free
      change(&options)
      let (status, stream): (svk_status, Word?) = out { svk_stream_create(&options, $0) }
      XCTAssertEqual(status, SVK_INVALID_ARGUMENT)
      XCTAssertNil(stream)
    }
    XCTAssertEqual(factory.frees.value + listener.frees.value, 0)
    ok(svk_service_close(service))
    ok(svk_stream_destroy(stream))
  }
}
