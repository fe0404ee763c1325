import CServiceKit

/// A set of singletons. The process has one; a face with scopes that can be cloned has others.
package final class SingletonStore: @unchecked Sendable {
  let container: Container

  private init(_ container: Container) { self.container = container }

  package convenience init() { self.init(Container(parent: nil, isStore: true)) }

  /// The process's, which C's keys always use.
  package static let ofProcess = SingletonStore(Container.ofSingletons)

  deinit { if container !== Container.ofSingletons { clear() } }

  static func container(of scope: ScopeChoice) -> Container { scope.store?.container ?? Container.ofSingletons }

  /// Retires all of its singletons.
  package func clear() { try? Singletons.reset(nil, in: container) }

  /// Retires one of its singletons, if it is there.
  package func forget(_ key: KeyView) {
    var leftovers = Leftovers()
    container.lock.withLock {
      guard let cell = container.table.pointee.find(key) else { return }
      leftovers.detachBuilds(of: cell)
      leftovers.retire(cell.pointee.state.takeInstances())
      // Cells of the containers that asked hold it ready, too.
      Answers.change()
    }
    leftovers.letGo()
  }

  /// Puts the same typed singletons into another store, that of `scope`, which nobody uses yet. C's are not copied: each
  /// of theirs is destroyed once.
  package func copy(to scope: ScopeChoice) {
    guard let copy = scope.store else { return }
    container.lock.withLock {
      container.table.pointee.forEach { cell in
        guard cell.pointee.space != 0 else { return }
        let key = KeyView(cell.key, space: cell.pointee.space)
        for instance in cell.pointee.state.instances { copy.add(instance, key, scope) }
      }
    }
  }

  /// Nobody else has this store yet, so its lock is free although another container's is held.
  private func add(_ instance: UnsafeMutablePointer<Instance>, _ key: KeyView, _ scope: ScopeChoice) {
    container.lock.withLock {
      let cell = container.cell(key)
      let twin = Instance.twin(of: instance, in: container, cell, scope)
      cell.pointee.state.cache(twin, byParameter: instance.pointee.cell.pointee.state.cached != instance)
    }
  }
}

/// The instances of the singleton scope, which belong to the process.
package enum Singletons {
  /// Retires the singleton of a key, or all of them where `key` is nil.
  package static func reset(_ key: ByteView?) throws(Failure) { try reset(key, in: Container.ofSingletons) }

  static func reset(_ key: ByteView?, in container: Container) throws(Failure) {
    if let key { try KeyRules.check(key, "key") }
    var leftovers = Leftovers()
    var wasThere = false
    container.lock.withLock {
      if let key {
        guard let cell = container.table.pointee.find(KeyView(key)) else { return }
        wasThere = clear(cell, &leftovers)
      } else {
        container.table.pointee.forEach { cell in _ = clear(cell, &leftovers) }
      }
      // Cells of the containers that asked hold their singletons ready, too.
      Answers.change()
    }
    leftovers.letGo()
    guard wasThere || key == nil else {
      throw Failure(SVK_NOT_FOUND) { text in
        text.append("there is no singleton of \"")
        text.append(key!)
        text.append("\" just now")
      }
    }
  }

  private static func clear(_ cell: UnsafeMutablePointer<Cell>, _ leftovers: inout Leftovers) -> Bool {
    let instances = cell.pointee.state.takeInstances()
    let isBeingBuilt = cell.pointee.builds != nil
    leftovers.detachBuilds(of: cell)
    leftovers.retire(instances)
    return !instances.isEmpty || isBeingBuilt
  }
}
