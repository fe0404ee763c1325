import CPlatform
import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

/// What all exports share: from C's words to the engine's, and back to a status.

/// Runs the engine's part of a call, and answers with its status.
@inline(__always)
func answer(_ body: () throws(Failure) -> Void) -> svk_status {
  do throws(Failure) {
    try body()
    return SVK_OK
  } catch {
    return error.status
  }
}

extension ByteView {
  /// A key or name as C has it. It may be longer than any key: whoever checks it sees that from its first 256 bytes.
  @inline(__always)
  init(key: UnsafePointer<CChar>?) throws(Failure) {
    guard let key else { throw Failure.null("the key or name") }
    self.init(start: UnsafeRawPointer(key), count: strnlen(key, KeyRules.longest + 1))
  }

  /// A parameter or state as C has it: NULL only where there are no bytes.
  init(data: UnsafeRawPointer?, size: Int) throws(Failure) {
    guard data != nil || size == 0 else {
      throw Failure(SVK_INVALID_ARGUMENT) { $0.append("the data is NULL, but its size is not 0") }
    }
    self.init(start: data, count: size)
  }
}

extension Failure {
  static func null(_ what: StaticString) -> Failure {
    Failure(SVK_INVALID_ARGUMENT) { text in
      text.append(what)
      text.append(" is NULL")
    }
  }
}

/// A required out-parameter, cleared.
@inline(__always)
func output<Value>(_ pointer: UnsafeMutablePointer<Value?>?) throws(Failure) -> UnsafeMutablePointer<Value?> {
  guard let pointer else { throw Failure.null("the out-parameter for the result") }
  pointer.pointee = nil
  return pointer
}

/// Calls `body` with the container of a token.
func withContainer(
  _ pointer: OpaquePointer?, _ body: (Container) throws(Failure) -> Void
) throws(Failure) {
  guard let container = TokenTable.object(Token(pointer), .container, Container.self) else {
    throw Failure(SVK_INVALID_HANDLE) {
      $0.append("no such container: it is NULL, destroyed already, or a token of another kind")
    }
  }
  try body(container)
}
