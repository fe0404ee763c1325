import ServiceKitCore

/// Where a service with an isolation applies its states: turns on that actor, one after the other.
enum IsolatedDelivery {
  /// An executor that gives its turns on `actor`, which it does not keep alive: an actor may own the service that it
  /// isolates. Once the actor is gone, nobody is isolated to it, and the turns are given on no actor.
  static func executor(on actor: any Actor) -> HostExecutor {
    let place = Place(actor)
    return HostExecutor { executor in
      // A task takes the sender's task-local values along, as an inline delivery would.
      Task { await giveTurns(executor, on: place.actor) }
    }
  }

  private static func giveTurns(_ executor: HostExecutor, on actor: isolated (any Actor)?) async {
    // What else waits for the actor comes in between.
    while executor.run() { await Task.yield() }
  }

  /// Never changed once it is made.
  private struct Place: @unchecked Sendable {
    private(set) weak var actor: (any Actor)?
    init(_ actor: any Actor) { self.actor = actor }
  }
}
