import ServiceKitCore

/// The container that most programs need no other beside.
///
/// ```swift
/// extension Container {
///   var logger: Factory<Logger> { self { FileLogger() }.singleton }
/// }
/// let logger = Container.shared.logger()
/// ```
///
/// The shared one is the same container as C's `svk_container_shared()`. May be used on any thread.
public final class Container: SharedContainer {
  @TaskLocal public static var shared = Container(manager: ContainerManager(engine: .shared))

  public let manager: ContainerManager

  /// A container that shares nothing with others but singletons.
  public convenience init() { self.init(manager: ContainerManager()) }

  init(manager: ContainerManager) { self.manager = manager }
}
