import CPlatform
import CServiceKit
import Synchronization

/// What a factory made: the program's pointer, what made it, and what it required.
///
/// There are two ways to end. A *counted* instance (unique, graph, shared, and one whose registration was replaced
/// while it was being built) ends with its last lease. The others are cached: leases on them are not counted, and they
/// end when they have been taken out of their cache, which ``Retirement`` then follows up.
package struct Instance: ~Copyable {
  /// Links of the list of a custom scope. Guarded by that scope's lock.
  /// Stands first because ThreadSanitizer takes a change of any field for one of the first bytes, which therefore must
  /// not be among those that other threads read without a lock.
  var links = CustomScope.Links()
  /// The program's pointer.
  let value: UnsafeMutableRawPointer
  /// The container it belongs to, for comparing only: `container` keeps it.
  let containerIdentity: UnsafeRawPointer
  /// Its key in that container.
  let cell: UnsafeMutablePointer<Cell>
  let container: Container
  let registration: Registration
  let scope: ScopeChoice
  let parameter: Parameter?

  /// Leases that count. Of a retired instance: those that were still held, see ``Retirement``.
  private let references: Atomic<Int>
  /// Ends with its last counted lease. Guarded by the container's lock until the instance is published.
  private(set) var isCounted: Bool
  /// Guarded by the container's lock.
  private(set) var isRetired = false
  /// When it was last given, for a time to live. Guarded by the container's lock.
  var lastUse: UInt64 = 0
  /// The leases on what it required.
  var dependencies: [Token]

  private init(
    value: UnsafeMutableRawPointer, container: Container, cell: UnsafeMutablePointer<Cell>,
    registration: Registration, scope: ScopeChoice, parameter: Parameter?, dependencies: [Token]
  ) {
    self.value = value
    containerIdentity = UnsafeRawPointer(Unmanaged.passUnretained(container).toOpaque())
    self.cell = cell
    self.container = container
    self.registration = registration
    self.scope = scope
    self.parameter = parameter
    self.dependencies = dependencies
    isCounted = scope.kind.isCounted
    references = Atomic(0)
  }

  static func create(
    value: UnsafeMutableRawPointer, container: Container, cell: UnsafeMutablePointer<Cell>,
    registration: Registration, scope: ScopeChoice, parameter: Parameter?, dependencies: [Token]
  ) -> UnsafeMutablePointer<Instance> {
    guard let memory = malloc(MemoryLayout<Instance>.size) else { abort() }
    let instance = memory.assumingMemoryBound(to: Instance.self)
    instance.initialize(
      to: Instance(
        value: value, container: container, cell: cell, registration: registration, scope: scope,
        parameter: parameter, dependencies: dependencies))
    cell.pointee.liveInstances.wrappingAdd(1, ordering: .relaxed)
    return instance
  }

  /// Another instance of the same value, cached elsewhere. With the lock held of the container that has the first.
  static func twin(
    of instance: UnsafeMutablePointer<Instance>, in container: Container, _ cell: UnsafeMutablePointer<Cell>,
    _ scope: ScopeChoice
  ) -> UnsafeMutablePointer<Instance> {
    create(
      value: instance.pointee.registration.copy(instance.pointee.value), container: container, cell: cell,
      registration: instance.pointee.registration, scope: scope,
      parameter: instance.pointee.parameter, dependencies: [])
  }

  static func free(_ instance: UnsafeMutablePointer<Instance>) {
    instance.pointee.cell.pointee.liveInstances.wrappingSubtract(1, ordering: .releasing)
    instance.deinitialize(count: 1)
    CPlatform.free(instance)
  }

  /// Before the instance is published: it will not be cached, and so ends with its last lease.
  mutating func becomeCounted() { isCounted = true }

  /// Takes a lease, with the container's lock held or with the instance in nobody else's hands yet.
  static func lease(
    _ instance: UnsafeMutablePointer<Instance>, marks: UInt, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> Token {
    guard instance.pointee.isCounted || instance.pointee.isRetired else {
      return LeaseTable.take(instance, marks: marks, on: thread)
    }
    instance.pointee.references.wrappingAdd(1, ordering: .relaxed)
    return LeaseTable.take(instance, marks: marks | LeaseSlot.Mark.counted, on: thread)
  }

  /// Ends a counted lease. True for the caller that ended the last one and must now destroy the instance.
  static func dropReference(_ instance: UnsafeMutablePointer<Instance>) -> Bool {
    guard instance.pointee.scope.kind == .shared else {
      return instance.pointee.references.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }
    // A shared instance may be found in its cell, and leased again, until the lock is held and the count is 0.
    return instance.pointee.container.lock.withLock {
      let left = instance.pointee.references.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
      guard left == 0 else { return false }
      instance.pointee.cell.pointee.state.uncache(instance)
      instance.pointee.cell.pointee.forgetSaved(instance)
      return true
    }
  }

  /// With the container's lock held, after the instance was taken out of its cell. True if ``Retirement`` must follow.
  mutating func retire() -> Bool {
    guard !isCounted, !isRetired else { return false }
    isRetired = true
    // Far from 0 until Retirement knows how many leases there still are.
    references.store(Instance.uncertain, ordering: .sequentiallyConsistent)
    scope.custom?.remove(&self)
    return true
  }

  /// After `held` leases were marked as counted. True if all of them have ended already.
  func settle(held: Int) -> Bool {
    references.wrappingAdd(held - Instance.uncertain, ordering: .acquiringAndReleasing).newValue == 0
  }

  private static var uncertain: Int { 1 << 40 }
}
