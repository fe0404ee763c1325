/// What makes an instance without a parameter.
public typealias VoidFactoryType<T> = () -> T
/// What makes an instance with a parameter.
public typealias ParameterFactoryType<P, T> = (P) -> T

// MARK: - Older names

extension FactoryModifying {
  @available(*, deprecated, renamed: "onPreview(factory:)")
  @discardableResult
  public func preview(function: StaticString = #function, factory: @escaping (P) -> T) -> Self {
    onPreview(function: function, factory: factory)
  }
}

@available(*, deprecated, renamed: "dependency(_:)")
public func resolve<T>(_ keyPath: KeyPath<Container, Factory<T>>) -> T { dependency(keyPath) }

@available(*, deprecated, renamed: "dependency(_:)")
public func resolve<C: SharedContainer, T>(_ keyPath: KeyPath<C, Factory<T>>) -> T { dependency(keyPath) }

extension ManagedContainer {
  @available(*, deprecated, message: "Use container.dependency(keyPath), or container.factory()")
  public func resolve<T>(_ keyPath: KeyPath<Self, Factory<T>>) -> T { self[keyPath: keyPath].resolve() }
}
