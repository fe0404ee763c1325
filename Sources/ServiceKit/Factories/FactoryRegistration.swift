import CPlatform
import CServiceKit
import ServiceKitCore

/// A factory's place in its container, and its definition. A value: making one writes nothing into the container.
///
/// It is copied at each use of a definition, and the compiler takes only values of up to six fields apart, which is what
/// makes a hit cheap: hence the packing.
public struct FactoryRegistration<P, T>: @unchecked Sendable {
  /// An `any ManagedContainer`, as the object alone.
  @usableFromInline let object: AnyObject
  /// The container's, which it keeps.
  @usableFromInline let held: Unmanaged<ContainerManager>
  @usableFromInline let name: UnsafePointer<UInt8>
  /// The name's length in the lower half, ``DefinitionFlag``s in the upper.
  @usableFromInline var word: UInt
  @usableFromInline let factory: (P) -> T
  /// A ``Scope`` or ``Modifiers``.
  @usableFromInline var extras: AnyObject?

  @inlinable
  init(
    _ container: some ManagedContainer, key: StaticString, definedIn: StaticString,
    _ factory: @escaping (P) -> T
  ) {
    object = container
    held = .passUnretained(container.manager)
    name = key.utf8Start
    word = UInt(UInt32(truncatingIfNeeded: key.utf8CodeUnitCount))
    self.factory = factory
    if key.utf8Start != definedIn.utf8Start { setDefinedIn(definedIn) }
  }

  /// The instance: one that is kept, or a new one.
  @inlinable
  func resolve(_ parameter: P) -> T {
    if !has(DefinitionFlag.hasDecorator), let ready = ready() { return ready }
    return TypedSearch.resolve(self, parameter)
  }

  /// The instance that the container holds ready: no lock, no allocation, no call of the program.
  @inlinable
  func ready() -> T? {
    guard let ready = Ready(key, asked: asked, in: held) else { return nil }
    let instance = Unmanaged<Kept<T>>.fromOpaque(ready.value)._withUnsafeGuaranteedRef { $0.quickly }
    ready.end()
    return instance
  }

  @inlinable var key: FactoryKey {
    FactoryKey(start: name, count: Int(word & 0xFFFF_FFFF), type: FactoryRegistration.identity)
  }

  /// One for each pair of types.
  @inlinable static var identity: ObjectIdentifier { ObjectIdentifier(Self.self) }

  var container: any ManagedContainer { object as! any ManagedContainer }

  var manager: ContainerManager { held._withUnsafeGuaranteedRef { $0 } }
}

/// The way to an instance that is ready, which is the same for all types.
@usableFromInline
struct Ready {
  private let found: TypedResolve.Ready
  @usableFromInline let value: UnsafeMutableRawPointer

  @usableFromInline
  init?(_ key: FactoryKey, asked: UInt, in manager: Unmanaged<ContainerManager>) {
    guard
      let found = manager._withUnsafeGuaranteedRef({
        TypedResolve.begin(key.view, asked: asked, in: $0.engine)
      })
    else { return nil }
    self.found = found
    value = found.value
  }

  @usableFromInline
  func end() { TypedResolve.end(found) }
}

// MARK: - What the definition says

extension FactoryRegistration {
  @inlinable
  func has(_ flag: UInt) -> Bool { word >> 32 & flag != 0 }

  @inlinable
  mutating func set(_ flag: UInt) { word |= flag << 32 }

  @inlinable var scope: Scope? {
    guard let extras else { return nil }
    return has(DefinitionFlag.hasModifiers)
      ? unsafeDowncast(extras, to: Modifiers<P, T>.self).scope : unsafeDowncast(extras, to: Scope.self)
  }

  /// Tells apart the ways of asking that may get different instances; see ``Definition/asked``.
  @inlinable var asked: UInt { (scope?.identity ?? 0) << 3 | word >> 32 & DefinitionFlag.asking }

