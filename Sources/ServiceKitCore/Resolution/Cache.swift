import CServiceKit

/// The scopes that keep an instance beyond one resolve: cached, shared, singleton and custom.
///
/// For each key one thread builds, the others wait for it. What happens is decided under the container's lock, as a
/// ``Decision``, and done after it.
enum Cache {
  /// What to do about a request, as found under the lock.
  private enum Decision {
    case give(Resolved)
    case wait(Build)
    case build(Build)
    /// Build beside the one at work, because that one is further out on this very thread, with another parameter.
    case buildAlone
    case refuse(Failure)
    /// Only the program can tell whether one of these is the request's parameter.
    case compare([Parameter])
  }

  static func provide(
    _ request: borrowing Request, _ winner: borrowing Winner, _ surroundings: Surroundings,
    on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Resolve.Provision {
    let storage = storage(winner, request)
    defer { if storage.container !== winner.owner { Closing.end(storage.container) } }
    var compared: [Parameter] = []
    while true {
      var leftovers = Leftovers()
      let decision = storage.container.lock.withLock {
        decide(request, winner, storage, demandsTest: surroundings.demandsTest, compared, &leftovers, on: thread)
      }
      leftovers.letGo()
      if case .compare(let others) = decision {
        // With no lock held: that calls the program.
        if let equal = others.first(where: { request.parameter?.isEqual(to: $0) ?? false }) {
          return try provide(request.with(equal), winner, surroundings, on: thread)
        }
        compared.append(contentsOf: others)
      } else if let provision = try act(decision, request, winner, storage, on: thread) {
        return provision
      }
    }
  }

  /// Nil when all has to be decided anew.
  private static func act(
    _ decision: Decision, _ request: borrowing Request, _ winner: borrowing Winner, _ storage: Builder.Storage,
    on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Resolve.Provision? {
    switch decision {
    case .compare: return nil
    case .give(let resolved):
      return Resolve.Provision(resolved: resolved, isNew: false)
    case .build(let build):
      let resolved = try Builder.build(request, winner, in: winner.owner, storage: storage, build: build, on: thread)
      return Resolve.Provision(resolved: resolved, isNew: true)
    case .buildAlone:
      return try buildAlone(request, winner, on: thread)
    case .wait(let build):
      return try wait(for: build, request, winner, storage, on: thread)
    case .refuse(let failure):
      throw failure
    }
  }

  /// For a singleton its cell among those of the process, kept by an activity there until ``Closing/end(_:)``.
  private static func storage(_ winner: borrowing Winner, _ request: borrowing Request) -> Builder.Storage {
    guard winner.scope.kind == .singleton else { return Builder.Storage(container: winner.owner, cell: winner.cell) }
    let container = SingletonStore.container(of: winner.scope)
    return container.lock.withLock {
      container.activity.begin()
      return Builder.Storage(container: container, cell: container.cell(request.key))
    }
  }

  private static func decide(
    _ request: borrowing Request, _ winner: borrowing Winner, _ storage: Builder.Storage, demandsTest: Bool,
    _ compared: [Parameter],
    _ leftovers: inout Leftovers, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> Decision {
    let cell = storage.cell
    let byParameter = winner.cachesByParameter
    // It may have been closed since the registration was found.
    if storage.container.isClosed { return .refuse(Winner.closed(request)) }
    if let scope = winner.scope.custom, !scope.isUsable {
      return .refuse(destroyedScope(request, scope))
    }
    if byParameter, let parameter = request.parameter, !parameter.isPlain {
      let unclear = cell.pointee.unclear(parameter).filter { each in !compared.contains { $0 === each } }
      if !unclear.isEmpty { return .compare(unclear) }
    }
    if let instance = cell.pointee.state.instance(for: request.parameter, byParameter: byParameter) {
      if isUsable(instance, winner, demandsTest: demandsTest) {
        let lease = Instance.lease(instance, marks: request.marks, on: thread)
        return .give(Resolved(lease: lease, value: instance.pointee.value))
      }
      displace(instance, in: storage, &leftovers)
    }
    var each = cell.pointee.builds
    while let build = each {
      each = build.next
      guard build.isFor(request.parameter, byParameter: byParameter) else { continue }
      if build.thread == thread, !Parameter.areSame(build.parameter, request.parameter) { return .buildAlone }
      build.waiters += 1
      return .wait(build)
    }
    let build = Build(
      thread: thread, parameter: request.parameter,
      registration: winner.registration, cell: cell, of: storage.container)
    build.cachesByParameter = byParameter
    build.timeToLive = max(winner.timeToLive, winner.registration.timeToLive)
    build.next = cell.pointee.builds
    cell.pointee.builds = build
    return .build(build)
  }

  /// Takes an instance out of its cell, with the lock held.
  private static func displace(
    _ instance: UnsafeMutablePointer<Instance>, in storage: Builder.Storage, _ leftovers: inout Leftovers
  ) {
    storage.container.willChange(storage.cell)
    storage.cell.pointee.state.uncache(instance)
    leftovers.retire(instance)
    // Cells of the containers that asked hold a singleton ready, too.
    if storage.container.isStore { Answers.change() }
  }

  /// Whether a cached instance may still be given; if not, it makes room for a new one.
  private static func isUsable(
    _ instance: UnsafeMutablePointer<Instance>, _ winner: borrowing Winner, demandsTest: Bool
  ) -> Bool {
    guard instance.pointee.scope.isSame(as: winner.scope) else { return false }
    if demandsTest, !instance.pointee.registration.isForTest { return false }
    let timeToLive =
      instance.pointee.registration.timeToLive > 0 ? instance.pointee.registration.timeToLive : winner.timeToLive
    if timeToLive > 0 {
      let now = Clock.now()
      if now &- instance.pointee.lastUse >= timeToLive { return false }
      instance.pointee.lastUse = now
    }
    return true
  }

  private static func buildAlone(
    _ request: borrowing Request, _ winner: borrowing Winner, on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Resolve.Provision {
    let resolved = try Builder.build(request, winner, in: winner.owner, storage: nil, build: nil, on: thread)
    return Resolve.Provision(resolved: resolved, isNew: true)
  }

  private static func wait(
    for build: Build, _ request: borrowing Request, _ winner: borrowing Winner, _ storage: Builder.Storage,
    on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Resolve.Provision? {
    let answer = BuildWait.wait(for: build, askedOf: request.container, on: thread)
    var resolved: Resolved?
    let spent = storage.container.lock.withLock {
      // A container that was closed meanwhile gives no more instances, not even to those who waited.
      if case .outcome(.built(let instance)) = answer, !storage.container.isClosed {
        let lease = Instance.lease(instance, marks: request.marks, on: thread)
        resolved = Resolved(lease: lease, value: instance.pointee.value)
      }
      build.waiters -= 1
      guard build.waiters == 0 else { return nil as Token? }
      defer { build.lease = nil }
      return build.lease
    }
    if let spent { Teardown.release(spent) }
    switch answer {
    case .closed: throw Winner.closed(request)
    case .outcome(.abandoned): return nil
    case .outcome(.failed(let status, let words)): throw Failure(status, words: words)
    case .cycle(let words):
      // With another parameter the key would come to an end of its own; only its cache makes the threads meet.
      if !winner.cachesByParameter, !Parameter.areEqual(build.parameter, request.parameter) {
        return try buildAlone(request, winner, on: thread)
      }
      throw Failure(SVK_CYCLE, words: words)
    case .outcome(.built):
      guard let resolved else { throw Winner.closed(request) }
      return Resolve.Provision(resolved: resolved, isNew: false)
    }
  }

  /// Caches what was built, unless its registration was replaced meanwhile, and gives it to those who wait.
  /// Returns the caller's lease.
  static func succeed(
    _ build: Build, in storage: Builder.Storage, _ instance: UnsafeMutablePointer<Instance>,
    _ request: borrowing Request,
    isKept: Bool, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> Token {
    let cell = storage.cell
    var leftovers = Leftovers()
    let lease = storage.container.lock.withLock {
      detach(build, from: cell)
      let byParameter = build.cachesByParameter
      if build.isDetached || !isKept || !(instance.pointee.scope.custom?.add(instance) ?? true) {
        instance.pointee.becomeCounted()
      } else {
        storage.container.willChange(cell)
        if let old = cell.pointee.state.instance(for: instance.pointee.parameter, byParameter: byParameter) {
          displace(old, in: storage, &leftovers)
        }
        if build.timeToLive > 0 { instance.pointee.lastUse = Clock.now() }
        cell.pointee.state.cache(instance, byParameter: byParameter)
      }
      if build.waiters > 0 {
        build.lease = Instance.lease(instance, marks: LeaseSlot.Mark.dependency, on: thread)
      }
      return Instance.lease(instance, marks: request.marks, on: thread)
    }
    BuildWait.end(build, .built(instance))
    leftovers.letGo()
    return lease
  }

  static func fail(_ build: Build, in storage: Builder.Storage, _ failure: Failure) {
    storage.container.lock.withLock { detach(build, from: storage.cell) }
    BuildWait.end(build, .failed(failure.status, OwnedBytes(ThreadRecord.current.pointee.lastError.view)))
  }

  /// With the container's lock held.
  static func detach(_ build: Build, from cell: UnsafeMutablePointer<Cell>) {
    guard !build.isDetached else { return }
    if cell.pointee.builds === build {
      cell.pointee.builds = build.next
    } else {
      var each = cell.pointee.builds
      while let current = each, current.next !== build { each = current.next }
      each?.next = build.next
    }
    build.next = nil
  }

  private static func destroyedScope(_ request: borrowing Request, _ scope: CustomScope) -> Failure {
    Failure(SVK_INVALID_HANDLE) { text in
      text.append("\"")
      text.append(request.key.bytes)
      text.append("\" is registered with the scope \"")
      text.append(scope.name)
      text.append("\", which has been destroyed; register it with another one")
    }
  }
}
