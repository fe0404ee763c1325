/// One instance per outermost resolve in progress on this thread.
enum GraphScope {
  static func provide(
    _ request: borrowing Request, _ winner: borrowing Winner, on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Resolve.Provision {
    if let instance = find(request, winner, on: thread) {
      let lease = Instance.lease(instance, marks: request.marks, on: thread)
      return Resolve.Provision(resolved: Resolved(lease: lease, value: instance.pointee.value), isNew: false)
    }
    let resolved = try Builder.build(request, winner, in: request.container, storage: nil, build: nil, on: thread)
    let instance = LeaseTable.instance(resolved.lease)
    let kept = Instance.lease(instance, marks: LeaseSlot.Mark.dependency, on: thread)
    thread.pointee.resolution.graph.append(
      Resolution.GraphEntry(instance: instance, container: identity(request.container), lease: kept))
    return Resolve.Provision(resolved: resolved, isNew: true)
  }

  /// When the outermost resolve ends: from now on only what was required, or given to the program, lives.
  static func end(on thread: UnsafeMutablePointer<ThreadRecord>) {
    guard !thread.pointee.resolution.graph.isEmpty else { return }
    let graph = thread.pointee.resolution.graph
    thread.pointee.resolution.graph = []
    Teardown.release(graph.map { $0.lease })
  }

  private static func find(
    _ request: borrowing Request, _ winner: borrowing Winner, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> UnsafeMutablePointer<Instance>? {
    for entry in thread.pointee.resolution.graph {
      let instance = entry.instance
      guard instance.pointee.cell == winner.cell, entry.container == identity(request.container) else { continue }
      guard instance.pointee.registration.isSame(as: winner.registration) else { continue }
      if !winner.cachesByParameter || Parameter.areEqual(instance.pointee.parameter, request.parameter) {
        return instance
      }
    }
    return nil
  }

  private static func identity(_ container: Container) -> UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(container).toOpaque())
  }
}
