#if canImport(SwiftUI)
  public import Combine
  public import SwiftUI

  /// An `ObservableObject`, for a view that has it as its `StateObject`.
  ///
  /// ```swift
  /// @InjectedObject(\.contentModel) var model
  /// ```
  @MainActor @propertyWrapper
  public struct InjectedObject<T: ObservableObject>: DynamicProperty {
    @StateObject private var object: T

    /// Takes a factory of `Container.shared`, when the view is first shown.
    public init(_ keyPath: KeyPath<Container, Factory<T>>) {
      let source = FactorySource(keyPath)
      _object = StateObject(wrappedValue: source.factory.resolve())
    }

    /// Takes a factory of another type's shared container, when the view is first shown.
    public init<C: SharedContainer>(_ keyPath: KeyPath<C, Factory<T>>) {
      let source = FactorySource(keyPath)
      _object = StateObject(wrappedValue: source.factory.resolve())
    }

    /// Takes an object that is passed to the view.
    public init(_ object: @autoclosure @escaping () -> T) {
      _object = StateObject(wrappedValue: object())
    }

    /// The object.
    public var wrappedValue: T { object }

    /// Bindings to its properties.
    public var projectedValue: ObservedObject<T>.Wrapper { $object }
  }

  extension InjectedObject: @unchecked Sendable where T: Sendable {}
#endif
