/// An instance from the shared ``Container``: `let logger = dependency(\.logger)`.
@inlinable
public func dependency<T>(_ keyPath: KeyPath<Container, Factory<T>>) -> T {
  Container.shared[keyPath: keyPath].resolve()
}

/// An instance from the shared container of another type: `dependency(\PaymentContainer.gateway)`.
@inlinable
public func dependency<C: SharedContainer, T>(_ keyPath: KeyPath<C, Factory<T>>) -> T {
  C.shared[keyPath: keyPath].resolve()
}

/// An instance from the shared ``Container``, made with a parameter unless one is kept.
@inlinable
public func dependency<P, T>(_ keyPath: KeyPath<Container, ParameterFactory<P, T>>, parameter: P) -> T {
  Container.shared[keyPath: keyPath].resolve(parameter)
}

/// An instance from the shared container of another type, made with a parameter unless one is kept.
@inlinable
public func dependency<C: SharedContainer, P, T>(
  _ keyPath: KeyPath<C, ParameterFactory<P, T>>, parameter: P
) -> T {
  C.shared[keyPath: keyPath].resolve(parameter)
}

extension ManagedContainer {
  /// An instance from this container: `container.dependency(\.logger)`.
  @inlinable
  public func dependency<T>(_ keyPath: KeyPath<Self, Factory<T>>) -> T { self[keyPath: keyPath].resolve() }

  /// An instance from this container, made with a parameter unless one is kept.
  @inlinable
  public func dependency<P, T>(_ keyPath: KeyPath<Self, ParameterFactory<P, T>>, parameter: P) -> T {
    self[keyPath: keyPath].resolve(parameter)
  }
}
