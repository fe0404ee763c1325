import CServiceKit

/// The instances of the singleton scope, which belong to the process.
package enum Singletons {
  /// Retires the singleton of a key, or all of them where `key` is nil.
  package static func reset(_ key: ByteView?) throws(Failure) {
    if let key { try KeyRules.check(key, "key") }
    let container = Container.ofSingletons
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
