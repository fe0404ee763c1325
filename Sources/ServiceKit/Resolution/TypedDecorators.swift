import ServiceKitCore

/// A factory's decorator.
final class FactoryDecorator<T>: Decorator {
  let body: @Sendable (T, Bool) -> Void

  init(_ body: @escaping @Sendable (T, Bool) -> Void) {
    self.body = body
    super.init()
  }
}

/// A container's, which is called with instances of every type.
final class ContainerDecorator: Decorator {
  let body: @Sendable (Any) -> Void

  init(_ body: @escaping @Sendable (Any) -> Void) {
    self.body = body
    super.init()
  }
}
