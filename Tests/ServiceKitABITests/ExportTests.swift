import CServiceKit
import Foundation
import ServiceKitABI
import XCTest

/// Every function of the header, called with nothing: each answers, and none crashes.
final class ExportTests: XCTestCase {
  private enum Answer: Equatable {
    case status(svk_status)
    case pointer(isNull: Bool)
    case number(Int64)
  }

  private static let create: svk_create_fn = { _, _, _ in SVK_OK }

  private let calls: [String: () -> Answer] = [
    "svk_version": { .number(Int64(svk_version())) },
    "svk_version_string": { .pointer(isNull: svk_version_string() == nil) },
    "svk_constant": { .status(svk_constant(nil, nil)) },
    "svk_status_name": { .pointer(isNull: svk_status_name(0) == nil) },
    "svk_last_error": { .pointer(isNull: svk_last_error() == nil) },
    "svk_container_create": { .status(svk_container_create(nil)) },
    "svk_container_create_child": { .status(svk_container_create_child(nil, nil)) },
    "svk_container_shared": { .pointer(isNull: svk_container_shared() == nil) },
    "svk_container_destroy": { .status(svk_container_destroy(nil)) },
    "svk_container_reset": { .status(svk_container_reset(nil, SVK_RESET_ALL)) },
    "svk_container_push": { .status(svk_container_push(nil)) },
    "svk_container_pop": { .status(svk_container_pop(nil)) },
    "svk_container_set_contexts": { .status(svk_container_set_contexts(nil, nil)) },
    "svk_container_set_strict": { .status(svk_container_set_strict(nil, 0)) },
    "svk_container_set_default_scope": { .status(svk_container_set_default_scope(nil, 0)) },
    "svk_container_validate": { .status(svk_container_validate(nil)) },
    "svk_container_describe": { .status(svk_container_describe(nil, 0, nil, 0, nil)) },
    "svk_register": { .status(svk_register(nil, nil, nil)) },
    "svk_register_for": { .status(svk_register_for(nil, nil, nil, nil)) },
    "svk_unregister": { .status(svk_unregister(nil, nil)) },
    "svk_reset": { .status(svk_reset(nil, nil, SVK_RESET_ALL)) },
    "svk_decorate": { .status(svk_decorate(nil, nil, nil, nil, nil)) },
    "svk_scope_create": { .status(svk_scope_create(nil, nil)) },
    "svk_scope_reset": { .status(svk_scope_reset(nil)) },
    "svk_scope_destroy": { .status(svk_scope_destroy(nil)) },
    "svk_singleton_reset": { .status(svk_singleton_reset(nil)) },
    "svk_require": { .status(svk_require(nil, nil, nil)) },
    "svk_require_with": { .status(svk_require_with(nil, nil, nil, 0, nil)) },
    "svk_resolver_parameter": { .status(svk_resolver_parameter(nil, nil, nil)) },
    "svk_resolver_container": { .pointer(isNull: svk_resolver_container(nil) == nil) },
    "svk_resolve": { .status(svk_resolve(nil, nil, nil)) },
    "svk_resolve_with": { .status(svk_resolve_with(nil, nil, nil, 0, nil)) },
    "svk_resolve_typed": { .status(svk_resolve_typed(nil, nil, nil, nil)) },
    "svk_key_intern": { .status(svk_key_intern(nil, nil)) },
    "svk_resolve_key": { .status(svk_resolve_key(nil, nil, nil)) },
    "svk_instance": { .pointer(isNull: svk_instance(nil) == nil) },
    "svk_release": { .status(svk_release(nil)) },
    "svk_pin": { .status(svk_pin(nil, nil, nil)) },
    "svk_stream_create": { .status(svk_stream_create(nil, nil)) },
    "svk_stream_void": { .status(svk_stream_void(nil)) },
    "svk_stream_send": { .status(svk_stream_send(nil, nil, 0)) },
    "svk_stream_send_owned": { .status(svk_stream_send_owned(nil, nil, 0, nil)) },
    "svk_stream_send_within": { .status(svk_stream_send_within(nil, nil, 0, 0)) },
    "svk_stream_finish": { .status(svk_stream_finish(nil)) },
    "svk_stream_destroy": { .status(svk_stream_destroy(nil)) },
    "svk_service_create": { .status(svk_service_create(nil, nil)) },
    "svk_service_close": { .status(svk_service_close(nil)) },
    "svk_service_api": { .pointer(isNull: svk_service_api(nil) == nil) },
    "svk_service_read": { .status(svk_service_read(nil, nil, 0, nil, nil)) },
    "svk_service_acquire": { .status(svk_service_acquire(nil, nil, nil)) },
    "svk_snapshot_release": { .status(svk_snapshot_release(nil)) },
    "svk_service_wait": { .status(svk_service_wait(nil, 0, 0, nil)) },
    "svk_service_observe": { .status(svk_service_observe(nil, nil, nil)) },
    "svk_subscription_cancel": { .status(svk_subscription_cancel(nil)) },
    "svk_subscription_cancel_nowait": { .status(svk_subscription_cancel_nowait(nil)) },
    "svk_subscription_next": { .status(svk_subscription_next(nil, 0, nil, nil)) },
    "svk_subscription_next_copy": { .status(svk_subscription_next_copy(nil, 0, nil, 0, nil, nil, nil)) },
    "svk_subscription_fd": { .number(Int64(svk_subscription_fd(nil))) },
    "svk_subscription_dropped": { .status(svk_subscription_dropped(nil, nil)) },
    "svk_dispatcher_create": { .status(svk_dispatcher_create(nil)) },
    "svk_dispatcher_destroy": { .status(svk_dispatcher_destroy(nil)) },
    "svk_dispatcher_fd": { .number(Int64(svk_dispatcher_fd(nil))) },
    "svk_dispatcher_wake": { .status(svk_dispatcher_wake(nil)) },
    "svk_dispatcher_dispatch": { .status(svk_dispatcher_dispatch(nil, 0, 0, nil)) },
    "svk_set_log": { .status(svk_set_log(nil, 0, nil, nil)) },
    "svk_container_set_trace": { .status(svk_container_set_trace(nil, nil, nil, nil)) },
  ]

