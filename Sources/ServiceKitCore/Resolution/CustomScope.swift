import CServiceKit
import Synchronization

/// A scope of the program's own: its instances live until it is reset.
///
/// They are cached in the cells of their containers, as all are; the scope keeps a list of them. `lock` guards the
/// list, and is taken with a container's lock held, never the other way around.
package final class CustomScope {
  package let name: OwnedBytes
  private let lock = Lock()
  private var first: UnsafeMutablePointer<Instance>?
  private var isDestroyed = false

  /// An instance's place in the list.
  struct Links {
    var isLinked = false
    var previous: UnsafeMutablePointer<Instance>?
    var next: UnsafeMutablePointer<Instance>?
  }

  private init(name: OwnedBytes) { self.name = name }

  package static func create(_ name: ByteView) throws(Failure) -> Token {
    try KeyRules.check(name, "scope name")
    return TokenTable.add(.scope, CustomScope(name: OwnedBytes(name)))
  }

  /// The scope of a token, for a registration.
  package static func named(_ token: Token) throws(Failure) -> CustomScope {
    guard let scope = TokenTable.object(token, .scope, CustomScope.self) else {
      throw Failure(SVK_INVALID_HANDLE) { text in
        text.append(
          "svk_factory_options.custom_scope is no scope, or destroyed already; make one with svk_scope_create")
      }
    }
    return scope
  }

  package static func reset(_ token: Token) throws(Failure) {
    guard let scope = TokenTable.object(token, .scope, CustomScope.self) else {
      throw Failure(SVK_INVALID_HANDLE) { $0.append("svk_scope_reset: no such scope, or it is destroyed already") }
    }
    scope.clear()
  }

  package static func destroy(_ token: Token) throws(Failure) {
    guard let scope = TokenTable.object(token, .scope, CustomScope.self), TokenTable.withdraw(token, .scope) else {
      throw Failure(SVK_INVALID_HANDLE) { $0.append("svk_scope_destroy: no such scope, or it is destroyed already") }
    }
    scope.lock.withLock { scope.isDestroyed = true }
    scope.clear()
  }

  /// Adds an instance that is being cached, with its container's lock held. False when the scope has been destroyed.
  func add(_ instance: UnsafeMutablePointer<Instance>) -> Bool {
    lock.withLock {
      guard !isDestroyed else { return false }
      instance.pointee.links = Links(isLinked: true, previous: nil, next: first)
      first?.pointee.links.previous = instance
      first = instance
      return true
    }
  }

  func remove(_ instance: inout Instance) {
    lock.withLock { unlink(&instance.links) }
  }

  var isUsable: Bool { lock.withLock { !isDestroyed } }

  private func unlink(_ links: inout Links) {
    guard links.isLinked else { return }
    if let previous = links.previous { previous.pointee.links.next = links.next } else { first = links.next }
    links.next?.pointee.links.previous = links.previous
    links = Links()
  }

  private func clear() {
    var leftovers = Leftovers()
    while let container = lock.withLock({ first?.pointee.container }) {
      container.lock.withLock {
        while let instance = takeFirst(of: container) {
          let cell = instance.pointee.cell
          cell.pointee.hit.store(nil, ordering: .sequentiallyConsistent)
          cell.pointee.state.uncache(instance)
          cell.pointee.forgetSaved(instance)
          leftovers.retire(instance)
        }
      }
    }
    leftovers.letGo()
  }

  /// The first instance, if it is one of a container whose lock is held: then it is alive, because an instance is
  /// retired with that lock held, and leaves the list as it is.
  private func takeFirst(of container: Container) -> UnsafeMutablePointer<Instance>? {
    lock.withLock {
      guard let instance = first, instance.pointee.container === container else { return nil }
      unlink(&instance.pointee.links)
      return instance
    }
  }
}
