import Synchronization

/// What a container holds at one moment, for a description: copied under the lock, written out after it.
struct Inventory {
  struct Key {
    let name: OwnedBytes
    let space: UInt
    var plain: Registration?
    var contextual: [Registration]
    /// The plain registration's, or the first one's, with the container's default looked up.
    var scope: ScopeKind
    var liveInstances: Int
    var isCached: Bool
    var handles = 0
    var dependencies = 0
    /// The keys that its factories required so far.
    var requirements: [OwnedBytes] = []

    var type: OwnedBytes? { (plain ?? contextual.first)?.type }
  }

  var keys: [Key] = []
  var contexts: ContextList
  var isStrict: Bool
  var defaultScope = ScopeKind.unique
  var pushes = 0

  init(of container: Container) {
    // So that the cells stay.
    container.activity.begin()
    defer { Closing.end(container) }
    let surroundings = Surroundings.of(container)
    contexts = surroundings.contexts
    isStrict = surroundings.isStrict
    let leases = HeldHandles.count(of: container)
    var cells: [UnsafeMutablePointer<Cell>] = []
    container.lock.withLock {
      defaultScope = container.settings.defaultScope.kind
      pushes = container.frames.count
      container.table.pointee.forEach { cell in
        guard cell.pointee.state.hasRegistration || cell.pointee.liveInstances.load(ordering: .relaxed) > 0 else {
          return
        }
        cells.append(cell)
        keys.append(Inventory.key(cell, leases[cell] ?? HeldHandles.Counts(), defaultScope: defaultScope))
      }
    }
    for index in keys.indices where keys[index].scope == .singleton { addSingleton(&keys[index]) }
    keys.sort { Inventory.precedes($0.name.view, $1.name.view) }
  }

  private static func key(
    _ cell: UnsafeMutablePointer<Cell>, _ leases: HeldHandles.Counts, defaultScope: ScopeKind
  ) -> Key {
    let state = cell.pointee.state
    let registered = (state.plain ?? state.contextual.first)?.scope.kind ?? .default
    var key = Key(
      name: OwnedBytes(cell.key), space: cell.pointee.space, plain: state.plain, contextual: state.contextual,
      scope: registered == .default ? defaultScope : registered,
      liveInstances: cell.pointee.liveInstances.load(ordering: .relaxed),
      isCached: state.cached != nil || !state.parametrised.isEmpty)
    key.handles = leases.handles
    key.dependencies = leases.dependencies
    key.addRequirements(of: cell)
    return key
  }

  /// A singleton's instance is the process's; it is shown with every container that has its registration.
  private func addSingleton(_ key: inout Key) {
    let container = Container.ofSingletons
    let leases = HeldHandles.count(of: container)
    container.lock.withLock {
      guard let cell = container.table.pointee.find(KeyView(key.name.view, space: key.space)) else { return }
      key.liveInstances += cell.pointee.liveInstances.load(ordering: .relaxed)
      key.isCached = key.isCached || cell.pointee.state.cached != nil || !cell.pointee.state.parametrised.isEmpty
      key.handles += leases[cell]?.handles ?? 0
      key.dependencies += leases[cell]?.dependencies ?? 0
    }
  }

  private static func precedes(_ left: ByteView, _ right: ByteView) -> Bool {
    for index in 0..<min(left.count, right.count) where left[index] != right[index] {
      return left[index] < right[index]
    }
    return left.count < right.count
  }
}

extension Inventory.Key {
  fileprivate mutating func addRequirements(of cell: UnsafeMutablePointer<Cell>) {
    var requirement = cell.pointee.requirements.load(ordering: .acquiring)
    while let current = requirement {
      requirements.append(current.pointee.key)
      requirement = current.pointee.next
    }
    requirements.reverse()
  }
}
