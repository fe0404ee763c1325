/// What the engine keeps as an instance of type `T`.
class Kept<T>: @unchecked Sendable {
  /// The instance, as long as it is there.
  func get() -> T? { nil }
  /// The same for whoever has just had it made.
  func getFirst() -> T? { get() }

  /// Keeps a value, weakly if that is asked for. Nil where it cannot be kept weakly.
  static func make(_ value: T, isWeak: Bool) -> Kept<T>? {
    guard isWeak else { return StrongKept(value) }
    return ServiceKit.object(in: value).map { WeakKept(value, $0) }
  }
}

final class StrongKept<T>: Kept<T>, @unchecked Sendable {
  private let value: T

  init(_ value: T) { self.value = value }

  override func get() -> T? { value }
}

/// Holds an object as a `T`, which may be the object's class, a protocol of it or an optional, without keeping it alive.
private final class WeakKept<T>: Kept<T>, @unchecked Sendable {
  private weak let object: AnyObject?
  /// A copy of the value's memory, with no hold on the object: good for use while somebody holds that.
  private let copy: UnsafeMutablePointer<T>
  /// Keeps the object until whoever had it made has taken it. Touched by that thread only.
  private var first: T?

  init(_ value: T, _ object: AnyObject) {
    self.object = object
    first = value
    let memory = UnsafeMutablePointer<T>.allocate(capacity: 1)
    copy = memory
    withUnsafeBytes(of: value) { bytes in
      UnsafeMutableRawPointer(memory).copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
    }
  }

  deinit { copy.deallocate() }

  override func get() -> T? {
    guard let object else { return nil }
    return withExtendedLifetime(object) { copy.pointee }
  }

  override func getFirst() -> T? {
    defer { first = nil }
    return first ?? get()
  }
}

/// The object that a value is, also behind a protocol or in an optional. Nil for a value of another kind.
func object<T>(in value: T) -> AnyObject? {
  if let optional = value as? any OptionalValue { return optional.anyWrapped.flatMap { object(in: $0) } }
  // Without the check, values of other kinds would be put into an object.
  return type(of: value as Any) is AnyClass ? value as AnyObject : nil
}

/// An optional whose type is not known.
protocol OptionalValue {
  var anyWrapped: Any? { get }
  static var none: Any { get }
}

extension Optional: OptionalValue {
  var anyWrapped: Any? { self }
  static var none: Any { Self.none as Self as Any }
}

/// Whether a value is nil, also inside of another optional.
func isNil<T>(_ value: T) -> Bool {
  guard let optional = value as? any OptionalValue else { return false }
  guard let wrapped = optional.anyWrapped else { return true }
  return isNil(wrapped)
}

/// Nil as a `T`, if that can be.
func nothing<T>(of type: T.Type) -> T? {
  guard let optional = type as? any OptionalValue.Type else { return .none }
  return optional.none as? T
}
