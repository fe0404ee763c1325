/// A shared container, taken when the property is initialized.
///
/// ```swift
/// @InjectedContainer var container
/// @InjectedContainer(OtherContainer.self) var other
/// ```
@frozen @propertyWrapper
public struct InjectedContainer<C: SharedContainer>: Sendable {
  /// The container. It can be replaced, which changes nothing but this property.
  public var wrappedValue: C

  /// Takes `Container.shared`.
  @inlinable
  public init() where C == Container { wrappedValue = Container.shared }

  /// Takes another type's shared container.
  @inlinable
  public init(_ type: C.Type) { wrappedValue = C.shared }

  /// The wrapper itself, for ``reset(options:)``.
  @inlinable
  public var projectedValue: InjectedContainer<C> {
    get { self }
    set { self = newValue }
  }

  /// Resets the container.
  ///
  /// - Parameter options: What of it; nothing, unless said otherwise.
  @inlinable
  public func reset(options: FactoryResetOptions = .none) { wrappedValue.reset(options: options) }
}
