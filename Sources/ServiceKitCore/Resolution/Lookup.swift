import CServiceKit

/// The resolves that the program asks for, by the container's token.
extension Resolve {
  @inline(__always)
  package static func handle(_ container: Token, _ key: KeyView) throws(Failure) -> Token {
    let thread = ThreadRecord.current
    if let ready = ready(key, on: thread, marks: 0, in: { TokenTable.peek(container, .container, Container.self) }) {
      return ready.lease
    }
    return try search(Request(container: try open(container), key: key), on: thread).lease
  }

  package static func handle(
    _ container: Token, _ key: KeyView, parameter: ByteView, type: ByteView?
  ) throws(Failure) -> Token {
    if let type { try KeyRules.check(type, "type") }
    let request = Request(
      container: try open(container), key: key, parameter: ByteParameter.make(parameter), type: type)
    return try search(request, on: ThreadRecord.current).lease
  }

  /// Resolves and keeps the instance until the container is destroyed.
  package static func pin(_ container: Token, _ key: KeyView) throws(Failure) -> UnsafeMutableRawPointer {
    let thread = ThreadRecord.current
    let container = try open(container)
    try checkPinnable(container, key)
    let request = Request(container: container, key: key, marks: LeaseSlot.Mark.dependency)
    let resolved = try search(request, on: thread)
    let instance = LeaseTable.instance(resolved.lease)
    do {
      var isPinned = false
      try container.change { () throws(Failure) in
        let cell = container.cell(key)
        isPinned = cell.pointee.pins.contains { LeaseTable.instance($0) == instance }
        if !isPinned { cell.pointee.pins.append(resolved.lease) }
      }
      if isPinned { Teardown.release(resolved.lease) }
    } catch {
      Teardown.release(resolved.lease)
      throw error
    }
    return resolved.value
  }

  /// What ends with a resolve cannot be kept; and a custom scope's reset is there to end what it holds.
  private static func checkPinnable(_ container: Container, _ key: KeyView) throws(Failure) {
    container.activity.begin()
    defer { Closing.end(container) }
    let request = Request(container: container, key: key)
    let winner = try Winner.find(request, Surroundings.of(container))
    defer { winner.end(request) }
    switch winner.scope.kind {
    case .cached, .shared, .singleton: return
    case .unique, .default, .graph, .custom:
      throw Failure(SVK_INVALID_ARGUMENT) { text in
        text.append("\"")
        text.append(key.bytes)
        text.append("\" is ")
        text.append(winner.scope.kind.name)
        text.append(" and cannot be pinned; only cached, shared and singleton services can")
      }
    }
  }

  private static func open(_ token: Token) throws(Failure) -> Container {
    guard let container = TokenTable.object(token, .container, Container.self) else {
      throw Failure(SVK_INVALID_HANDLE) { $0.append("no such container, or it is destroyed already") }
    }
    return container
  }
}
