import CServiceKit
import ServiceKitCore

/// A factory's place in its container, and its definition. A value: making one writes nothing into the container.
public struct FactoryRegistration<P, T>: Sendable {
  @usableFromInline let container: any ManagedContainer
  @usableFromInline let key: FactoryKey
  @usableFromInline let factory: @Sendable (P) -> T
  @usableFromInline var modifiers = Modifiers<P, T>()

  @inlinable
  init(
    _ container: any ManagedContainer, key: StaticString, definedIn: StaticString,
    _ factory: @escaping @Sendable (P) -> T
  ) {
    self.container = container
    self.key = FactoryKey(key, space: FactoryRegistration.identity, definedIn: definedIn)
    self.factory = factory
  }

  /// One for each pair of types.
  @inlinable static var identity: ObjectIdentifier { ObjectIdentifier(Self.self) }

  @inlinable var manager: ContainerManager { container.manager }

  /// The instance: one that is kept, or a new one.
  @inlinable
  func resolve(_ parameter: P) -> T {
    if modifiers.rare?.decorator == nil, let ready = ready() { return ready }
    return TypedSearch.resolve(self, parameter)
  }

  /// The instance that the container holds ready: no lock, no allocation, no call of the program.
  @inlinable
  func ready() -> T? {
    guard let pointer = Ready.begin(key, asked: modifiers.asked, in: manager) else { return nil }
    let instance = Unmanaged<Kept<T>>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.quickly }
    Ready.end()
    return instance
  }

  // MARK: - What is written into the container

  func register(_ factory: @escaping @Sendable (P) -> T) {
    let isAutoRegistering = manager.prepare(container)
    manager.engine.register(key.view, TypedRegistration(factory), keepsInstance: isAutoRegistering)
  }

  @usableFromInline
  func register(_ factory: @escaping @Sendable (P) -> T, for context: FactoryContextType) {
    _ = manager.prepare(container)
    for name in context.names {
      manager.engine.register(key.view, TypedRegistration(factory, context: name), keepsInstance: true)
    }
  }

  @usableFromInline
  func setScope(_ scope: Scope) { setOptions { $0.scope = scope.choice } }

  @usableFromInline
  func setTimeToLive(_ nanoseconds: UInt64) { setOptions { $0.timeToLive = nanoseconds } }

  private func setOptions(_ set: (inout KeyOptions) -> Void) {
    _ = manager.prepare(container)
    manager.engine.setOptions(key.view, set)
  }

  func setDecorator(_ body: @escaping @Sendable (T, Bool) -> Void) {
    _ = manager.prepare(container)
    manager.engine.decorate(key.view, FactoryDecorator(body))
  }

  func reset(_ options: FactoryResetOptions) {
    manager.engine.reset(key.view, options.typed)
  }
}

/// The way to an instance that is ready, which is the same for all types.
@usableFromInline
enum Ready {
  @usableFromInline
  static func begin(_ key: FactoryKey, asked: UInt, in manager: ContainerManager) -> UnsafeMutableRawPointer? {
    TypedResolve.begin(key.view, asked: asked, in: manager.engine)
  }

  @usableFromInline
  static func end() { TypedResolve.end() }
}
