import CServiceKit
import Synchronization

@testable import ServiceKitCore

/// A factory whose work is a closure, and which counts what the engine does with it.
///
/// Its products are never freed while it lives, so that a test can ask one whether it was destroyed.
final class Maker: @unchecked Sendable {
  /// What a factory does besides making its product: it may require, wait or fail.
  typealias Work = (Building) -> Int32

  let name: String
  let builds = Tally()
  let destroys = Tally()
  let frees = Tally()
  /// Registrations made of it: as many frees are due in the end.
  let registrations = Tally()
  /// Products that were destroyed a second time.
  let doubleDestroys = Tally()
  /// Where the order of destructions is written down.
  let order: Shared<[String]>?
  private let work: Work?
  private let products = Shared<[Product]>([])

  init(_ name: String = "", order: Shared<[String]>? = nil, _ work: Work? = nil) {
    self.name = name
    self.order = order
    self.work = work
  }

  /// Products that have not been destroyed.
  var alive: Int { builds.value - destroys.value }

  func registration(
    _ scope: ScopeKind, custom: CustomScope? = nil, timeToLive: UInt64 = 0, byParameter: Bool = false,
    type: String? = nil, requires: [String] = [], context: String? = nil
  ) -> Registration {
    let pointer = Unmanaged.passRetained(self).toOpaque()
    registrations.add()
    return CRegistration(
      create: { resolver, instance, maker in
        Maker.of(maker).create(Token(word: UInt(bitPattern: resolver)), &instance!.pointee)
      },
      destroy: { instance, maker in Maker.of(maker).destroy(Product.of(instance)) },
      userData: UserData(
        pointer,
        free: { maker in
          Maker.of(maker).frees.add()
          Unmanaged<Maker>.fromOpaque(maker!).release()
        }),
      scope: scope, customScope: custom, timeToLive: timeToLive, cachesByParameter: byParameter,
      type: type.map { owned($0) }, requiredKeys: requires.map { owned($0) }, context: context.map { owned($0) })
  }

  private static func of(_ pointer: UnsafeMutableRawPointer?) -> Maker {
    Unmanaged<Maker>.fromOpaque(pointer!).takeUnretainedValue()
  }

  private func create(_ resolver: Token, _ instance: inout UnsafeMutableRawPointer?) -> Int32 {
    if let status = work?(Building(resolver: resolver)), status != SVK_OK { return status }
    let product = Product(name)
    products.change { $0.append(product) }
    builds.add()
    instance = Unmanaged.passUnretained(product).toOpaque()
    return SVK_OK
  }

  private func destroy(_ product: Product) {
    if product.end() { destroys.add() } else { doubleDestroys.add() }
    order?.change { $0.append(product.name) }
  }
}

/// What a ``Maker`` makes.
final class Product: Sendable {
  let name: String
  private let lives = Atomic<Bool>(true)

  init(_ name: String) { self.name = name }

  var isAlive: Bool { lives.load(ordering: .sequentiallyConsistent) }

  /// False when it had ended already.
  fileprivate func end() -> Bool { lives.exchange(false, ordering: .sequentiallyConsistent) }

  static func of(_ instance: UnsafeMutableRawPointer?) -> Product {
    Unmanaged<Product>.fromOpaque(instance!).takeUnretainedValue()
  }
}

/// A factory's view of the resolve that it runs for.
struct Building {
  let resolver: Token

  /// Requires another key. Gives its status.
  func require(_ key: String, parameter: String = "") -> Int32 {
    status { () throws(Failure) in
      let (key, parameter) = (owned(key), owned(parameter))
      _ = try Require.instance(resolver, key.view, parameter: parameter.view)
      withExtendedLifetime((key, parameter)) {}
    }
  }

  /// The parameter of the resolve.
  var parameter: String { (try? Require.parameter(resolver))?.string ?? "no such resolver" }
}
