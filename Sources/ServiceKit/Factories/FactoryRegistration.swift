import CServiceKit
import ServiceKitCore

/// A factory's place in its container, and its definition. A value: making one writes nothing into the container.
public struct FactoryRegistration<P, T>: Sendable {
  let container: any ManagedContainer
  let key: FactoryKey
  let factory: @Sendable (P) -> T
  var modifiers = Modifiers<P, T>()

  init(
    _ container: any ManagedContainer, key: StaticString, definedIn: StaticString,
    _ factory: @escaping @Sendable (P) -> T
  ) {
    self.container = container
    self.key = FactoryKey(key, takes: P.self, gives: T.self, definedIn: definedIn)
    self.factory = factory
  }

  var manager: ContainerManager { container.manager }

  /// The instance: one that is kept, or a new one.
  func resolve(_ parameter: P) -> T {
    if modifiers.decorator == nil, let ready = ready() { return ready }
    return TypedSearch.resolve(self, parameter)
  }

  /// The instance that the container holds ready: no lock, no allocation, no call of the program.
  @inline(__always)
  private func ready() -> T? {
    guard let pointer = TypedResolve.begin(key.view, asked: modifiers.asked, in: manager.engine) else { return nil }
    let instance = Unmanaged<Kept<T>>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.get() }
    TypedResolve.end()
    return instance
  }

  // MARK: - What is written into the container

  func register(_ factory: @escaping @Sendable (P) -> T) {
    let isAutoRegistering = manager.prepare(container)
    manager.engine.register(key.view, TypedRegistration(factory), keepsInstance: isAutoRegistering)
  }

  func register(_ factory: @escaping @Sendable (P) -> T, for context: FactoryContextType) {
    _ = manager.prepare(container)
    for name in context.names {
      manager.engine.register(key.view, TypedRegistration(factory, context: name), keepsInstance: true)
    }
  }

  func setOptions(_ set: (inout KeyOptions) -> Void) {
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
