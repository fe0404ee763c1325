/// What the engine keeps as an instance of type `T`.
@usableFromInline
class Kept<T>: @unchecked Sendable {
  /// Whether it is a ``StrongKept``.
  @usableFromInline let isStrong: Bool

  fileprivate init(isStrong: Bool) { self.isStrong = isStrong }

  /// ``get()``, without a call where the instance is held strongly.
  @inlinable
  final var quickly: T? { isStrong ? unsafeDowncast(self, to: StrongKept<T>.self).value : get() }

  /// The instance, as long as it is there.
  @usableFromInline
  func get() -> T? { nil }
  /// Whether nobody holds the instance any more; nil where this holds it.
  final var isDead: Bool? { isStrong ? nil : get() == nil }
  /// The same for whoever has just had it made.
  func getFirst() -> T? { get() }

  /// Keeps a value, weakly if that is asked for. Nil where it cannot be kept weakly.
  static func make(_ value: T, isWeak: Bool) -> Kept<T>? {
    guard isWeak else { return StrongKept(value) }
    return ServiceKit.object(in: value).map { WeakKept(value, $0) }
  }
}

@usableFromInline
final class StrongKept<T>: Kept<T>, @unchecked Sendable {
  @usableFromInline let value: T

  init(_ value: T) {
    self.value = value
    super.init(isStrong: true)
  }

  @usableFromInline
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
    super.init(isStrong: false)
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
  if Metadata.isOptional(T.self), let optional = value as? any OptionalValue {
    return optional.anyWrapped.flatMap { object(in: $0) }
  }
  // Without the check, values of other kinds would be put into an object.
  return type(of: value as Any) is AnyClass ? value as AnyObject : nil
}

/// What can be seen from a type's metadata at once, where a dynamic cast takes long.
enum Metadata {
  /// The kinds are part of Swift's stable ABI: `MetadataKind.def` in the compiler's sources.
  static func isOptional<T>(_ type: T.Type) -> Bool {
    unsafeBitCast(type, to: UnsafePointer<UInt>.self).pointee == 0x202
  }
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
  guard Metadata.isOptional(T.self), let optional = value as? any OptionalValue else { return false }
  guard let wrapped = optional.anyWrapped else { return true }
  return isNil(wrapped)
}

/// Nil as a `T`, if that can be.
func nothing<T>(of type: T.Type) -> T? {
  guard let optional = type as? any OptionalValue.Type else { return .none }
  return optional.none as? T
}
