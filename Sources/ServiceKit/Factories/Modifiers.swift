import ServiceKitCore

/// What a definition says about its factory besides how the instance is made.
///
/// Read and copied at each use of a definition, so it is small, and its rarer parts are aside.
@usableFromInline
struct Modifiers<P, T>: Sendable {
  @usableFromInline var scope: Scope?
  /// In nanoseconds; 0 for none.
  @usableFromInline var timeToLive: UInt64 = 0
  @usableFromInline var cachesByParameter = false
  /// Outside modifiers go before these: see ``FactoryModifying/once()``.
  @usableFromInline var yields = false
  @usableFromInline var rare: RareModifiers<P, T>?

  @inlinable
  init() {}

  var options: KeyOptions {
    var options = KeyOptions()
    options.scope = scope?.choice
    options.timeToLive = timeToLive == 0 ? nil : timeToLive
    options.cachesByParameter = cachesByParameter
    return options
  }

  /// Tells apart the ways of asking that may get different instances; see ``Definition/asked``.
  @inlinable
  var asked: UInt {
    (scope?.identity ?? 0) << 3 | (timeToLive == 0 ? 0 : 4) | (cachesByParameter ? 2 : 0) | (yields ? 1 : 0)
  }

  var decorator: (@Sendable (T, Bool) -> Void)? {
    get { rare?.decorator }
    set { rare = RareModifiers(decorator: newValue, contextual: contextual) }
  }

  @usableFromInline
  mutating func add(_ factory: @escaping @Sendable (P) -> T, for context: FactoryContextType) {
    for name in context.names { contextual.append((name, factory)) }
  }

  /// Factories for contexts that may be active. The others were left out when the definition was read.
  var contextual: [(context: String, factory: @Sendable (P) -> T)] {
    get { rare?.contextual ?? [] }
    set { rare = RareModifiers(decorator: decorator, contextual: newValue) }
  }
}

/// Never changed, so that copies of a definition can share it.
@usableFromInline
final class RareModifiers<P, T>: Sendable {
  @usableFromInline let decorator: (@Sendable (T, Bool) -> Void)?
  let contextual: [(context: String, factory: @Sendable (P) -> T)]

  init(
    decorator: (@Sendable (T, Bool) -> Void)?, contextual: [(context: String, factory: @Sendable (P) -> T)]
  ) {
    self.decorator = decorator
    self.contextual = contextual
  }
}
