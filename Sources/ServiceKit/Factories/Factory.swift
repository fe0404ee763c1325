import ServiceKitCore

/// A factory of a container: gives an instance, and lets itself be replaced.
///
/// A value that is made anew each time its property is read. Making one writes nothing into the container; registering
/// does.
public struct Factory<T>: FactoryModifying {
  public var registration: FactoryRegistration<Void, T>

  /// Defines a factory. Most programs write `self { … }` instead; see ``ManagedContainer``.
  @inlinable
  public init(
    _ container: some ManagedContainer, key: StaticString = #function, definedIn: StaticString = #function,
    _ factory: @escaping () -> T
  ) {
    registration = FactoryRegistration(container, key: key, definedIn: definedIn) { (_: Void) in factory() }
  }

  /// The instance: the one that the factory's scope keeps, or a new one.
  @inlinable
  public func callAsFunction() -> T { registration.resolve(()) }

  /// The same by name.
  @inlinable
  public func resolve() -> T { registration.resolve(()) }

  /// Replaces the factory, for everybody who resolves it from this container. Its kept instance is forgotten.
  @discardableResult
  public func register(factory: @escaping () -> T) -> Self {
    registration.register { (_: Void) in factory() }
    return self
  }

  /// The same as ``register(factory:)``.
  public func callAsFunction(factory: @escaping () -> T) { register(factory: factory) }

  /// Resolves on the main actor, for a factory that has to run there.
  @MainActor public func resolveOnMainActor() -> T { registration.resolve(()) }

  /// Resolves on a global actor, for a factory that has to run there.
  public func resolveOnGlobalActor<A: GlobalActor>(_ actor: A.Type) async -> T where T: Sendable {
    let registration = registration
    return await (A.shared as any Actor).run { registration.resolve(()) }
  }
}

/// A factory that takes a parameter.
///
/// Kept instances are given whatever the parameter, unless ``scopeOnParameters`` says otherwise.
public struct ParameterFactory<P, T>: FactoryModifying {
  public var registration: FactoryRegistration<P, T>

  /// Defines a factory. Most programs write `self { … }` instead; see ``ManagedContainer``.
  @inlinable
  public init(
    _ container: some ManagedContainer, key: StaticString = #function, definedIn: StaticString = #function,
    _ factory: @escaping (P) -> T
  ) {
    registration = FactoryRegistration(container, key: key, definedIn: definedIn, factory)
  }

  /// The instance: the one that the factory's scope keeps, or a new one made with `parameter`.
  @inlinable
  public func callAsFunction(_ parameter: P) -> T { registration.resolve(parameter) }

  /// The same by name.
  @inlinable
  public func resolve(_ parameter: P) -> T { registration.resolve(parameter) }

  /// Replaces the factory, for everybody who resolves it from this container. Its kept instances are forgotten.
  @discardableResult
  public func register(factory: @escaping (P) -> T) -> Self {
    registration.register(factory)
    return self
  }

  /// The same as ``register(factory:)``.
  public func callAsFunction(factory: @escaping (P) -> T) { register(factory: factory) }

  /// Resolves on the main actor, for a factory that has to run there.
  @MainActor public func resolveOnMainActor(_ parameter: P) -> T { registration.resolve(parameter) }

  /// Resolves on a global actor, for a factory that has to run there.
  public func resolveOnGlobalActor<A: GlobalActor>(_ actor: A.Type, _ parameter: P) async -> T
  where T: Sendable, P: Sendable {
    let registration = registration
    return await (A.shared as any Actor).run { registration.resolve(parameter) }
  }
}

extension ParameterFactory where P: Hashable {
  /// Keeps an instance for each parameter rather than one for all. Parameters are told apart by equality.
  @inlinable
  public var scopeOnParameters: Self { map { $0.set(DefinitionFlag.cachesByParameter) } }
}

extension Actor {
  fileprivate func run<T: Sendable>(_ body: @Sendable () -> T) -> T { body() }
}
