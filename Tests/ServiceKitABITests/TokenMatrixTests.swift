import CServiceKit
import ServiceKitABI
import XCTest

/// Every function that takes a token, with every token that is not of its kind.
final class TokenMatrixTests: XCTestCase {
  private enum Kind: String, CaseIterable {
    case container, resolver, handle, key, scope, stream, service, snapshot, subscription, dispatcher
  }

  /// Whether a function refused its token, and left its outputs at nothing.
  private typealias Refuses = (Word?) -> Bool

  private static var address: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: 8)! }

  private let functions: [(Kind, String, Refuses)] = [
    (.container, "svk_container_create_child", { word in refused { svk_container_create_child(word, $0) } }),
    (.container, "svk_container_destroy", { svk_container_destroy($0) == SVK_INVALID_HANDLE }),
    (.container, "svk_container_reset", { svk_container_reset($0, SVK_RESET_ALL) == SVK_INVALID_HANDLE }),
    (.container, "svk_container_push", { svk_container_push($0) == SVK_INVALID_HANDLE }),
    (.container, "svk_container_pop", { svk_container_pop($0) == SVK_INVALID_HANDLE }),
    (.container, "svk_container_set_contexts", { svk_container_set_contexts($0, "test") == SVK_INVALID_HANDLE }),
    (.container, "svk_container_set_strict", { svk_container_set_strict($0, 1) == SVK_INVALID_HANDLE }),
    (
      .container, "svk_container_set_default_scope",
      { svk_container_set_default_scope($0, SVK_SCOPE_CACHED) == SVK_INVALID_HANDLE }
    ),
    (.container, "svk_container_validate", { svk_container_validate($0) == SVK_INVALID_HANDLE }),
    (
      .container, "svk_container_describe",
      { word in
        var needed = 7
        return svk_container_describe(word, SVK_FORMAT_TEXT, nil, 0, &needed) == SVK_INVALID_HANDLE && needed == 0
      }
    ),
    (
      .container, "svk_container_set_trace",
      { svk_container_set_trace($0, { _, _ in }, nil, { _ in XCTFail("freed") }) == SVK_INVALID_HANDLE }
    ),
    (
      .container, "svk_register",
      { word in
        var options = svk_factory_options.defaults
        options.create = { _, _, _ in SVK_OK }
        options.user_data_free = { _ in XCTFail("freed") }
        return svk_register(word, "key", &options) == SVK_INVALID_HANDLE
          && svk_register_for(word, "key", "test", &options) == SVK_INVALID_HANDLE
      }
    ),
    (.container, "svk_unregister", { svk_unregister($0, "key") == SVK_INVALID_HANDLE }),
    (.container, "svk_reset", { svk_reset($0, "key", SVK_RESET_ALL) == SVK_INVALID_HANDLE }),
    (
      .container, "svk_decorate",
      { svk_decorate($0, "key", { _, _, _, _ in }, nil, { _ in XCTFail("freed") }) == SVK_INVALID_HANDLE }
    ),
    (.container, "svk_resolve", { word in refused { svk_resolve(word, "key", $0) } }),
    (.container, "svk_resolve_with", { word in refused { svk_resolve_with(word, "key", nil, 0, $0) } }),
    (.container, "svk_resolve_typed", { word in refused { svk_resolve_typed(word, "key", "type", $0) } }),
    (
      .container, "svk_resolve_key",
      { word in
        var key: Word?
        return svk_key_intern("matrix", &key) == SVK_OK && refused { svk_resolve_key(word, key, $0) }
      }
    ),
    (.container, "svk_pin", { word in refused { svk_pin(word, "key", $0) } }),
    (.resolver, "svk_require", { word in refused { svk_require(word, "key", $0) } }),
    (.resolver, "svk_require_with", { word in refused { svk_require_with(word, "key", nil, 0, $0) } }),
    (
      .resolver, "svk_resolver_parameter",
      { word in
        var size = 7
        return refused { svk_resolver_parameter(word, $0, &size) } && size == 0
      }
    ),
    (.resolver, "svk_resolver_container", { svk_resolver_container($0) == nil }),
    (.handle, "svk_instance", { svk_instance($0) == nil }),
    (.handle, "svk_release", { svk_release($0) == SVK_INVALID_HANDLE }),
    (.key, "svk_resolve_key", { word in refused { svk_resolve_key(svk_container_shared(), word, $0) } }),
    (.scope, "svk_scope_reset", { svk_scope_reset($0) == SVK_INVALID_HANDLE }),
    (.scope, "svk_scope_destroy", { svk_scope_destroy($0) == SVK_INVALID_HANDLE }),
    (
      .scope, "svk_factory_options.custom_scope",
      { word in
        var options = svk_factory_options.defaults
        options.create = { _, _, _ in SVK_OK }
        options.scope = SVK_SCOPE_CUSTOM
        options.custom_scope = word
        return svk_register(svk_container_shared(), "matrix", &options) == SVK_INVALID_HANDLE
      }
    ),
    (.stream, "svk_stream_send", { svk_stream_send($0, nil, 0) == SVK_INVALID_HANDLE }),
    (.stream, "svk_stream_send_within", { svk_stream_send_within($0, nil, 0, 0) == SVK_INVALID_HANDLE }),
    (
      .stream, "svk_stream_send_owned",
      { word in
        // Freed once, also when the stream is none.
        let freed = Tally()
        let pointer = Unmanaged.passUnretained(freed).toOpaque()
        let status = svk_stream_send_owned(word, pointer, 1) {
          Unmanaged<Tally>.fromOpaque($0!).takeUnretainedValue().add()
        }
        return status == SVK_INVALID_HANDLE && freed.value == 1
      }
    ),
    (.stream, "svk_stream_finish", { svk_stream_finish($0) == SVK_INVALID_HANDLE }),
    (.stream, "svk_stream_destroy", { svk_stream_destroy($0) == SVK_INVALID_HANDLE }),
    (
      .stream, "svk_service_options.stream",
      { word in
        guard let word else { return true }  // NULL is the void stream.
        var options = svk_service_options.defaults
        options.stream = word
        return refused { svk_service_create(&options, $0) }
      }
    ),
    (.service, "svk_service_close", { svk_service_close($0) == SVK_INVALID_HANDLE }),
    (.service, "svk_service_api", { svk_service_api($0) == nil }),
    (
      .service, "svk_service_read",
      { word in
        var (size, version) = (7, UInt64(7))
        return svk_service_read(word, nil, 0, &size, &version) == SVK_INVALID_HANDLE && size == 0 && version == 0
      }
    ),
    (
      .service, "svk_service_acquire",
      { word in
        var state = svk_state(version: 7, data: TokenMatrixTests.address, size: 7, dropped: 7)
        return refused { svk_service_acquire(word, $0, &state) } && state.isZero
      }
    ),
    (
      .service, "svk_service_wait",
      { word in
        var version: UInt64 = 7
        return svk_service_wait(word, 0, -1, &version) == SVK_INVALID_HANDLE && version == 0
      }
    ),
    (
      .service, "svk_service_observe",
      { word in
        var options = svk_observer_options.defaults
        options.on_state = { _, _ in }
        options.user_data_free = { _ in XCTFail("freed") }
        return refused { svk_service_observe(word, &options, $0) }
      }
    ),
    (.snapshot, "svk_snapshot_release", { svk_snapshot_release($0) == SVK_INVALID_HANDLE }),
    (.subscription, "svk_subscription_cancel", { svk_subscription_cancel($0) == SVK_INVALID_HANDLE }),
    (.subscription, "svk_subscription_cancel_nowait", { svk_subscription_cancel_nowait($0) == SVK_INVALID_HANDLE }),
    (
      .subscription, "svk_subscription_next",
      { word in
        var state = svk_state(version: 7, data: TokenMatrixTests.address, size: 7, dropped: 7)
        return refused { svk_subscription_next(word, -1, $0, &state) } && state.isZero
      }
    ),
    (
      .subscription, "svk_subscription_next_copy",
      { word in
        var (size, version, dropped) = (7, UInt64(7), UInt64(7))
        return svk_subscription_next_copy(word, -1, nil, 0, &size, &version, &dropped) == SVK_INVALID_HANDLE
          && size == 0 && version == 0 && dropped == 0
      }
    ),
    (.subscription, "svk_subscription_fd", { svk_subscription_fd($0) == -1 }),
    (
      .subscription, "svk_subscription_dropped",
      { word in
        var total: UInt64 = 7
        return svk_subscription_dropped(word, &total) == SVK_INVALID_HANDLE && total == 0
      }
    ),
    (.dispatcher, "svk_dispatcher_destroy", { svk_dispatcher_destroy($0) == SVK_INVALID_HANDLE }),
    (.dispatcher, "svk_dispatcher_fd", { svk_dispatcher_fd($0) == -1 }),
    (.dispatcher, "svk_dispatcher_wake", { svk_dispatcher_wake($0) == SVK_INVALID_HANDLE }),
    (
      .dispatcher, "svk_dispatcher_dispatch",
      { word in
        var count = 7
        return svk_dispatcher_dispatch(word, 0, -1, &count) == SVK_INVALID_HANDLE && count == 0
      }
    ),
    (
      .dispatcher, "svk_service_options.dispatcher",
      { word in
        var options = svk_service_options.defaults
        options.delivery = SVK_DELIVER_DISPATCHER
        options.dispatcher = word
        return refused { svk_service_create(&options, $0) }
      }
    ),
  ]

  /// One token of each kind, all valid. A resolver's lives only while its factory runs, which calls `body`.
  private func withTokens(_ body: @escaping ([Kind: Word]) -> Void) throws {
    var tokens: [Kind: Word] = [:]
    let container: Word = try made { svk_container_create($0) }
    tokens[.container] = container
    var plain = Factory(8).options(SVK_SCOPE_CACHED)
    ok(svk_register(container, "plain", &plain))
    tokens[.handle] = try made { svk_resolve(container, "plain", $0) }
    tokens[.key] = try made { svk_key_intern("plain", $0) }
    tokens[.scope] = try made { svk_scope_create("scope", $0) }
    let (stream, service) = try makeSource()
    tokens[.stream] = stream
    tokens[.service] = service
    var state = svk_state()
    tokens[.snapshot] = try made { svk_service_acquire(service, $0, &state) }
    var options = svk_observer_options.defaults
    options.delivery = SVK_DELIVER_PULL
    tokens[.subscription] = try made { svk_service_observe(service, &options, $0) }
    tokens[.dispatcher] = try made { svk_dispatcher_create($0) }

    let runs = Tally()
    let factory = Factory { resolver in
      tokens[.resolver] = resolver
      runs.add()
      body(tokens)
      return (SVK_OK, TokenMatrixTests.address)
    }
    var inside = factory.options()
    ok(svk_register(container, "inside", &inside))
    let handle: Word = try made { svk_resolve(container, "inside", $0) }
    XCTAssertEqual(runs.value, 1)

    // Nothing of what was refused has ended any of them.
    XCTAssertNotNil(svk_instance(handle))
    ok(svk_release(handle))
    XCTAssertEqual(svk_instance(tokens[.handle]), TokenMatrixTests.address)
    ok(svk_release(tokens[.handle]))
    XCTAssertEqual(send(stream, "1"), SVK_OK)
    ok(svk_snapshot_release(tokens[.snapshot]))
    ok(svk_subscription_cancel(tokens[.subscription]))
    ok(svk_service_close(service))
    ok(svk_stream_destroy(stream))
    ok(svk_scope_destroy(tokens[.scope]))
    ok(svk_dispatcher_destroy(tokens[.dispatcher]))
    ok(svk_container_destroy(container))
  }

  func testATokenOfAnotherKindIsRefused() throws {
    try withTokens { [functions] tokens in
      XCTAssertEqual(tokens.count, Kind.allCases.count)
      for (kind, name, refuses) in functions {
        for (other, token) in tokens where other != kind { XCTAssertTrue(refuses(token), "\(name) with a \(other)") }
        XCTAssertTrue(refuses(nil), "\(name) with NULL")
      }
    }
  }

  func testAForgedTokenIsRefused() throws {
    try withTokens { [functions] tokens in
      for (kind, name, refuses) in functions {
        let word = UInt(bitPattern: tokens[kind])
        let generation = UInt(1) << 26
        for forged in [
          1, 2, UInt.max, UInt.max >> 1, word ^ (1 << 63), word &+ generation, word &- generation,
          word | (generation - 1),
          word & ~(generation - 1), UInt(bitPattern: TokenMatrixTests.address),
        ] where forged != word {
          XCTAssertTrue(refuses(Word(bitPattern: forged)), "\(name) with \(String(forged, radix: 16))")
        }
      }
    }
  }

  func testAnEndedTokenIsRefused() throws {
    var ended: [Kind: Word] = [:]
    try withTokens { ended = $0 }
    ended[.key] = nil  // Keys never end.
    for (kind, name, refuses) in functions {
      guard let token = ended[kind] else { continue }
      XCTAssertTrue(refuses(token), "\(name) after its end")
    }
    // Their places are used by others now, whose tokens are different ones.
    try withTokens { [functions] tokens in
      for (kind, name, refuses) in functions {
        guard let token = ended[kind] else { continue }
        XCTAssertNotEqual(tokens[kind], token)
        XCTAssertTrue(refuses(token), "\(name) after its place was used again")
      }
    }
  }
}

/// Whether a function answers SVK_INVALID_HANDLE and sets its out-parameter to NULL.
private func refused(_ body: (UnsafeMutablePointer<Word?>) -> svk_status) -> Bool {
  var value = Word(bitPattern: 7)
  return body(&value) == SVK_INVALID_HANDLE && value == nil
}

private func refused(_ body: (UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> svk_status) -> Bool {
  var value = UnsafeMutableRawPointer(bitPattern: 7)
  return body(&value) == SVK_INVALID_HANDLE && value == nil
}

private func refused(_ body: (UnsafeMutablePointer<UnsafeRawPointer?>) -> svk_status) -> Bool {
  var value = UnsafeRawPointer(bitPattern: 7)
  return body(&value) == SVK_INVALID_HANDLE && value == nil
}

extension svk_state {
  fileprivate var isZero: Bool { version == 0 && data == nil && size == 0 && dropped == 0 }
}
