import CServiceKit
import ServiceKitCore

extension ManagedContainer {
  /// Makes a factory's objects resolvable from C, by name. C sees an object's address, and keeps the object as long as
  /// it holds the handle; functions of yours with `@_cdecl` make something of it.
  ///
  /// The factory decides about scope, contexts and registrations, as for Swift: each resolve from C asks it.
  ///
  /// - Parameters:
  ///   - name: 1 to 255 bytes without control characters. What was registered under it before is replaced.
  ///   - type: What C may ask for with `svk_resolve_typed`.
  public func export<T: AnyObject>(
    _ keyPath: KeyPath<Self, Factory<T>> & Sendable, as name: String, type: String? = nil
  ) {
    export(
      keyPath, as: name, type: type, instance: { Unmanaged.passRetained($0).toOpaque() },
      destroy: { Unmanaged<T>.fromOpaque($0).release() })
  }

  /// Makes what a factory gives resolvable from C, by name, as something that C understands.
  ///
  /// - Parameters:
  ///   - instance: Makes what C sees. Called on the thread that resolves.
  ///   - destroy: Ends it. Called once for each, on the thread that releases last.
  public func export<T>(
    _ keyPath: KeyPath<Self, Factory<T>> & Sendable, as name: String, type: String? = nil,
    instance: @escaping @Sendable (T) -> UnsafeMutableRawPointer,
    destroy: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
  ) {
    let (key, type) = (OwnedBytes.copy(of: name), type.map { OwnedBytes.copy(of: $0) })
    do throws(Failure) {
      if let type { try KeyRules.check(type.view, "type") }
      let exported = ExportedFactory(keyPath, of: self, type: type, instance: instance, destroy: destroy)
      try manager.engine.register(key.view, exported)
    } catch {
      ServiceFailure.report(
        "\(T.self) could not be exported to C as \"\(name)\": \(String(cString: Failure.lastWords))")
    }
    withExtendedLifetime(key) {}
  }
}

/// What C's name stands for: asks the Swift factory.
private final class ExportedFactory<C: ManagedContainer, T>: Registration {
  private let keyPath: KeyPath<C, Factory<T>> & Sendable
  private weak let container: C?
  private let engine: ObjectIdentifier
  private let instance: @Sendable (T) -> UnsafeMutableRawPointer
  private let destroy: @Sendable (UnsafeMutableRawPointer) -> Void

  init(
    _ keyPath: KeyPath<C, Factory<T>> & Sendable, of container: C, type: OwnedBytes?,
    instance: @escaping @Sendable (T) -> UnsafeMutableRawPointer,
    destroy: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
  ) {
    self.keyPath = keyPath
    self.container = container
    engine = ObjectIdentifier(container.manager.engine)
    self.instance = instance
    self.destroy = destroy
    super.init(scope: ScopeChoice(.unique), type: type)
  }

  override func make(_ call: inout Call) -> (status: Int32, instance: UnsafeMutableRawPointer?) {
    guard let container = container(of: call.owner) else { return (SVK_INVALID_HANDLE, nil) }
    return (SVK_OK, instance(container[keyPath: keyPath].resolve()))
  }

  override func end(_ instance: UnsafeMutableRawPointer) { destroy(instance) }

  /// The container that the name was found in: this registration may have been copied with its container.
  private func container(of owner: ServiceKitCore.Container) -> C? {
    if engine == ObjectIdentifier(owner), let container { return container }
    return Container(manager: ContainerManager(viewing: owner)) as? C
  }
}
