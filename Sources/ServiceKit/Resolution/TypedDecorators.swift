import ServiceKitCore

/// A factory's decorator.
final class FactoryDecorator<T>: Decorator {
  let body: (T, Bool) -> Void

  init(_ body: @escaping (T, Bool) -> Void) {
    self.body = body
    super.init()
  }
}

/// A container's, which is called with instances of every type.
final class ContainerDecorator: Decorator {
  let body: (Any) -> Void

  init(_ body: @escaping (Any) -> Void) {
    self.body = body
    super.init()
  }
}