  /// The functions that the header declares, from its text.
  private func declared() throws -> Set<String> {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("include/servicekit.h"), encoding: .utf8)
    var names = Set<String>()
    for line in text.split(separator: "\n") where line.hasPrefix("SVK_API ") {
      let name = line.prefix { $0 != "(" }.split { $0 == " " || $0 == "*" }.last
      names.insert(String(try XCTUnwrap(name)))
    }
    return names
  }

  func testEveryFunctionOfTheHeaderIsCalledHere() throws {
    let declared = try declared()
    XCTAssertGreaterThan(declared.count, 60)
    XCTAssertEqual(declared.symmetricDifference(calls.keys), [])
  }

  func testWithNothingEachAnswersAsItShould() {
    let always: [String: Answer] = [
      "svk_version": .number(0x10000), "svk_version_string": .pointer(isNull: false),
      "svk_status_name": .pointer(isNull: false), "svk_last_error": .pointer(isNull: false),
      "svk_container_shared": .pointer(isNull: false), "svk_singleton_reset": .status(SVK_OK),
      "svk_set_log": .status(SVK_OK), "svk_resolver_container": .pointer(isNull: true),
      "svk_instance": .pointer(isNull: true), "svk_service_api": .pointer(isNull: true),
      "svk_subscription_fd": .number(-1), "svk_dispatcher_fd": .number(-1),
    ]
    for (name, call) in calls {
      let answer = call()
      if let expected = always[name] {
        XCTAssertEqual(answer, expected, name)
      } else {
        XCTAssertTrue(
          [.status(SVK_INVALID_ARGUMENT), .status(SVK_INVALID_HANDLE)].contains(answer), "\(name): \(answer)")
        if name != "svk_dispatcher_wake" { XCTAssertNotEqual(lastError, "", name) }
      }
    }
  }

  /// What Swift sees of a function is what the header says: a change of either does not compile here.
  func testTheirTypesAreTheHeaders() {
    let _: @convention(c) (OpaquePointer?) -> svk_status = svk_release
    let _: @convention(c) (OpaquePointer?) -> UnsafeMutableRawPointer? = svk_instance
    let _: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, UnsafeMutablePointer<OpaquePointer?>?) -> svk_status =
      svk_resolve
    let _: @convention(c) (OpaquePointer?, UnsafeRawPointer?, Int) -> svk_status = svk_stream_send
    let _: @convention(c) (OpaquePointer?, Int, Int64, UnsafeMutablePointer<Int>?) -> svk_status =
      svk_dispatcher_dispatch
    let _: @convention(c) (OpaquePointer?, UInt64, Int64, UnsafeMutablePointer<UInt64>?) -> svk_status =
      svk_service_wait
    XCTAssertEqual(MemoryLayout<svk_status>.size, 4)
  }
}
