import CServiceKit
import ServiceKitABI
import XCTest

/// A container as a Swift host uses it through the C functions.
final class FactoryTests: XCTestCase {
  private var container: Word!

  override func setUpWithError() throws { container = try made { svk_container_create($0) } }

  override func tearDown() { _ = svk_container_destroy(container) }

  private func register(_ key: String, _ factory: Factory, _ scope: Int32 = SVK_SCOPE_DEFAULT) {
    var options = factory.options(scope)
    ok(svk_register(container, key, &options))
  }

  func testAnInstanceComesAndGoesWithItsHandle() throws {
    let factory = Factory(0x100)
    register("key", factory)
    let handle: Word = try made { svk_resolve(container, "key", $0) }
    XCTAssertEqual(svk_instance(handle), UnsafeMutableRawPointer(bitPattern: 0x100))
    XCTAssertEqual(factory.destroyed.value, [])
    ok(svk_release(handle))
    XCTAssertEqual(factory.destroyed.value, [UnsafeMutableRawPointer(bitPattern: 0x100)!])
    XCTAssertNil(svk_instance(handle))
    XCTAssertEqual(svk_release(handle), SVK_INVALID_HANDLE)
    XCTAssertEqual(factory.frees.value, 0)
    ok(svk_unregister(container, "key"))
    XCTAssertEqual(factory.frees.value, 1)
  }

  func testAFactoryRequiresAndReadsItsParameter() throws {
    let seen = Shared<[String]>([])
    let container = container
    register("leaf", Factory(0x200), SVK_SCOPE_CACHED)
    register(
      "top",
      Factory { resolver in
        var data: UnsafeRawPointer?
        var size = 0
        let parameter = svk_resolver_parameter(resolver, &data, &size)
        let text = String(decoding: UnsafeRawBufferPointer(start: data, count: size), as: UTF8.self)
        let (status, leaf): (svk_status, UnsafeMutableRawPointer?) = out { svk_require(resolver, "leaf", $0) }
        let isOwn = svk_resolver_container(resolver) == container
        seen.change {
          $0.append("\(parameter) \(text) \(status) \(leaf == UnsafeMutableRawPointer(bitPattern: 0x200)) \(isOwn)")
        }
        return (SVK_OK, leaf.map { $0 + 1 })
      })
    let handle: Word = try made { out in
      "parameter".withCString { svk_resolve_with(container, "top", $0, 9, out) }
    }
    XCTAssertEqual(svk_instance(handle), UnsafeMutableRawPointer(bitPattern: 0x201))
    ok(svk_release(handle))
    let plain: Word = try made { svk_resolve(container, "top", $0) }
    ok(svk_release(plain))
    XCTAssertEqual(seen.value, ["0 parameter 0 true true", "0  0 true true"])
  }

  func testAFactorysFailureComesBack() {
    for answer in [SVK_FACTORY_ERROR_BASE + 3, Int32.max, SVK_BUSY] {
      register("key", Factory { _ in (answer, UnsafeMutableRawPointer(bitPattern: 8)) })
      let (status, handle): (svk_status, Word?) = out { svk_resolve(container, "key", $0) }
      XCTAssertEqual(status, answer)
      XCTAssertNil(handle)
    }
    let garbage = Factory { _ in (-12_345, UnsafeMutableRawPointer(bitPattern: 8)) }
    for factory in [garbage, Factory { _ in (SVK_OK, nil) }] {
      register("key", factory, SVK_SCOPE_CACHED)
      let (status, handle): (svk_status, Word?) = out { svk_resolve(container, "key", $0) }
      XCTAssertEqual(status, SVK_FACTORY_FAILED)
      XCTAssertNil(handle)
      XCTAssertTrue(lastError.contains("\"key\""), lastError)
    }
    XCTAssertEqual(garbage.destroyed.value, [], "what a failed factory made stays its own")
  }

  func testEveryWayToResolveGivesTheSame() throws {
    var options = Factory(0x300).options(SVK_SCOPE_CACHED)
    try "org.example/1".withCString { type in
      options.type = type
      ok(svk_register(container, "key", &options))
      let key: Word = try made { svk_key_intern("key", $0) }
      let handles: [Word] = [
        try made { svk_resolve(container, "key", $0) }, try made { svk_resolve_key(container, key, $0) },
        try made { svk_resolve_typed(container, "key", type, $0) },
        try made { svk_resolve_with(container, "key", nil, 0, $0) },
      ]
      XCTAssertEqual(Set(handles).count, 4)
      for handle in handles {
        XCTAssertEqual(svk_instance(handle), UnsafeMutableRawPointer(bitPattern: 0x300))
        ok(svk_release(handle))
      }
    }
    let pinned: UnsafeMutableRawPointer = try made { svk_pin(container, "key", $0) }
    XCTAssertEqual(pinned, UnsafeMutableRawPointer(bitPattern: 0x300))
  }

