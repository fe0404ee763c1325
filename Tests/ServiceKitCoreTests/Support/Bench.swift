import XCTest

@testable import ServiceKitCore

/// A container whose parts a test handles directly, without resolves.
final class Bench {
  let container = Container.create(parent: nil)
  let maker = Maker()
  private(set) var instances: [UnsafeMutablePointer<Instance>] = []

  /// The cell of a key, made where there is none.
  func cell(_ key: String = "key") -> UnsafeMutablePointer<Cell> {
    let key = owned(key)
    return withExtendedLifetime(key) { container.lock.withLock { container.cell(KeyView(key.view)) } }
  }

  /// An instance that nothing keeps, and that nothing destroys.
  func instance(
    _ parameter: String = "", key: String = "key", _ scope: ScopeKind = .cached, dependencies: [Token] = []
  ) -> UnsafeMutablePointer<Instance> {
    let instance = Instance.create(
      value: UnsafeMutableRawPointer(bitPattern: 0x1000 + instances.count * 16)!, container: container,
      cell: cell(key), registration: maker.registration(scope), scope: ScopeChoice(scope),
      parameter: withView(parameter) { ByteParameter.make($0) }, dependencies: dependencies)
    instances.append(instance)
    return instance
  }

  deinit {
    for instance in instances { Instance.free(instance) }
    container.destroy()
  }
}
