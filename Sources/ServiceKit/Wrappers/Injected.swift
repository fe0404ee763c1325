/// A dependency that is resolved when the property is initialized.
///
/// ```swift
/// final class Model {
///   @Injected(\.service) var service
///   @Injected(\OtherContainer.clock) var clock
/// }
/// ```
///
/// Reading it costs what reading a stored property costs. It is `Sendable` if the dependency is.
@frozen @propertyWrapper
public struct Injected<T> {
  @usableFromInline let source: FactorySource<T>

  /// The dependency. It can be replaced, which changes nothing but this property.
  public var wrappedValue: T

  /// Resolves a factory of `Container.shared`.
  @inlinable
  public init(_ keyPath: KeyPath<Container, Factory<T>>) {
    source = FactorySource(keyPath)
    wrappedValue = Container.shared[keyPath: keyPath].resolve()
  }

  /// Resolves a factory of another type's shared container.
  @inlinable
  public init<C: SharedContainer>(_ keyPath: KeyPath<C, Factory<T>>) {
    source = FactorySource(keyPath)
    wrappedValue = C.shared[keyPath: keyPath].resolve()
  }

  /// The wrapper itself, for ``factory`` and ``resolve(reset:)``.
  @inlinable
  public var projectedValue: Injected<T> {
    get { self }
    set { self = newValue }
  }

  /// The factory, in the container that is the shared one now.
  @inlinable
  public var factory: Factory<T> { source.factory }

  /// Resolves again, and keeps what comes.
  ///
  /// - Parameter options: What of the factory is reset before.
  @inlinable
  public mutating func resolve(reset options: FactoryResetOptions = .none) {
    let factory = factory
    factory.reset(options)
    wrappedValue = factory.resolve()
  }
}

// Its only other part is a key path literal.
extension Injected: Sendable where T: Sendable {}
