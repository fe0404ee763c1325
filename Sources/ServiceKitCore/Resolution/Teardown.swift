/// The end of instances, dependents first.
enum Teardown {
  /// Destroys an instance whose last lease has ended, then what only it required, and so on: one after the other
  /// rather than each inside the one before, however long the chain. No lock is held.
  @inline(never)
  static func destroy(_ instance: UnsafeMutablePointer<Instance>) {
    var ended = EndedInstances()
    ended.add(instance)
    destroy(ended)
  }

  static func destroy(_ instances: consuming EndedInstances) {
    var ended = instances
    while let instance = ended.next() {
      let container = instance.pointee.container
      container.activity.begin()
      Callback.run { instance.pointee.registration.end(instance.pointee.value) }
      for dependency in instance.pointee.dependencies { LeaseTable.releaseDependency(dependency, &ended) }
      Instance.free(instance)
      Closing.end(container)
    }
  }

  /// Ends a lease that the engine itself holds.
  static func release(_ lease: Token) {
    var ended = EndedInstances()
    LeaseTable.releaseDependency(lease, &ended)
    destroy(ended)
  }

  /// Ends what a failed factory had required.
  static func release(_ leases: [Token]) {
    guard !leases.isEmpty else { return }
    var ended = EndedInstances()
    for lease in leases { LeaseTable.releaseDependency(lease, &ended) }
    destroy(ended)
  }
}

/// Instances whose last lease has ended, first in, first out. Most often there is one: then no memory is taken.
struct EndedInstances {
  private var first: UnsafeMutablePointer<Instance>?
  private var others: [UnsafeMutablePointer<Instance>] = []
  private var taken = 0

  mutating func add(_ instance: UnsafeMutablePointer<Instance>) {
    if first == nil, others.isEmpty { first = instance } else { others.append(instance) }
  }

  mutating func next() -> UnsafeMutablePointer<Instance>? {
    if let instance = first {
      first = nil
      return instance
    }
    guard taken < others.count else {
      others = []
      taken = 0
      return nil
    }
    taken += 1
    return others[taken - 1]
  }
}
