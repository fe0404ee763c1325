import CServiceKit
import ServiceKitCore

/// A service of a C program, resolved by its name and held until nobody refers to this any more.
public final class CService: Sendable {
  private let lease: Token

  private init(_ lease: Token) { self.lease = lease }

  // What it required in turn is released after it, as for any other handle.
  deinit { _ = LeaseTable.release(lease) }

  /// What the C factory made. Valid as long as this object is.
  public var instance: UnsafeMutableRawPointer {
    // The lease is held, so that it has a value.
    LeaseTable.value(lease).unsafelyUnwrapped
  }

  /// The `svk_handle *`, for C functions that take one. This object's to release.
  public var handle: OpaquePointer { lease.pointer.unsafelyUnwrapped }

  static func resolve(_ name: String, type: String?, in container: ServiceKitCore.Container) throws(Failure) -> CService
  {
    let (name, type) = (OwnedBytes.copy(of: name), type.map { OwnedBytes.copy(of: $0) })
    defer { withExtendedLifetime((name, type)) {} }
    let key = KeyView(name.view)
    guard let type else { return CService(try Resolve.handle(container.token, key)) }
    return CService(try Resolve.handle(container.token, key, parameter: .empty, type: type.view))
  }
}

extension ManagedContainer {
  /// Defines a factory that gives a C program's service, for a container that both sides use:
  ///
  /// ```swift
  /// extension Container {
  ///   var clock: Factory<Clock> { imported("clock") { Clock($0) } }
  /// }
  /// ```
  ///
  /// C's registration decides about scope and contexts; what is said about this factory comes on top of that.
  ///
  /// - Parameters:
  ///   - name: What the C program has registered it as.
  ///   - cType: The type that it must have been registered with, if that matters.
  ///   - make: Makes what Swift sees. It keeps the ``CService`` as long as it uses the instance.
  ///
  /// What C cannot give is reported through ``ServiceFailure``, and is nil for an optional type.
  public func imported<T>(
    _ name: String, as type: T.Type = T.self, type cType: String? = nil, key: StaticString = #function,
    definedIn: StaticString = #function, _ make: @escaping @Sendable (CService) -> T
  ) -> Factory<T> {
    let imported = ImportedService(name: name, type: cType, manager: WeakManager(manager))
    return Factory(self, key: key, definedIn: definedIn) { imported.make(make) }
  }
}

private struct ImportedService: Sendable {
  let name: String
  let type: String?
  let manager: WeakManager

  func make<T>(_ make: @Sendable (CService) -> T) -> T {
    guard let engine = TypedResolve.container ?? manager.manager?.engine else { return fail("its container is gone") }
    let service: CService
    do throws(Failure) {
      service = try CService.resolve(name, type: type, in: engine)
    } catch {
      return fail(String(cString: Failure.lastWords))
    }
    return make(service)
  }

  private func fail<T>(_ words: String) -> T {
    let message = "\(T.self) could not be imported from C: \(words)"
    ServiceFailure.report(message)
    if let nothing = nothing(of: T.self) { return nothing }
    fatalError(message)
  }
}

/// A manager that is not kept.
struct WeakManager: Sendable {
  private final class Reference: Sendable {
    weak let manager: ContainerManager?
    init(_ manager: ContainerManager) { self.manager = manager }
  }
  private let reference: Reference

  init(_ manager: ContainerManager) { reference = Reference(manager) }

  var manager: ContainerManager? { reference.manager }
}
