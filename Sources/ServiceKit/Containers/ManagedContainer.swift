/// A container of factories. Conform a final class of your own to ``SharedContainer`` to have another one:
///
/// ```swift
/// final class PaymentContainer: SharedContainer {
///   @TaskLocal static var shared = PaymentContainer()
///   let manager = ContainerManager()
/// }
/// extension PaymentContainer {
///   var gateway: Factory<Gateway> { self { LiveGateway() }.cached }
/// }
/// ```
public protocol ManagedContainer: AnyObject, Sendable {
  /// What the container holds, and what can be set for it.
  var manager: ContainerManager { get }
}

/// A container type with an instance for everybody.
public protocol SharedContainer: ManagedContainer {
  /// The instance that wrappers and `dependency(_:)` use. Declare it `@TaskLocal`, so that a test can have one of its own.
  static var shared: Self { get }
}

/// A container that registers something before it is first used.
public protocol AutoRegistering {
  /// Called once, before the container's first resolve or registration, and again after its registrations were reset.
  func autoRegister()
}

// MARK: - Definitions

extension ManagedContainer {
  /// Defines a factory, in a computed property of the container.
  ///
  /// - Parameters:
  ///   - key: What the factory is known by, together with its type: the property's name.
  ///   - factory: Makes an instance. Called on the thread that resolves, with no lock held. It is not `@Sendable`, so
  ///     that in a property of an actor, `@MainActor` say, it may call what is that actor's; resolve such a factory there.
  ///     What it captures must be safe on every thread on which the factory is resolved.
  @inlinable
  public func callAsFunction<T>(
    key: StaticString = #function, definedIn: StaticString = #function, _ factory: @escaping () -> T
  ) -> Factory<T> {
    Factory(self, key: key, definedIn: definedIn, factory)
  }

  /// Defines a factory that takes a parameter.
  @inlinable
  public func callAsFunction<P, T>(
    key: StaticString = #function, definedIn: StaticString = #function, _ factory: @escaping (P) -> T
  ) -> ParameterFactory<P, T> {
    ParameterFactory(self, key: key, definedIn: definedIn, factory)
  }

  /// Defines a factory that others are expected to register: until then it gives nil, and that is reported through
  /// ``ServiceFailure`` where `promiseTriggersError` says so.
  public func promised<T>(
    key: StaticString = #function, definedIn: StaticString = #function, file: StaticString = #fileID,
    line: UInt = #line
  ) -> Factory<T?> {
    let container = Unpromised(self, key, file, line)
    return Factory(self, key: key, definedIn: definedIn) {
      container.report(T.self)
      return nil
    }
  }

  /// The same with a parameter.
  public func promised<P, T>(
    key: StaticString = #function, definedIn: StaticString = #function, file: StaticString = #fileID,
    line: UInt = #line
  ) -> ParameterFactory<P, T?> {
    let container = Unpromised(self, key, file, line)
    return ParameterFactory(self, key: key, definedIn: definedIn) { _ in
      container.report(T.self)
      return nil
    }
  }
}

// MARK: - Settings

extension ManagedContainer {
  /// Sets what is called with each instance that this container gives, where the factory has no decorator of its own.
  /// Called on the thread that resolves, with no lock held.
  public func decorator(_ decorator: ((Any) -> Void)?) {
    manager.engine.setTypedDecorator(decorator.map(ContainerDecorator.init))
  }

  /// Resets the container: see ``ContainerManager/reset(options:)``.
  public func reset(options: FactoryResetOptions = .all) { manager.reset(options: options) }

  /// Sets several things at once: `container { $0.logger.register { … } }`.
  @discardableResult
  public func callAsFunction(_ transform: (Self) -> Void) -> Self {
    transform(self)
    return self
  }

  /// Sets several things at once.
  @discardableResult
  public func callAsFunction(_ transform: (Self) async -> Void) async -> Self {
    await transform(self)
    return self
  }

  @available(*, deprecated, message: "Use container { … }")
  @discardableResult
  public func with(_ transform: (Self) -> Void) -> Self { callAsFunction(transform) }

  @available(*, deprecated, message: "Use container { … }")
  @discardableResult
  public func with(_ transform: (Self) async -> Void) async -> Self { await callAsFunction(transform) }
}

/// A promise and where it was made, for the report that nobody has kept it.
private struct Unpromised: Sendable {
  private let container: any ManagedContainer
  private let key: StaticString
  private let file: StaticString
  private let line: UInt

  init(_ container: any ManagedContainer, _ key: StaticString, _ file: StaticString, _ line: UInt) {
    self.container = container
    self.key = key
    self.file = file
    self.line = line
  }

  func report<T>(_ type: T.Type) {
    guard container.manager.promiseTriggersError else { return }
    ServiceFailure.report(
      "\(Swift.type(of: container)).\(key)<\(type)> was promised and is not registered; register it before it is resolved",
      file: file, line: line)
  }
}
