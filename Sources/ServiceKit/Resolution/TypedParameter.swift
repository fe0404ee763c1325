import ServiceKitCore

/// A factory's parameter, as the engine compares it.
final class TypedParameter<P>: Parameter, @unchecked Sendable {
  let value: P

  /// Nil for `Void`.
  static func make(_ value: P) -> TypedParameter? { P.self == Void.self ? nil : TypedParameter(value) }

  private init(_ value: P) {
    self.value = value
    let hashable = value as? any Hashable
    super.init(
      hash: hashable.map { UInt64(truncatingIfNeeded: $0.hashValue) } ?? 0, isComparable: hashable != nil)
  }

  override func isEqual(to other: Parameter) -> Bool {
    guard self !== other else { return true }
    guard let other = other as? TypedParameter<P>, let mine = value as? any Hashable else { return false }
    return TypedParameter.areEqual(mine, other.value)
  }

  private static func areEqual<H: Hashable>(_ one: H, _ other: Any) -> Bool { (other as? H) == one }
}
