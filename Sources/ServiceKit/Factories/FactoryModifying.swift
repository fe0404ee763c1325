import ServiceKitCore

/// What can be said about a factory.
///
/// Said in the factory's definition it is part of that: it holds at each read, writes nothing into the container and goes
/// before what is said from outside, unless ``once()`` is said too. Said from outside, of a factory that was read, it
/// stays in the container for everybody, until a reset. Either way it holds for a call that is chained to it. The
/// properties ``cached``, ``graph``, ``shared``, ``singleton`` and ``unique`` are for definitions and chains; from
/// outside use ``scope(_:function:)``.
public protocol FactoryModifying<P, T>: Sendable {
  associatedtype P
  associatedtype T
  /// The factory's place in its container, and its definition.
  var registration: FactoryRegistration<P, T> { get set }
}

// MARK: - Scopes

extension FactoryModifying {
  /// How long instances are kept, and for whom. From outside another scope than before forgets the kept instance.
  ///
  /// - Parameter function: Leave it out: it tells whether the definition says this.
  @discardableResult
  @inlinable
  public func scope(_ scope: Scope, function: StaticString = #function) -> Self {
    if !isDefinition(function) { registration.registerScope(scope) }
    return map { $0.setScope(scope) }
  }

  /// One instance for each container: see ``Scope/cached``.
  @inlinable public var cached: Self { map { $0.setScope(Scope.cached) } }
  /// One instance for each outermost resolve: see ``Scope/graph``.
  @inlinable public var graph: Self { map { $0.setScope(Scope.graph) } }
  /// One instance as long as somebody holds it: see ``Scope/shared``.
  @inlinable public var shared: Self { map { $0.setScope(Scope.shared) } }
  /// One instance for all containers: see ``Scope/singleton``.
  @inlinable public var singleton: Self { map { $0.setScope(Scope.singleton) } }
  /// A new instance each time: see ``Scope/unique``.
  @inlinable public var unique: Self { map { $0.setScope(Scope.unique) } }

  /// How many seconds an instance is kept since it was last given.
  @discardableResult
  @inlinable
  public func timeToLive(_ seconds: Double, function: StaticString = #function) -> Self {
    let nanoseconds = nanoseconds(seconds)
    if !isDefinition(function) { registration.registerTimeToLive(nanoseconds) }
    return map { $0.setTimeToLive(nanoseconds) }
  }
}

// MARK: - Decorators

extension FactoryModifying {
  /// What is called with each instance that is given, instead of the container's decorator. Called on the thread that
  /// resolves, with no lock held.
  @discardableResult
  public func decorator(
    function: StaticString = #function, _ decorator: @escaping (_ instance: T) -> Void
  ) -> Self {
    self.decorator(function: function) { instance, _ in decorator(instance) }
  }

  /// The same, told whether the instance is new.
  @discardableResult
  public func decorator(
    function: StaticString = #function, _ decorator: @escaping (_ instance: T, _ isNew: Bool) -> Void
  ) -> Self {
    if !isDefinition(function) { registration.registerDecorator(decorator) }
    return map { $0.setDecorator(decorator) }
  }
}

// MARK: - Contexts

extension FactoryModifying {
  /// Another factory for some contexts. Forgets no kept instance. See ``FactoryContext`` for which one matches.
  @discardableResult
  public func context(
    _ contexts: FactoryContextType..., function: StaticString = #function, factory: @escaping (P) -> T
  ) -> Self {
    contexts.reduce(self) { $0.adding(factory, for: $1, function) }
  }

  /// Another factory where an argument has this value.
  @discardableResult
  public func onArg(
    _ argument: String, function: StaticString = #function, factory: @escaping (P) -> T
  ) -> Self {
    adding(factory, for: .arg(argument), function)
  }

  /// Another factory where an argument has one of these values.
  @discardableResult
  public func onArgs(
    _ arguments: [String], function: StaticString = #function, factory: @escaping (P) -> T
  ) -> Self {
    adding(factory, for: .args(arguments), function)
  }

  /// Another factory in previews.
  @discardableResult
  @inlinable
  public func onPreview(function: StaticString = #function, factory: @escaping (P) -> T) -> Self {
    adding(factory, for: .preview, function)
  }

  /// Another factory in tests.
  @discardableResult
  @inlinable
  public func onTest(function: StaticString = #function, factory: @escaping (P) -> T) -> Self {
    adding(factory, for: .test, function)
  }

  /// Another factory in debug builds.
  @discardableResult
  @inlinable
  public func onDebug(function: StaticString = #function, factory: @escaping (P) -> T) -> Self {
    adding(factory, for: .debug, function)
  }

  /// Another factory in a simulator.
  @discardableResult
  @inlinable
  public func onSimulator(function: StaticString = #function, factory: @escaping (P) -> T) -> Self {
    adding(factory, for: .simulator, function)
  }

  /// Another factory on a device, which is what is no simulator.
  @discardableResult
  @inlinable
  public func onDevice(function: StaticString = #function, factory: @escaping (P) -> T) -> Self {
    adding(factory, for: .device, function)
  }
}

// MARK: - The rest

extension FactoryModifying {
  /// What the definition says holds only until it is said otherwise from outside.
  @inlinable
  public func once() -> Self { map { $0.set(DefinitionFlag.yields) } }

  /// Takes back what was registered or said from outside, or forgets the kept instance.
  @discardableResult
  public func reset(_ options: FactoryResetOptions = .all) -> Self {
    registration.reset(options)
    return self
  }
}

extension FactoryModifying {
  @inlinable
  func isDefinition(_ function: StaticString) -> Bool { registration.isDefined(in: function) }

  @inlinable
  func map(_ change: (inout FactoryRegistration<P, T>) -> Void) -> Self {
    var copy = self
    change(&copy.registration)
    return copy
  }

  @inlinable
  func adding(
    _ factory: @escaping (P) -> T, for context: FactoryContextType, _ function: StaticString
  ) -> Self {
    if !isDefinition(function) { registration.register(factory, for: context) }
    // Left out where it cannot match, which costs nothing: definitions are read again and again.
    guard ActiveContexts.mayBeActive(context, in: registration.held) else { return self }
    return map { $0.setFactory(factory, for: context) }
  }

  @usableFromInline
  func nanoseconds(_ seconds: Double) -> UInt64 {
    guard seconds > 0 else { return 1 }
    let nanoseconds = seconds * 1_000_000_000
    return nanoseconds < Double(UInt64.max) ? UInt64(nanoseconds) : UInt64.max
  }
}
