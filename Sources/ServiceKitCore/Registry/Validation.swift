import CServiceKit

/// Checking a container without building anything: by what its registrations declare to require.
///
/// It looks at one key after the other, as they are registered at that moment.
package enum Validation {
  package static func check(_ container: Container) throws(Failure) {
    container.activity.begin()
    defer { Closing.end(container) }
    var search = RequirementSearch(container)
    for key in container.registeredKeys() { try search.visit(key) }
  }
}

/// A depth-first walk along declared requirements, with a path of its own rather than recursion, however deep it goes.
private struct RequirementSearch {
  private let container: Container
  private var visited = KeyVisits()
  private var path: [Step] = []

  private struct Step {
    let key: OwnedBytes
    let declared: Declared
    var next = 0
  }

  init(_ container: Container) { self.container = container }

  mutating func visit(_ start: OwnedBytes) throws(Failure) {
    try enter(start, requiredBy: nil)
    while let step = path.last {
      guard step.next < step.declared.requiredKeys.count else {
        visited.set(step.key, .done)
        path.removeLast()
        continue
      }
      path[path.count - 1].next += 1
      try enter(step.declared.requiredKeys[step.next], requiredBy: step)
    }
  }

  private mutating func enter(_ key: OwnedBytes, requiredBy dependent: Step?) throws(Failure) {
    if visited.of(key) == .onPath, let start = path.firstIndex(where: { $0.key.view == key.view }) {
      var cycle = CyclePath()
      cycle.add(path[start...].map { $0.key.view })
      cycle.close()
      throw Failure(SVK_CYCLE, words: cycle.words)
    }
    guard let declared = try Declared.find(key, in: container) else {
      throw Failure(SVK_NOT_FOUND) { text in
        text.append("\"")
        text.append(key)
        text.append("\"")
        if let dependent {
          text.append(", which \"")
          text.append(dependent.key)
          text.append("\" requires,")
        }
        text.append(" is not registered for the active contexts; register it")
      }
    }
    if let dependent { try checkLifetimes(dependent, key, declared) }
    guard visited.of(key) == nil else { return }
    visited.set(key, .onPath)
    path.append(Step(key: key, declared: declared))
  }

  /// What lives longer would keep, or be left with, what should have ended.
  private func checkLifetimes(_ dependent: Step, _ key: OwnedBytes, _ declared: Declared) throws(Failure) {
    guard let longer = dependent.declared.scope.lifetime, let shorter = declared.scope.lifetime, longer > shorter else {
      return
    }
    throw Failure(SVK_INVALID_ARGUMENT) { text in
      text.append("\"")
      text.append(dependent.key)
      text.append("\" (")
      text.append(dependent.declared.scope.name)
      text.append(") requires \"")
      text.append(key)
      text.append("\" (")
      text.append(declared.scope.name)
      text.append("), which is made to live shorter; give one of them the other's scope")
    }
  }
}

/// What a key's winning registration declares.
private struct Declared {
  let scope: ScopeKind
  let requiredKeys: [OwnedBytes]

  static func find(_ key: OwnedBytes, in container: Container) throws(Failure) -> Declared? {
    let view = KeyView(key.view)
    let request = Request(container: container, key: view)
    do {
      let winner = try Winner.find(request, Surroundings.of(container))
      defer { winner.end(request) }
      return Declared(scope: winner.scope.kind, requiredKeys: winner.registration.requiredKeys)
    } catch {
      if error.status == SVK_NOT_FOUND { return nil }
      throw error
    }
  }
}

/// How far the search is with each key it came to, by the key's bytes.
private struct KeyVisits {
  enum Visit { case onPath, done }

  private var buckets: [[(key: OwnedBytes, visit: Visit)]] = Array(repeating: [], count: 64)
  private var count = 0

  func of(_ key: OwnedBytes) -> Visit? {
    for each in buckets[bucket(key)] where each.key.view == key.view { return each.visit }
    return nil
  }

  mutating func set(_ key: OwnedBytes, _ visit: Visit) {
    let index = bucket(key)
    for position in buckets[index].indices where buckets[index][position].key.view == key.view {
      buckets[index][position].visit = visit
      return
    }
    buckets[index].append((key, visit))
    count += 1
    if count > buckets.count * 2 { grow() }
  }

  private mutating func grow() {
    let all = buckets
    buckets = Array(repeating: [], count: all.count * 4)
    for bucket in all { for each in bucket { buckets[self.bucket(each.key)].append(each) } }
  }

  private func bucket(_ key: OwnedBytes) -> Int { Int(truncatingIfNeeded: key.view.hash & UInt64(buckets.count - 1)) }
}

extension ScopeKind {
  /// Singleton over cached and custom over shared over graph. Nil for unique, which may require and be required by any.
  fileprivate var lifetime: Int? {
    switch self {
    case .singleton: 4
    case .cached, .custom: 3
    case .shared: 2
    case .graph: 1
    case .unique, .default: nil
    }
  }
}

extension Container {
  /// The keys with a registration here, in no order.
  func registeredKeys() -> [OwnedBytes] {
    lock.withLock {
      var keys: [OwnedBytes] = []
      table.pointee.forEach { cell in
        if cell.pointee.space == 0, cell.pointee.state.hasRegistration { keys.append(OwnedBytes(cell.key)) }
      }
      return keys
    }
  }
}
