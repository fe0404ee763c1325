/// A dependency that is resolved once, at the first read.
///
/// ```swift
/// final class Model {
///   @LazyInjected(\.printer) var printer
///   deinit { $printer.resolvedOrNil()?.stop() }
/// }
/// ```
///
/// When several threads read first, one of them resolves and the others wait for it. It is a value: what is set, or
/// resolved again, through a copy does not change the original. Copies made before the first read share that read.
@frozen @propertyWrapper
public struct LazyInjected<T> {
  @usableFromInline let source: FactorySource<T>
  @usableFromInline var thunk: Thunk<T>

  /// Takes a factory of `Container.shared`, as it is at the first read.
  @inlinable
  public init(_ keyPath: KeyPath<Container, Factory<T>>) { self.init(FactorySource(keyPath)) }

  /// Takes a factory of another type's shared container, as it is at the first read.
  @inlinable
  public init<C: SharedContainer>(_ keyPath: KeyPath<C, Factory<T>>) { self.init(FactorySource(keyPath)) }

  @inlinable
  init(_ source: FactorySource<T>) {
    self.source = source
    thunk = Thunk { source.factory.resolve() }
  }

  /// The dependency, resolved at the first read if it was not set before.
  @inlinable
  public var wrappedValue: T {
    get { thunk.value }
    set { thunk = Thunk(value: newValue) }
  }

  /// The wrapper itself, for ``factory``, ``resolve(reset:)`` and ``resolvedOrNil()``.
  @inlinable
  public var projectedValue: LazyInjected<T> {
    get { self }
    set { self = newValue }
  }

  /// The factory, in the container that is the shared one now.
  @inlinable
  public var factory: Factory<T> { source.factory }

  /// Resolves now, whether or not it was resolved before, and keeps what comes.
  ///
  /// - Parameter options: What of the factory is reset before.
  @inlinable
  public mutating func resolve(reset options: FactoryResetOptions = .none) {
    let factory = factory
    factory.reset(options)
    thunk = Thunk(value: factory.resolve())
  }

  /// The dependency if it was resolved or set, nil if not. It never resolves.
  @inlinable
  public func resolvedOrNil() -> T? { thunk.valueIfMade }
}

extension LazyInjected: Sendable where T: Sendable {}