  func testArgumentsAreChecked() throws {
    register("key", Factory(8))
    var handle: Word?
    let bytes = [UInt8](repeating: 0, count: 65_537)
    XCTAssertEqual(svk_resolve(container, nil, &handle), SVK_INVALID_ARGUMENT)
    XCTAssertEqual(svk_resolve(container, "", &handle), SVK_INVALID_ARGUMENT)
    XCTAssertEqual(svk_resolve(container, String(repeating: "k", count: 256), &handle), SVK_INVALID_ARGUMENT)
    XCTAssertEqual(svk_resolve(container, "key", nil), SVK_INVALID_ARGUMENT)
    XCTAssertEqual(svk_resolve_with(container, "key", nil, 1, &handle), SVK_INVALID_ARGUMENT)
    XCTAssertEqual(svk_resolve_with(container, "key", bytes, 65_537, &handle), SVK_INVALID_ARGUMENT)
    XCTAssertEqual(svk_resolve_with(container, "key", bytes, -1, &handle), SVK_INVALID_ARGUMENT)
    XCTAssertEqual(svk_resolve_typed(container, "key", nil, &handle), SVK_INVALID_ARGUMENT)
    XCTAssertNil(handle)
    ok(svk_resolve_with(container, "key", bytes, 65_536, &handle))
    ok(svk_release(handle))
    var options = Factory(8).options()
    for context in ["", " ", "a,b", "a\u{1}"] {
      XCTAssertEqual(svk_register_for(container, "key", context, &options), SVK_INVALID_ARGUMENT)
    }
    for what in [0, 8, UInt32.max] {
      XCTAssertEqual(svk_container_reset(container, what), SVK_INVALID_ARGUMENT)
      XCTAssertEqual(svk_reset(container, "key", what), SVK_INVALID_ARGUMENT)
    }
    for scope in [SVK_SCOPE_CUSTOM, 7, -1] {
      XCTAssertEqual(svk_container_set_default_scope(container, scope), SVK_INVALID_ARGUMENT)
    }
    for level in [0, 5, -1] as [Int32] {
      XCTAssertEqual(svk_set_log({ _, _, _ in }, level, nil, { _ in XCTFail("freed") }), SVK_INVALID_ARGUMENT)
    }
  }

  func testRequiredKeysAreCopiedAndValidated() {
    var options = Factory(8).options()
    "other".withCString { other in
      var keys: [UnsafePointer<CChar>?] = [other, nil]
      keys.withUnsafeMutableBufferPointer { buffer in
        options.required_keys = UnsafePointer(buffer.baseAddress!)
        ok(svk_register(container, "key", &options))
      }
    }
    XCTAssertEqual(svk_container_validate(container), SVK_NOT_FOUND)
    XCTAssertTrue(lastError.contains("other"))
    register("other", Factory(8))
    ok(svk_container_validate(container))
  }

  func testADescriptionAsksForTheRoomItNeeds() throws {
    register("key", Factory(8))
    for format in [SVK_FORMAT_TEXT, SVK_FORMAT_JSON, SVK_FORMAT_DOT] {
      var needed = 0
      XCTAssertEqual(svk_container_describe(container, format, nil, 0, &needed), SVK_BUFFER_TOO_SMALL)
      XCTAssertGreaterThan(needed, 3)
      var buffer = [CChar](repeating: 0x5A, count: needed)
      XCTAssertEqual(svk_container_describe(container, format, &buffer, needed - 1, nil), SVK_BUFFER_TOO_SMALL)
      XCTAssertTrue(buffer.allSatisfy { $0 == 0x5A }, "written though it was too small")
      ok(svk_container_describe(container, format, &buffer, needed, nil))
      XCTAssertEqual(strlen(buffer) + 1, needed)
    }
    var needed = 7
    XCTAssertEqual(svk_container_describe(container, 3, nil, 0, &needed), SVK_INVALID_ARGUMENT)
    XCTAssertEqual(needed, 0)
    XCTAssertEqual(svk_container_describe(container, SVK_FORMAT_TEXT, nil, 1, &needed), SVK_INVALID_ARGUMENT)
  }

  func testAContainerDestroyedInItsFactoryIsDeferred() throws {
    let answers = Shared<[svk_status]>([])
    let container = container!
    register(
      "key",
      Factory { _ in
        let first = svk_container_destroy(container)
        let second = svk_container_destroy(container)
        answers.change { $0 = [first, second] }
        return (SVK_OK, UnsafeMutableRawPointer(bitPattern: 8))
      })
    let (_, handle): (svk_status, Word?) = out { svk_resolve(container, "key", $0) }
    XCTAssertEqual(answers.value, [SVK_DEFERRED, SVK_INVALID_HANDLE])
    if let handle { ok(svk_release(handle)) }
    XCTAssertEqual(svk_container_destroy(svk_container_shared()), SVK_INVALID_ARGUMENT)
  }

  func testTheHostSeesLogAndTrace() throws {
    final class Lines: UserData {
      let lines = Shared<[String]>([])
    }
    let (log, trace) = (Lines(), Lines())
    ok(
      svk_set_log(
        { level, message, lines in
          let line = "\(level) \(String(cString: message!))"
          UserData.of(lines, Lines.self).lines.change { $0.append(line) }
        }, SVK_LOG_DEBUG, log.pointer, UserData.free))
    ok(
      svk_container_set_trace(
        container,
        { event, lines in
          let line = "\(event!.pointee.kind) \(event!.pointee.depth) \(String(cString: event!.pointee.key))"
          UserData.of(lines, Lines.self).lines.change { $0.append(line) }
        }, trace.pointer, UserData.free))
    register("key", Factory(8), SVK_SCOPE_CACHED)
    let handle: Word = try made { svk_resolve(container, "key", $0) }
    ok(svk_container_destroy(container))
    XCTAssertEqual(trace.lines.value, ["\(SVK_TRACE_REGISTRATION) 0 key"])
    XCTAssertEqual(trace.frees.value, 1)
    XCTAssertEqual(log.lines.value.filter { $0.contains("\"key\"") }.count, 1)
    ok(svk_release(handle))
    ok(svk_set_log(nil, 0, nil, nil))
    XCTAssertEqual(log.frees.value, 1)
  }
}
