/// A dependency that is resolved once, at the first read, and held weakly: someone else has to keep it.
///
/// For delegates, and for children that refer to their parent.
///
/// ```swift
/// @WeakLazyInjected(\.parent) var parent: Parent?
/// ```
///
/// Only instances of classes can be held weakly; anything else reads as nil. Otherwise it is like ``LazyInjected``.
@frozen @propertyWrapper
public struct WeakLazyInjected<T> {
  @usableFromInline let source: FactorySource<T>
  @usableFromInline var thunk: Thunk<WeakReference>

  /// Takes a factory of `Container.shared`, as it is at the first read.
  public init(_ keyPath: KeyPath<Container, Factory<T>>) { self.init(FactorySource(keyPath)) }

  /// Takes a factory of another type's shared container, as it is at the first read.
  public init<C: SharedContainer>(_ keyPath: KeyPath<C, Factory<T>>) { self.init(FactorySource(keyPath)) }

  private init(_ source: FactorySource<T>) {
    self.source = source
    thunk = Thunk { WeakReference(to: source.factory.resolve()) }
  }

  /// The dependency, resolved at the first read if it was not set before; nil when nobody keeps it any more.
  public var wrappedValue: T? {
    get { thunk.value.object as? T }
    set { thunk = Thunk(value: WeakReference(to: newValue)) }
  }

  /// The wrapper itself, for ``factory``, ``resolve(reset:)`` and ``resolvedOrNil()``.
  public var projectedValue: WeakLazyInjected<T> {
    get { self }
    set { self = newValue }
  }

  /// The factory, in the container that is the shared one now.
  public var factory: Factory<T> { source.factory }

  /// Resolves now, whether or not it was resolved before, and refers to what comes.
  ///
  /// - Parameter options: What of the factory is reset before.
  public mutating func resolve(reset options: FactoryResetOptions = .none) {
    let factory = factory
    factory.reset(options)
    thunk = Thunk(value: WeakReference(to: factory.resolve()))
  }

  /// The dependency if it was resolved or set and still lives, nil if not. It never resolves.
  public func resolvedOrNil() -> T? { thunk.valueIfMade?.object as? T }
}

extension WeakLazyInjected: Sendable where T: Sendable {}

/// Refers to an object without keeping it.
@usableFromInline
struct WeakReference: ExpressibleByNilLiteral {
  weak var object: AnyObject?

  /// To what `value` is, or what an optional has in it. A value of any other kind is boxed for a moment and gone.
  init<Value>(to value: Value) { object = value as AnyObject }

  @usableFromInline
  init(nilLiteral: ()) {}
}
