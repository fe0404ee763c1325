/// What a container holds for one key: a value, so that a push can keep it and a pop bring it back.
///
/// Its changes return what they displaced. The caller lets go of that after it has left the container's lock, because
/// the end of an instance or a registration calls the program.
struct CellState {
  var plain: Registration?
  /// At most one for each context.
  var contextual: [Registration] = []
  var decorator: Decorator?
  var options = KeyOptions()
  /// The one instance of this key, whichever registration built it.
  var cached: UnsafeMutablePointer<Instance>?
  /// The instances of a key that is cached by parameter.
  var parametrised = ParameterCache()

  var isEmpty: Bool {
    plain == nil && contextual.isEmpty && decorator == nil && options.isEmpty && cached == nil
      && parametrised.isEmpty
  }

  var hasRegistration: Bool { plain != nil || !contextual.isEmpty }

  /// The registration that wins under `contexts`: the first of them that has one, else the plain one.
  func winner(_ contexts: ContextList) -> Registration? {
    if !contextual.isEmpty {
      for context in contexts.names {
        if let found = registration(for: context.view) { return found }
      }
    }
    return plain
  }

  func registration(for context: ByteView) -> Registration? {
    for each in contextual where each.context!.view == context { return each }
    return nil
  }

  var hasTest: Bool { registration(for: ByteView("test")) != nil }

  mutating func setContextual(_ registration: Registration) -> Registration? {
    for index in contextual.indices where contextual[index].context!.view == registration.context!.view {
      let old = contextual[index]
      contextual[index] = registration
      return old
    }
    contextual.append(registration)
    return nil
  }

  func instance(for parameter: Parameter?, byParameter: Bool) -> UnsafeMutablePointer<Instance>? {
    byParameter ? parametrised.find(parameter) : cached
  }

  mutating func cache(_ instance: UnsafeMutablePointer<Instance>, byParameter: Bool) {
    if byParameter { parametrised.insert(instance) } else { cached = instance }
  }

  func holds(_ instance: UnsafeMutablePointer<Instance>) -> Bool {
    cached == instance || parametrised.holds(instance)
  }

  mutating func uncache(_ instance: UnsafeMutablePointer<Instance>) {
    if cached == instance { cached = nil } else { parametrised.remove(instance) }
  }

  var instances: [UnsafeMutablePointer<Instance>] {
    var all = parametrised.instances
    if let cached { all.append(cached) }
    return all
  }

  mutating func takeInstances() -> [UnsafeMutablePointer<Instance>] {
    let taken = instances
    parametrised = ParameterCache()
    cached = nil
    return taken
  }
}

/// A ``CellState`` that a pop brings back.
final class SavedCellState {
  var state: CellState
  let level: Int
  let before: SavedCellState?

  init(_ state: CellState, level: Int, before: SavedCellState?) {
    self.state = state
    self.level = level
    self.before = before
  }
}

/// Instances by parameter. The bytes decide, not their hash.
struct ParameterCache {
  /// A power of two of them, each a short array, so that the whole is a value.
  private var buckets: [[UnsafeMutablePointer<Instance>]] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  var instances: [UnsafeMutablePointer<Instance>] {
    var all: [UnsafeMutablePointer<Instance>] = []
    for bucket in buckets { all.append(contentsOf: bucket) }
    return all
  }

  func find(_ parameter: Parameter?) -> UnsafeMutablePointer<Instance>? {
    guard count > 0 else { return nil }
    for each in buckets[bucket(parameter)] where Parameter.areSame(each.pointee.parameter, parameter) { return each }
    return nil
  }

  func holds(_ instance: UnsafeMutablePointer<Instance>) -> Bool { find(instance.pointee.parameter) == instance }

  /// The caller has removed what was there for the same parameter.
  mutating func insert(_ instance: UnsafeMutablePointer<Instance>) {
    if count >= buckets.count * 2 { grow() }
    buckets[bucket(instance.pointee.parameter)].append(instance)
    count += 1
  }

  mutating func remove(_ instance: UnsafeMutablePointer<Instance>) {
    guard count > 0 else { return }
    let index = bucket(instance.pointee.parameter)
    for position in buckets[index].indices where buckets[index][position] == instance {
      buckets[index].remove(at: position)
      count -= 1
      return
    }
  }

  /// Those with the hash of `parameter` that only the program can tell from it.
  func unclear(_ parameter: Parameter) -> [Parameter] {
    guard count > 0 else { return [] }
    return buckets[bucket(parameter)].compactMap { each in
      guard let other = each.pointee.parameter, other.hash == parameter.hash, !other.isSame(as: parameter) else {
        return nil
      }
      return other.isPlain && parameter.isPlain ? nil : other
    }
  }

  private func bucket(_ parameter: Parameter?) -> Int {
    Int(truncatingIfNeeded: (parameter?.hash ?? 0) & UInt64(buckets.count - 1))
  }

  private mutating func grow() {
    let all = instances
    buckets = Array(repeating: [], count: max(8, buckets.count * 2))
    for each in all { buckets[bucket(each.pointee.parameter)].append(each) }
  }
}
