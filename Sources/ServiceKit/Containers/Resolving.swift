import ServiceKitCore

/// A container whose factories can also be registered and resolved by their type alone, as in older containers.
///
/// Conform a container to it to use that: `extension Container: Resolving {}`.
public protocol Resolving: ManagedContainer {
  /// Registers a factory of a type.
  @discardableResult
  func register<T>(_ type: T.Type, factory: @escaping () -> T) -> Factory<T>
  /// The factory that was registered for a type, if there is one.
  func factory<T>(_ type: T.Type) -> Factory<T>?
  /// An instance of a type; nil if nothing was registered for it.
  func resolve<T>(_ type: T.Type) -> T?
}

extension Resolving {
  @discardableResult
  public func register<T>(_ type: T.Type = T.self, factory: @escaping () -> T) -> Factory<T> {
    let found = Factory(self, key: typedKey, factory)
    return found.register(factory: factory)
  }

  public func factory<T>(_ type: T.Type = T.self) -> Factory<T>? {
    _ = manager.prepare(self)
    let view = FactoryKey(
      start: typedKey.utf8Start, count: typedKey.utf8CodeUnitCount, type: FactoryRegistration<Void, T>.identity
    ).view
    guard let registered = manager.engine.registration(view) as? TypedRegistration<Void, T> else { return nil }
    let factory = registered.factory
    return Factory(self, key: typedKey) { factory(()) }
  }

  public func resolve<T>(_ type: T.Type = T.self) -> T? { factory(type)?.resolve() }
}

/// The name of factories that are known by their type alone.
private let typedKey: StaticString = "*"
