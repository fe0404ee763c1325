import ServiceKitCore

extension ManagedContainer {
  /// The container as C knows it: an `svk_container *`, good as long as this container lives. C must not destroy it.
  public var cHandle: OpaquePointer {
    // A container's token is never 0.
    manager.engine.token.pointer.unsafelyUnwrapped
  }
}

extension Container {
  /// A container that a C program has made, seen from Swift. Its end is C's to decide: once it is destroyed there,
  /// nothing can be resolved from it here either.
  ///
  /// A handle of no container is reported through ``ServiceFailure``; if that goes on, this is a new container.
  ///
  /// - Parameter cHandle: An `svk_container *`.
  public convenience init(cHandle: OpaquePointer) {
    if let engine = TokenTable.object(Token(cHandle), .container, ServiceKitCore.Container.self) {
      self.init(manager: ContainerManager(engine: engine))
    } else {
      ServiceFailure.report("Container(cHandle:): no such container, or it is destroyed already")
      self.init()
    }
  }
}
