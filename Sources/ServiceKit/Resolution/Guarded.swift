import ServiceKitCore

/// A value behind a lock of the engine, which ThreadSanitizer understands on every platform.
final class Guarded<Value>: @unchecked Sendable {
  private let lock = Lock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  /// Puts another value in its place. The old one ends with the caller, not under the lock.
  func exchange(_ new: Value) -> Value {
    var new = new
    lock.withLock { swap(&value, &new) }
    return new
  }

  /// Nothing of the program's may be called meanwhile.
  func withLock<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&value) } }
}
