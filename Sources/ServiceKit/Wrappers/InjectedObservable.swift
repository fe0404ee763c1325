public import Observation

#if canImport(SwiftUI)
  public import SwiftUI

  /// An `Observable` model, asked for once, at first use, however often the view that has it is made anew; never for a
  /// view that is thrown away unread.
  ///
  /// ```swift
  /// struct CounterView: View {
  ///   @InjectedObservable(\.counter) var counter
  ///   var body: some View { Stepper("\(counter.count)", value: $counter.count) }
  /// }
  /// ```
  @MainActor @propertyWrapper
  public struct InjectedObservable<T: Observation.Observable>: DynamicProperty {
    // SwiftUI keeps the state that came with a view's first value and drops that of each later one.
    @State private var thunk: Thunk<T>

    /// Takes a factory of `Container.shared`, as it is at first use.
    public init(_ keyPath: KeyPath<Container, Factory<T>>) {
      let source = FactorySource(keyPath)
      _thunk = State(wrappedValue: Thunk { source.factory.resolve() })
    }

    /// Takes a factory of another type's shared container, as it is at first use.
    public init<C: SharedContainer>(_ keyPath: KeyPath<C, Factory<T>>) {
      let source = FactorySource(keyPath)
      _thunk = State(wrappedValue: Thunk { source.factory.resolve() })
    }

    /// Takes what `model` gives at first use, for a model that is passed to the view.
    public init(_ model: @autoclosure @escaping () -> T) {
      _thunk = State(wrappedValue: Thunk(isFactory: false, model))
    }

    /// The model.
    public var wrappedValue: T { thunk.value }

    /// A binding to the model, and through it to each of its properties.
    public var projectedValue: Binding<T> { $thunk.current }
  }

  extension InjectedObservable: @unchecked Sendable where T: Sendable {}
#else
  /// An `Observable` model, asked for once, at first use, and never for a wrapper that is thrown away unread.
  ///
  /// ```swift
  /// struct CounterScreen {
  ///   @InjectedObservable(\.counter) var counter
  ///   func press() { $counter.count.wrappedValue += 1 }
  /// }
  /// ```
  ///
  /// Copies share the model, those too that were made before its first use. When several threads use it first, one of
  /// them asks for it and the others wait. Any thread may use it.
  @propertyWrapper
  public struct InjectedObservable<T: Observation.Observable> {
    private let thunk: Thunk<T>

    /// Takes a factory of `Container.shared`, as it is at first use.
    public init(_ keyPath: KeyPath<Container, Factory<T>>) {
      let source = FactorySource(keyPath)
      thunk = Thunk { source.factory.resolve() }
    }

    /// Takes a factory of another type's shared container, as it is at first use.
    public init<C: SharedContainer>(_ keyPath: KeyPath<C, Factory<T>>) {
      let source = FactorySource(keyPath)
      thunk = Thunk { source.factory.resolve() }
    }

    /// Takes what `model` gives at first use, for a model that is passed in.
    public init(_ model: @autoclosure @escaping () -> T) { thunk = Thunk(isFactory: false, model) }

    /// The model.
    public var wrappedValue: T { thunk.value }

    /// Access to the model and to each of its properties, both ways.
    public var projectedValue: ObservableAccessor<T> { ObservableAccessor(thunk) }
  }

  extension InjectedObservable: Sendable where T: Sendable {}
#endif
