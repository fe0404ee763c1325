import CPlatform
import CServiceKit
import Synchronization

/// What is asked for.
struct Request {
  let container: Container
  let key: KeyView
  /// A copy, since the factory may change what the caller's pointed to. Nil for none.
  var parameter: OwnedBytes?
  /// The type that the registration must have, if one was named.
  var type: ByteView?
  /// What the lease is marked with; see ``LeaseSlot/Mark``.
  var marks: UInt = 0

  var parameterView: ByteView { parameter?.view ?? .empty }
}

/// A leased instance, as the caller gets it.
package struct Resolved {
  package let lease: Token
  package let value: UnsafeMutableRawPointer
}

/// Resolving: from a key to a leased instance.
///
/// Most resolves end at ``ready(_:on:marks:in:)``: a cached instance is in its cell, and nothing has to be asked. The
/// rest look for the registration that wins, and at what its scope keeps; and build if that is nothing.
package enum Resolve {
  /// Leases the instance that a cell holds ready for a key without a parameter, if there is one: no lock, no call of
  /// the program, and no write but to this thread's own memory.
  @inline(__always)
  static func ready(
    _ key: KeyView, on thread: UnsafeMutablePointer<ThreadRecord>, marks: UInt,
    in container: () -> Unmanaged<Container>?
  ) -> Resolved? {
    ReadSection.enter(thread)
    defer { ReadSection.leave(thread) }
    let version = Answers.version
    guard var current = container() else { return nil }
    while true {
      let (cell, parent) = current._withUnsafeGuaranteedRef { container in
        (
          container.table.pointee.find(key),
          container.isTransparent.load(ordering: .sequentiallyConsistent) ? container.parentReference : nil
        )
      }
      if let cell {
        guard cell.pointee.hitVersion.load(ordering: .acquiring) == version,
          let instance = cell.pointee.hit.load(ordering: .sequentiallyConsistent)
        else { return nil }
        return Resolved(
          lease: LeaseTable.take(instance, marks: marks, on: thread), value: instance.pointee.value)
      }
      guard let parent else { return nil }
      current = parent
    }
  }

  /// The whole way.
  @inline(never)
  static func search(
    _ request: Request, on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Resolved {
    request.container.activity.begin()
    thread.pointee.resolution.depth += 1
    defer {
      thread.pointee.resolution.depth -= 1
      if thread.pointee.resolution.depth == 0 { GraphScope.end(on: thread) }
      Closing.end(request.container)
    }
    let version = Answers.version
    let surroundings = Surroundings.of(request.container)
    do {
      let winner = try Winner.find(request, surroundings)
      defer { winner.end(request) }
      let provision = try provide(request, winner, surroundings, on: thread)
      offer(provision, request, winner, surroundings, version: version)
      if let decorator = surroundings.decorator(of: request.key, askedOf: request.container) {
        Callback.run {
          decorator.function(
            provision.resolved.value, winner.cell.keyCString, provision.isNew ? 1 : 0, decorator.userData.pointer)
        }
      }
      surroundings.trace(askedOf: request.container)?.tell(
        winner, provision, depth: thread.pointee.resolution.depth - 1)
      return provision.resolved
    } catch {
      surroundings.trace(askedOf: request.container)?.tellFailure(
        request.key.bytes, depth: thread.pointee.resolution.depth - 1)
      throw error
    }
  }

  /// A leased instance, and whether this resolve built it.
  struct Provision {
    let resolved: Resolved
    let isNew: Bool
  }

  private static func provide(
    _ request: Request, _ winner: Winner, _ surroundings: Surroundings,
    on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Provision {
    switch winner.scope {
    case .unique, .default:
      let built = try Builder.build(request, winner, in: request.container, storage: nil, build: nil, on: thread)
      return Provision(resolved: built, isNew: true)
    case .graph:
      return try GraphScope.provide(request, winner, on: thread)
    case .cached, .shared, .singleton, .custom:
      return try Cache.provide(request, winner, surroundings, on: thread)
    }
  }

  /// Keeps an instance ready for plain resolves where nothing but this instance can be their answer.
  private static func offer(
    _ provision: Provision, _ request: Request, _ winner: Winner, _ surroundings: Surroundings, version: UInt64
  ) {
    guard !winner.scope.isCounted, winner.registration.timeToLive == 0, !winner.registration.cachesByParameter,
      !surroundings.areWatched, request.container.sees(winner.owner)
    else { return }
    winner.owner.lock.withLock {
      let instance = LeaseTable.instance(provision.resolved.lease)
      let cell = winner.cell
      // Anything may have changed since the registration was found. What changes a key under this lock, clears `hit`;
      // so it must be seen here that the registration is still the one, and the instance still cached.
      guard !winner.owner.isClosed, cell.pointee.state.winner(surroundings.contexts) === winner.registration else {
        return
      }
      guard winner.scope == .singleton || cell.pointee.state.cached == instance else { return }
      cell.pointee.hit.store(nil, ordering: .sequentiallyConsistent)
      cell.pointee.hitVersion.store(version, ordering: .sequentiallyConsistent)
      cell.pointee.hit.store(instance, ordering: .sequentiallyConsistent)
    }
  }
}

/// The registration that a resolve uses, and whose it is.
struct Winner {
  let owner: Container
  let cell: UnsafeMutablePointer<Cell>
  let registration: Registration
  /// The registration's, with the owner's default looked up.
  let scope: ScopeKind

  /// Looks through the container asked, which is at work already, and its ancestors. What is found is at work until
  /// ``end(_:)``.
  static func find(_ request: Request, _ surroundings: Surroundings) throws(Failure) -> Winner {
    var next: Container? = request.container
    var knowsKey = false
    while let container = next {
      next = container.parent
      var isClosed = false
      let found: Winner? = container.lock.withLock {
        guard !container.isClosed else {
          isClosed = true
          return nil
        }
        guard let cell = container.table.pointee.find(request.key), cell.pointee.state.hasRegistration else {
          return nil
        }
        knowsKey = true
        if surroundings.demandsTest, !cell.pointee.state.hasTest { return nil }
        guard let registration = cell.pointee.state.winner(surroundings.contexts) else { return nil }
        let scope = registration.scope == .default ? container.settings.defaultScope : registration.scope
        if container !== request.container { container.activity.begin() }
        return Winner(owner: container, cell: cell, registration: registration, scope: scope)
      }
      // What is behind a destroyed parent is not looked up either.
      if isClosed, container === request.container { throw closed(request) }
      if isClosed { break }
      if let found {
        do { try found.check(request) } catch {
          found.end(request)
          throw error
        }
        return found
      }
    }
    throw missing(request, knowsKey: knowsKey, surroundings)
  }

  func end(_ request: Request) {
    if owner !== request.container { Closing.end(owner) }
  }

  private func check(_ request: Request) throws(Failure) {
    guard let wanted = request.type else { return }
    if let type = registration.type, type.view == wanted { return }
    throw Failure(SVK_TYPE_MISMATCH) { text in
      text.append("\"")
      text.append(request.key.bytes)
      text.append("\" was asked for as \"")
      text.append(wanted)
      if let type = registration.type {
        text.append("\", but is registered as \"")
        text.append(type)
        text.append("\"; ask for that type, or for another key")
      } else {
        text.append("\", but is registered without a type; set svk_factory_options.type")
      }
    }
  }

  static func closed(_ request: Request) -> Failure {
    Failure(SVK_INVALID_HANDLE) { text in
      text.append("\"")
      text.append(request.key.bytes)
      text.append("\" cannot be resolved: the container is being destroyed")
    }
  }

  private static func missing(_ request: Request, knowsKey: Bool, _ surroundings: Surroundings) -> Failure {
    do { try KeyRules.check(request.key.bytes, "key") } catch { return error }
    if knowsKey, surroundings.demandsTest {
      return Failure(SVK_CONTEXT_MISSING) { text in
        text.append("\"")
        text.append(request.key.bytes)
        text.append("\" has no registration for the context \"test\", and the container is strict;")
        text.append(" add one with svk_register_for(container, \"")
        text.append(request.key.bytes)
        text.append("\", \"test\", ...)")
      }
    }
    return Failure(SVK_NOT_FOUND) { text in
      text.append("\"")
      text.append(request.key.bytes)
      if knowsKey {
        text.append("\" is registered, but not for the active contexts (")
        for index in surroundings.contexts.names.indices {
          if index > 0 { text.append(", ") }
          text.append(surroundings.contexts.names[index])
        }
        text.append("), and has no plain registration; add one with svk_register")
      } else {
        text.append("\" is not registered in this container or its parents; register it first with svk_register")
      }
    }
  }
}
