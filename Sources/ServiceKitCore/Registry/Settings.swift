import Synchronization

/// What a container has that is not of one key. A value: a push keeps it, a pop brings it back.
struct Settings {
  /// Nil: those of the parent.
  var contexts: ContextList?
  /// Nil: as the parent says.
  var isStrict: Bool?
  var defaultScope = ScopeKind.unique
  var decorator: Decorator?

  /// Without settings of its own, what a container gives for a key of its parent is what the parent gives.
  var isTransparent: Bool { contexts == nil && isStrict == nil && decorator == nil }
}

/// What decides, apart from registrations, what a resolve gives: gathered once, from the container asked upwards.
struct Surroundings {
  var contexts: ContextList
  var isStrict: Bool
  var decorator: Decorator?
  var trace: Trace?

  /// Under `strict`, no test gets what was not made for tests.
  var demandsTest: Bool { isStrict && contexts.hasTest }

  init(of container: Container, key: KeyView) {
    var contexts: ContextList?
    var isStrict: Bool?
    var ofKey: Decorator?
    var ofContainer: Decorator?
    var trace: Trace?
    var next: Container? = container
    while let current = next {
      let isOpen = current.lock.withLock {
        guard !current.isClosed else { return false }
        contexts = contexts ?? current.settings.contexts
        isStrict = isStrict ?? current.settings.isStrict
        if ofKey == nil, current.decoratedKeys > 0 {
          ofKey = current.table.pointee.find(key)?.pointee.state.decorator
        }
        ofContainer = ofContainer ?? current.settings.decorator
        trace = trace ?? current.trace
        return true
      }
      next = isOpen ? current.parent : nil
    }
    self.contexts = contexts ?? ContextList.ofProcess
    self.isStrict = isStrict ?? false
    decorator = ofKey ?? ofContainer
    self.trace = trace
  }
}

/// When instances that cells hold ready for plain resolves may still be given.
///
/// A cell's `hit` was right under the settings of one moment. Whatever may change the answers of more than one key
/// (contexts, strictness, decorators, tracing, a pop, a singleton's reset) changes the version, and with it makes every
/// `hit` be looked up once more. What changes one key clears that key's `hit`.
enum Answers {
  private static let counter = Atomic<UInt64>(1)

  static var version: UInt64 {
    @inline(__always) get { counter.load(ordering: .sequentiallyConsistent) }
  }

  static func change() { counter.wrappingAdd(1, ordering: .sequentiallyConsistent) }
}
