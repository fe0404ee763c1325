/// What a factory is given besides its key: bytes from C, a value of its own kind from another face.
///
/// Equality decides, never the hash alone. What compares values of the program's own types calls the program, so it is
/// never asked with a lock held: there, only what ``isSame(as:)`` says counts.
open class Parameter {
  package let hash: UInt64
  /// Whether two can be compared at all. If not, each is taken for another one.
  package let isComparable: Bool

  public init(hash: UInt64, isComparable: Bool) {
    self.hash = hash
    self.isComparable = isComparable
  }

  /// As C sees it; none for a value that is not bytes.
  package var bytes: ByteView { .empty }

  /// With no lock held.
  open func isEqual(to other: Parameter) -> Bool { isSame(as: other) }

  /// Without calling the program. May be false for equal ones; ``Cache`` finds that out beforehand.
  package func isSame(as other: Parameter) -> Bool { self === other }

  /// Whether ``isSame(as:)`` is all that there is to know.
  package var isPlain: Bool { false }
}

/// A copy of C's bytes.
final class ByteParameter: Parameter {
  private var owned: OwnedBytes?

  convenience init(copying bytes: ByteView) {
    self.init(hash: bytes.hash, isComparable: true)
    owned = OwnedBytes(bytes)
  }

  /// Nil for none: an empty parameter is no parameter.
  static func make(_ bytes: ByteView) -> Parameter? { bytes.count > 0 ? ByteParameter(copying: bytes) : nil }

  override var bytes: ByteView { owned?.view ?? .empty }
  override var isPlain: Bool { true }
  override func isSame(as other: Parameter) -> Bool { self === other || (other.isPlain && other.bytes == bytes) }
}

extension Parameter {
  /// Without calling the program.
  static func areSame(_ one: Parameter?, _ other: Parameter?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return one.isSame(as: other)
  }

  /// With no lock held.
  static func areEqual(_ one: Parameter?, _ other: Parameter?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return one.hash == other.hash && one.isEqual(to: other)
  }
}