  @inlinable
  mutating func setScope(_ scope: Scope) {
    if has(DefinitionFlag.hasModifiers) { setModifiers { $0.with(scope) } } else { extras = scope }
  }

  @usableFromInline
  mutating func setTimeToLive(_ nanoseconds: UInt64) {
    set(DefinitionFlag.hasTimeToLive)
    setModifiers { $0.with(timeToLive: nanoseconds) }
  }

  mutating func setDecorator(_ decorator: @escaping (T, Bool) -> Void) {
    set(DefinitionFlag.hasDecorator)
    setModifiers { $0.with(decorator) }
  }

  @usableFromInline
  mutating func setFactory(_ factory: @escaping (P) -> T, for context: FactoryContextType) {
    setModifiers { $0.with(factory, for: context) }
  }

  @usableFromInline
  mutating func setDefinedIn(_ function: StaticString) {
    guard !isDefined(in: function) else { return }
    extras = Modifiers<P, T>(definedIn: function)
    set(DefinitionFlag.hasModifiers)
  }

  @usableFromInline
  func isDefined(in function: StaticString) -> Bool {
    if let definedIn = modifiers?.definedIn {
      return isSame(function, definedIn.utf8Start, definedIn.utf8CodeUnitCount)
    }
    return isSame(function, name, Int(word & 0xFFFF_FFFF))
  }

  private func isSame(_ function: StaticString, _ start: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    if function.utf8Start == start { return true }
    return function.utf8CodeUnitCount == count && memcmp(function.utf8Start, start, count) == 0
  }

  var modifiers: Modifiers<P, T>? {
    guard let extras, has(DefinitionFlag.hasModifiers) else { return nil }
    return unsafeDowncast(extras, to: Modifiers<P, T>.self)
  }

  @usableFromInline
  mutating func setModifiers(_ change: (Modifiers<P, T>) -> Modifiers<P, T>) {
    extras = change(modifiers ?? Modifiers(scope: scope))
    set(DefinitionFlag.hasModifiers)
  }

  var options: KeyOptions {
    var options = KeyOptions()
    options.scope = scope?.choice
    options.timeToLive = modifiers?.timeToLive
    options.cachesByParameter = has(DefinitionFlag.cachesByParameter)
    return options
  }
}

// MARK: - What is written into the container

extension FactoryRegistration {
  func register(_ factory: @escaping (P) -> T) {
    let isAutoRegistering = manager.prepare(container)
    manager.engine.register(key.view, TypedRegistration(factory), keepsInstance: isAutoRegistering)
    if !isAutoRegistering { forgetSingleton() }
  }

  @usableFromInline
  func register(_ factory: @escaping (P) -> T, for context: FactoryContextType) {
    _ = manager.prepare(container)
    for name in context.names {
      manager.engine.register(key.view, TypedRegistration(factory, context: name), keepsInstance: true)
    }
  }

  @usableFromInline
  func registerScope(_ scope: Scope) { registerOptions { $0.scope = scope.choice } }

  @usableFromInline
  func registerTimeToLive(_ nanoseconds: UInt64) { registerOptions { $0.timeToLive = nanoseconds } }

  private func registerOptions(_ set: (inout KeyOptions) -> Void) {
    _ = manager.prepare(container)
    manager.engine.setOptions(key.view, set)
  }

  func registerDecorator(_ body: @escaping (T, Bool) -> Void) {
    _ = manager.prepare(container)
    manager.engine.decorate(key.view, FactoryDecorator(body))
  }

  func reset(_ options: FactoryResetOptions) {
    // While it is still known what scope was said from outside.
    if options.typed.instances { forgetSingleton() }
    manager.engine.reset(key.view, options.typed)
  }

  /// A singleton is not the container's, but what is done to its factory alone reaches it.
  private func forgetSingleton() {
    manager.engine.singletons(key.view, scope: scope?.choice)?.forget(key.view)
  }
}
