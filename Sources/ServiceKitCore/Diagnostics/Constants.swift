import CServiceKit

/// Every constant of the header: its name, its value and, of a status, what it means and what to do about it.
///
/// The one table of them in the source. The values come from the header itself.
package enum Constants {
  struct Entry {
    let name: StaticString
    let value: Int64
    /// Of a status only.
    let text: StaticString?
  }

  package static func value(_ name: ByteView) -> Int64? {
    for entry in table where ByteView(entry.name) == name { return entry.value }
    return nil
  }

  /// A status's name, as a C string that lives for ever.
  package static func statusName(_ status: Int32) -> UnsafePointer<CChar> {
    let name: StaticString =
      status >= SVK_FACTORY_ERROR_BASE ? "SVK_FACTORY_ERROR_BASE" : self.status(status)?.name ?? "unknown status"
    return UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
  }

  /// What a status means, for when nothing more particular is known.
  static func statusText(_ status: Int32) -> StaticString {
    self.status(status)?.text ?? "a status of the program's own"
  }

  /// The statuses stand first in the table, in the order of their values.
  private static func status(_ status: Int32) -> Entry? {
    status >= SVK_OK && status <= SVK_SYSTEM_ERROR ? table[Int(status)] : nil
  }

  private static let table: [Entry] = [
    Entry(
      name: "SVK_OK", value: Int64(SVK_OK),
      text: "no error"),
    Entry(
      name: "SVK_INVALID_ARGUMENT", value: Int64(SVK_INVALID_ARGUMENT),
      text: "an argument is not one that this function takes; its description in servicekit.h says which are"),
    Entry(
      name: "SVK_INVALID_HANDLE", value: Int64(SVK_INVALID_HANDLE),
      text:
        "the token is NULL, of another kind, or no longer valid; use each token only until it is released or destroyed"),
    Entry(
      name: "SVK_NOT_FOUND", value: Int64(SVK_NOT_FOUND),
      text: "nothing is known by that name here; register it first, or check its spelling"),
    Entry(
      name: "SVK_ALREADY_EXISTS", value: Int64(SVK_ALREADY_EXISTS),
      text: "there is one already, and there can be only one"),
    Entry(
      name: "SVK_TYPE_MISMATCH", value: Int64(SVK_TYPE_MISMATCH),
      text: "the key is registered with another type than the one asked for"),
    Entry(
      name: "SVK_CYCLE", value: Int64(SVK_CYCLE),
      text: "the services require each other in a circle; break it by resolving one of them later than in its factory"),
    Entry(
      name: "SVK_FACTORY_FAILED", value: Int64(SVK_FACTORY_FAILED),
      text: "the factory did not answer SVK_OK with an instance"),
    Entry(
      name: "SVK_CONTEXT_MISSING", value: Int64(SVK_CONTEXT_MISSING),
      text:
        "the container is strict, and the key has no registration for the test context; add one with svk_register_for"),
    Entry(
      name: "SVK_CLOSED", value: Int64(SVK_CLOSED),
      text: "the other end has finished or was closed; nothing more comes"),
    Entry(
      name: "SVK_BUFFER_FULL", value: Int64(SVK_BUFFER_FULL),
      text: "the buffer is full and the state was not taken; let the consumer catch up, or choose another buffering"),
    Entry(
      name: "SVK_BUFFER_TOO_SMALL", value: Int64(SVK_BUFFER_TOO_SMALL),
      text: "the buffer is too small; the size that is needed was written to the out-parameter"),
    Entry(
      name: "SVK_TIMEOUT", value: Int64(SVK_TIMEOUT),
      text: "the time was up, or nothing was ready"),
    Entry(
      name: "SVK_BUSY", value: Int64(SVK_BUSY),
      text: "another thread is doing this just now; only one can"),
    Entry(
      name: "SVK_UNSUPPORTED", value: Int64(SVK_UNSUPPORTED),
      text: "this token, system or build cannot do that"),
    Entry(
      name: "SVK_DEFERRED", value: Int64(SVK_DEFERRED),
      text: "accepted; it takes effect as soon as the call that is still running has returned"),
    Entry(
      name: "SVK_SYSTEM_ERROR", value: Int64(SVK_SYSTEM_ERROR),
      text: "the operating system refused a file descriptor or a thread; close some, or raise the limit"),
    Entry(name: "SVK_VERSION_MAJOR", value: Int64(SVK_VERSION_MAJOR), text: nil),
    Entry(name: "SVK_VERSION_MINOR", value: Int64(SVK_VERSION_MINOR), text: nil),
    Entry(name: "SVK_VERSION_PATCH", value: Int64(SVK_VERSION_PATCH), text: nil),
    Entry(name: "SVK_FACTORY_ERROR_BASE", value: Int64(SVK_FACTORY_ERROR_BASE), text: nil),
    Entry(name: "SVK_SCOPE_DEFAULT", value: Int64(SVK_SCOPE_DEFAULT), text: nil),
    Entry(name: "SVK_SCOPE_UNIQUE", value: Int64(SVK_SCOPE_UNIQUE), text: nil),
    Entry(name: "SVK_SCOPE_CACHED", value: Int64(SVK_SCOPE_CACHED), text: nil),
    Entry(name: "SVK_SCOPE_SHARED", value: Int64(SVK_SCOPE_SHARED), text: nil),
    Entry(name: "SVK_SCOPE_SINGLETON", value: Int64(SVK_SCOPE_SINGLETON), text: nil),
    Entry(name: "SVK_SCOPE_GRAPH", value: Int64(SVK_SCOPE_GRAPH), text: nil),
    Entry(name: "SVK_SCOPE_CUSTOM", value: Int64(SVK_SCOPE_CUSTOM), text: nil),
    Entry(name: "SVK_RESET_REGISTRATIONS", value: Int64(SVK_RESET_REGISTRATIONS), text: nil),
    Entry(name: "SVK_RESET_CONTEXTS", value: Int64(SVK_RESET_CONTEXTS), text: nil),
    Entry(name: "SVK_RESET_SCOPES", value: Int64(SVK_RESET_SCOPES), text: nil),
    Entry(name: "SVK_RESET_ALL", value: Int64(SVK_RESET_ALL), text: nil),
    Entry(name: "SVK_FACTORY_CACHE_BY_PARAMETER", value: Int64(SVK_FACTORY_CACHE_BY_PARAMETER), text: nil),
    Entry(name: "SVK_SERVICE_SKIP_EQUAL", value: Int64(SVK_SERVICE_SKIP_EQUAL), text: nil),
    Entry(name: "SVK_OBSERVE_CURRENT", value: Int64(SVK_OBSERVE_CURRENT), text: nil),
    Entry(name: "SVK_FORMAT_TEXT", value: Int64(SVK_FORMAT_TEXT), text: nil),
    Entry(name: "SVK_FORMAT_JSON", value: Int64(SVK_FORMAT_JSON), text: nil),
    Entry(name: "SVK_FORMAT_DOT", value: Int64(SVK_FORMAT_DOT), text: nil),
    Entry(name: "SVK_DELIVER_INLINE", value: Int64(SVK_DELIVER_INLINE), text: nil),
    Entry(name: "SVK_DELIVER_DISPATCHER", value: Int64(SVK_DELIVER_DISPATCHER), text: nil),
    Entry(name: "SVK_DELIVER_BACKGROUND", value: Int64(SVK_DELIVER_BACKGROUND), text: nil),
    Entry(name: "SVK_DELIVER_PULL", value: Int64(SVK_DELIVER_PULL), text: nil),
    Entry(name: "SVK_BUFFER_UNBOUNDED", value: Int64(SVK_BUFFER_UNBOUNDED), text: nil),
    Entry(name: "SVK_BUFFER_NEWEST", value: Int64(SVK_BUFFER_NEWEST), text: nil),
    Entry(name: "SVK_BUFFER_OLDEST", value: Int64(SVK_BUFFER_OLDEST), text: nil),
    Entry(name: "SVK_BUFFER_BLOCK", value: Int64(SVK_BUFFER_BLOCK), text: nil),
    Entry(name: "SVK_LOG_ERROR", value: Int64(SVK_LOG_ERROR), text: nil),
    Entry(name: "SVK_LOG_WARNING", value: Int64(SVK_LOG_WARNING), text: nil),
    Entry(name: "SVK_LOG_INFO", value: Int64(SVK_LOG_INFO), text: nil),
    Entry(name: "SVK_LOG_DEBUG", value: Int64(SVK_LOG_DEBUG), text: nil),
    Entry(name: "SVK_TRACE_CONTEXT", value: Int64(SVK_TRACE_CONTEXT), text: nil),
    Entry(name: "SVK_TRACE_REGISTRATION", value: Int64(SVK_TRACE_REGISTRATION), text: nil),
    Entry(name: "SVK_TRACE_CACHE", value: Int64(SVK_TRACE_CACHE), text: nil),
    Entry(name: "SVK_TRACE_FAILED", value: Int64(SVK_TRACE_FAILED), text: nil),
  ]
}
