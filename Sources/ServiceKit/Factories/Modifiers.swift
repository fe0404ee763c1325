import ServiceKitCore

/// What a definition says about its factory, when that is more than a scope. Never changed, so that copies of a
/// definition can share it.
@usableFromInline
final class Modifiers<P, T>: @unchecked Sendable {
  @usableFromInline let scope: Scope?
  /// In nanoseconds; nil for none.
  let timeToLive: UInt64?
  let decorator: ((T, Bool) -> Void)?
  /// Factories for contexts that may be active. The others were left out when the definition was read.
  let contextual: [(context: String, factory: (P) -> T)]
  /// The function that the definition stands in, if that is not what the factory is called.
  let definedIn: StaticString?

  init(
    scope: Scope? = nil, timeToLive: UInt64? = nil, decorator: ((T, Bool) -> Void)? = nil,
    contextual: [(context: String, factory: (P) -> T)] = [], definedIn: StaticString? = nil
  ) {
    self.scope = scope
    self.timeToLive = timeToLive
    self.decorator = decorator
    self.contextual = contextual
    self.definedIn = definedIn
  }

  @usableFromInline
  func with(_ scope: Scope) -> Modifiers {
    Modifiers(
      scope: scope, timeToLive: timeToLive, decorator: decorator, contextual: contextual, definedIn: definedIn)
  }

  func with(timeToLive: UInt64) -> Modifiers {
    Modifiers(
      scope: scope, timeToLive: timeToLive, decorator: decorator, contextual: contextual, definedIn: definedIn)
  }

  func with(_ decorator: @escaping (T, Bool) -> Void) -> Modifiers {
    Modifiers(
      scope: scope, timeToLive: timeToLive, decorator: decorator, contextual: contextual, definedIn: definedIn)
  }

  func with(_ factory: @escaping (P) -> T, for context: FactoryContextType) -> Modifiers {
    Modifiers(
      scope: scope, timeToLive: timeToLive, decorator: decorator,
      contextual: contextual + context.names.map { ($0, factory) }, definedIn: definedIn)
  }
}

/// What a definition says that is asked at each resolve: the low bits tell apart ways of asking that may get different
/// instances.
@usableFromInline
enum DefinitionFlag {
  /// Outside modifiers go before the definition's: see ``FactoryModifying/once()``.
  @usableFromInline static let yields: UInt = 1
  @usableFromInline static let cachesByParameter: UInt = 2
  @usableFromInline static let hasTimeToLive: UInt = 4
  @usableFromInline static let asking: UInt = 7
  @usableFromInline static let hasDecorator: UInt = 8
  /// The definition's extras are ``Modifiers``, not just a ``Scope``.
  @usableFromInline static let hasModifiers: UInt = 16
}
