import ServiceKitCore

/// What a definition says about its factory besides how the instance is made.
struct Modifiers<P, T>: Sendable {
  var scope: Scope?
  /// In nanoseconds.
  var timeToLive: UInt64?
  var cachesByParameter = false
  var decorator: (@Sendable (T, Bool) -> Void)?
  /// Factories for contexts that may be active. The others were left out when the definition was read.
  var contextual: [(context: String, factory: @Sendable (P) -> T)] = []
  /// Outside modifiers go before these: see ``FactoryModifying/once()``.
  var yields = false

  var options: KeyOptions {
    var options = KeyOptions()
    options.scope = scope?.choice
    options.timeToLive = timeToLive
    options.cachesByParameter = cachesByParameter
    return options
  }

  /// Tells apart the ways of asking that may get different instances; see ``Definition/asked``.
  var asked: UInt {
    @inline(__always) get {
      (scope?.choice.identity ?? 0) << 3 | (timeToLive == nil ? 0 : 4) | (cachesByParameter ? 2 : 0) | (yields ? 1 : 0)
    }
  }
}
