import CPlatform
import CServiceKit
import Synchronization

/// A set of keys with their registrations and instances, and perhaps a parent that is asked for what it has not.
///
/// `lock` guards the cells' guarded fields, the settings and the frames of pushes. It is held for a few instructions
/// at a time, never with another container's, and never while the program or an instance's end runs.
package final class Container: @unchecked Sendable {
  let parent: Container?
  /// The parent, for a resolve that must not write to its reference count.
  let parentReference: Unmanaged<Container>?
  let lock = Lock()
  private let tablePointer: Atomic<UnsafeMutablePointer<CellTable>>
  /// Whether a plain resolve may go on to the parent without asking this container for more; see ``Settings``.
  let isTransparent = Atomic<Bool>(true)
  let activity = Activity()
  /// Keeps singletons, for other containers' keys.
  let isStore: Bool
  package internal(set) var token = Token(word: 0)

  // Guarded by the lock.
  var settings = Settings()
  /// Outdated once ``Answers/version`` has changed.
  var surroundings: Surroundings?
  /// Whether there ever was a child, which looks through this container.
  var isParent = false
  var trace: Trace?
  var frames: [Settings] = []
  /// How many cells have a decorator of their own, so that the others need not be looked for.
  var decoratedKeys = 0
  /// No work begins here any more.
  var isClosed = false
  /// Everything has ended. Guarded by ``Closing``'s lock.
  var isTakenDown = false

  init(parent: Container?, isStore: Bool = false) {
    self.parent = parent
    self.isStore = isStore
    parentReference = parent.map { Unmanaged.passUnretained($0) }
    tablePointer = Atomic(CellTable.create(capacity: 8))
  }

  deinit {
    let table = tablePointer.load(ordering: .acquiring)
    table.pointee.forEach { Cell.free($0) }
    CellTable.free(table)
  }

  /// A container, known by its `token` until ``Closing/destroy(_:)``.
  package static func create(parent: Container?) -> Container {
    // The first container reads the environment, rather than whoever resolves first.
    _ = ContextList.ofProcess
    let container = Container(parent: parent)
    parent?.lock.withLock { parent?.isParent = true }
    container.token = TokenTable.add(.container, container)
    return container
  }

  /// The container of the process that needs no handing around. It cannot be destroyed.
  package static let shared = Container.create(parent: nil)

  /// Where singletons are kept: a container that no token names, with a cell for each singleton's key.
  static let ofSingletons = Container(parent: nil, isStore: true)

  /// The cells. Read inside a ``ReadSection`` or with the lock held.
  var table: UnsafeMutablePointer<CellTable> {
    @inline(__always) get { tablePointer.load(ordering: .sequentiallyConsistent) }
  }

  /// The key's cell, with the lock held, made if there is none. The bytes must be a valid key.
  func cell(_ key: KeyView) -> UnsafeMutablePointer<Cell> {
    if let known = table.pointee.find(key) { return known }
    if table.pointee.isFull { grow() }
    let cell = Cell.create(key)
    cell.pointee.level = frames.count
    table.pointee.insert(cell)
    return cell
  }

  /// Whether what `ancestor` gives for its own keys is what this container gives for them.
  func sees(_ ancestor: Container) -> Bool {
    var container = self
    while container !== ancestor {
      guard container.isTransparent.load(ordering: .sequentiallyConsistent), let next = container.parent else {
        return false
      }
      container = next
    }
    return true
  }

  /// Before a cell's state changes, with the lock held: what plain resolves were given may no longer hold.
  func willChange(_ cell: UnsafeMutablePointer<Cell>) {
    cell.pointee.hit.store(nil, ordering: .sequentiallyConsistent)
    cell.pointee.willChange(level: frames.count)
  }

  /// After the settings changed, with the lock held.
  func settingsChanged() {
    isTransparent.store(settings.isTransparent && trace == nil, ordering: .sequentiallyConsistent)
    Answers.change()
  }

  /// Replaces the table by one for twice the cells in use, and drops the cells that only take up room. Not while a
  /// resolve is at work here, since it may be on its way to such a cell.
  private func grow() {
    let old = table
    let mayDrop = !activity.isGoingOn
    var dropped: [UnsafeMutablePointer<Cell>] = []
    var kept: [UnsafeMutablePointer<Cell>] = []
    kept.reserveCapacity(old.pointee.count)
    old.pointee.forEach { cell in
      if mayDrop, cell.pointee.isEmpty { dropped.append(cell) } else { kept.append(cell) }
    }
    var capacity = 8
    while capacity < kept.count * 4 { capacity *= 2 }
    let new = CellTable.create(capacity: capacity)
    for cell in kept { new.pointee.insert(cell) }
    tablePointer.store(new, ordering: .sequentiallyConsistent)
    ReadSection.waitForOthers()
    CellTable.free(old)
    for cell in dropped { Cell.free(cell) }
  }
}
