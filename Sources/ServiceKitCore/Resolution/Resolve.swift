import CPlatform
import CServiceKit
import Synchronization

/// What is asked for. Passed on, never copied: each copy would count references that all threads share.
struct Request: ~Copyable {
  let container: Container
  let key: KeyView
  /// Nil for none.
  var parameter: Parameter?
  /// The type that the registration must have, if one was named.
  var type: ByteView?
  /// What the lease is marked with; see ``LeaseSlot/Mark``.
  var marks: UInt = 0
  /// The factory that a face with typed keys brings along.
  var definition: Definition?

  /// The same request with a parameter that equals its own, and is the one that is known already.
  func with(_ parameter: Parameter) -> Request {
    Request(
      container: container, key: key, parameter: parameter, type: type, marks: marks, definition: definition)
  }
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
    _ request: borrowing Request, on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Resolved {
    let found = try find(request, on: thread)
    return found.resolved
  }

  /// What a search has found.
  struct Found {
    let resolved: Resolved
    let isNew: Bool
    let registration: Registration
    /// The one that has to be called yet: a face with typed keys calls its own.
    let decorator: Decorator?
  }

  static func find(
    _ request: borrowing Request, on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Found {
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
      let decorator = surroundings.decorator(of: request.key, askedOf: request.container)
      if request.definition == nil {
        decorator?.decorate(provision.resolved.value, key: winner.cell.keyCString, isNew: provision.isNew)
      }
      surroundings.trace(askedOf: request.container)?.tell(
        winner, provision, depth: thread.pointee.resolution.depth - 1)
      return Found(
        resolved: provision.resolved, isNew: provision.isNew, registration: winner.registration, decorator: decorator)
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
    _ request: borrowing Request, _ winner: borrowing Winner, _ surroundings: Surroundings,
    on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Provision {
    switch winner.scope.kind {
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
    _ provision: Provision, _ request: borrowing Request, _ winner: borrowing Winner, _ surroundings: Surroundings,
    version: UInt64
  ) {
    guard !winner.scope.kind.isCounted, winner.timeToLive == 0, !winner.cachesByParameter,
      !surroundings.areWatched, request.container.sees(winner.owner)
    else { return }
    winner.owner.lock.withLock {
      let instance = LeaseTable.instance(provision.resolved.lease)
      let cell = winner.cell
      // Anything may have changed since the registration was found. What changes a key under this lock, clears `hit`;
      // so it must be seen here that the registration is still the one, and the instance still cached.
      guard !winner.owner.isClosed, cell.pointee.changes == winner.changes else { return }
      guard winner.scope.kind == .singleton || cell.pointee.state.cached == instance else { return }
      cell.pointee.hit.store(nil, ordering: .sequentiallyConsistent)
      cell.pointee.hitAsked.store(request.definition?.asked ?? 0, ordering: .sequentiallyConsistent)
      cell.pointee.hitVersion.store(version, ordering: .sequentiallyConsistent)
      cell.pointee.hit.store(instance, ordering: .sequentiallyConsistent)
    }
  }
}

/// The registration that a resolve uses, and whose it is. As ``Request``, it is not copied.
struct Winner: ~Copyable {
  let owner: Container
  let cell: UnsafeMutablePointer<Cell>
  let registration: Registration
  /// The registration's or the key's, with the owner's default looked up.
  let scope: ScopeChoice
  let timeToLive: UInt64
  let cachesByParameter: Bool
  /// The cell's ``Cell/changes`` when this was found.
  let changes: UInt64

  /// Looks through the container asked, which is at work already, and its ancestors. What is found is at work until
  /// ``end(_:)``.
  static func find(_ request: borrowing Request, _ surroundings: Surroundings) throws(Failure) -> Winner {
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
        let definition = request.definition
        if surroundings.demandsTest, !cell.pointee.state.hasTest, !(definition?.hasTest ?? false) { return nil }
        guard
          let registration = definition == nil
            ? cell.pointee.state.winner(surroundings.contexts)
            : definition?.winner(over: cell, surroundings.typedContexts)
        else { return nil }
        if container !== request.container { container.activity.begin() }
        return Winner(container, cell, registration, definition)
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
    if let winner = defined(request, surroundings) { return winner }
    throw missing(request, knowsKey: knowsKey, surroundings)
  }

  /// The definition that was brought along, as if it were registered in the container asked.
  private static func defined(_ request: borrowing Request, _ surroundings: Surroundings) -> Winner? {
    guard let definition = request.definition else { return nil }
    if surroundings.demandsTest, !definition.hasTest { return nil }
    return request.container.lock.withLock {
      guard !request.container.isClosed else { return nil }
      let cell = request.container.cell(request.key)
      let registration = definition.winner(over: cell, surroundings.typedContexts)
      return Winner(request.container, cell, registration ?? definition.registration, definition)
    }
  }

  /// With the container's lock held.
  private init(
    _ owner: Container, _ cell: UnsafeMutablePointer<Cell>, _ registration: Registration, _ definition: Definition?
  ) {
    self.owner = owner
    self.cell = cell
    self.registration = registration
    var scope = registration.scope
    if let definition {
      if let chosen = definition.scope(outside: cell.pointee.state.options.scope) { scope = chosen }
      timeToLive = definition.timeToLive(outside: cell.pointee.state.options.timeToLive)
      cachesByParameter = definition.options.cachesByParameter || cell.pointee.state.options.cachesByParameter
    } else {
      timeToLive = registration.timeToLive
      cachesByParameter = registration.cachesByParameter
    }
    self.scope = scope.kind == .default ? owner.settings.defaultScope : scope
    changes = cell.pointee.changes
  }

  func end(_ request: borrowing Request) {
    if owner !== request.container { Closing.end(owner) }
  }

  private func check(_ request: borrowing Request) throws(Failure) {
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

  static func closed(_ request: borrowing Request) -> Failure {
    Failure(SVK_INVALID_HANDLE) { text in
      text.append("\"")
      text.append(request.key.bytes)
      text.append("\" cannot be resolved: the container is being destroyed")
    }
  }

  private static func missing(_ request: borrowing Request, knowsKey: Bool, _ surroundings: Surroundings) -> Failure {
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
