/// A dependency that is looked up by its type, in a container that is ``Resolving``, when the property is initialized.
///
/// ```swift
/// @InjectedType var service: Service?
/// @InjectedType(container) var other: Other?
/// ```
///
/// It is nil when nothing is registered for the type, or the container cannot be asked by type.
@propertyWrapper
public struct InjectedType<T> {
  private let container: any ManagedContainer

  /// The dependency. It can be replaced, which changes nothing but this property.
  public var wrappedValue: T?

  /// Asks `Container.shared`.
  public init() { self.init(Container.shared) }

  /// Asks `container`, and keeps it for ``factory`` and ``resolve(reset:)``.
  public init(_ container: any ManagedContainer) {
    self.container = container
    wrappedValue = (container as? any Resolving)?.resolve(T.self)
  }

  /// The wrapper itself, for ``factory`` and ``resolve(reset:)``.
  public var projectedValue: InjectedType<T> {
    get { self }
    set { self = newValue }
  }

  /// The factory registered for the type, if there is one.
  public var factory: Factory<T>? { (container as? any Resolving)?.factory(T.self) }

  /// Resolves again, and keeps what comes.
  ///
  /// - Parameter options: What of the factory is reset before.
  public mutating func resolve(reset options: FactoryResetOptions = .none) {
    factory?.reset(options)
    wrappedValue = factory?.resolve()
  }
}

extension InjectedType: Sendable where T: Sendable {}
