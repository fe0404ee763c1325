/// A dependency that is resolved at each read.
///
/// ```swift
/// @DynamicInjected(\.clock) var clock
/// ```
@frozen @propertyWrapper
public struct DynamicInjected<T> {
  @usableFromInline let source: FactorySource<T>

  /// Resolves a factory of `Container.shared`, at each read.
  @inlinable
  public init(_ keyPath: KeyPath<Container, Factory<T>>) { source = FactorySource(keyPath) }

  /// Resolves a factory of another type's shared container, at each read.
  @inlinable
  public init<C: SharedContainer>(_ keyPath: KeyPath<C, Factory<T>>) { source = FactorySource(keyPath) }

  /// The dependency, resolved now.
  @inlinable
  public var wrappedValue: T { source.factory.resolve() }

  /// The factory, in the container that is the shared one now.
  @inlinable
  public var projectedValue: Factory<T> { source.factory }
}

extension DynamicInjected: Sendable where T: Sendable {}

extension Factory {
  /// The factory itself: so that `$service.factory` says the same for every wrapper, ``DynamicInjected`` too.
  @inlinable
  public var factory: Factory<T> { self }

  /// Resets what `options` names, then resolves.
  @inlinable @discardableResult
  public func resolve(reset options: FactoryResetOptions) -> T {
    reset(options)
    return resolve()
  }
}
