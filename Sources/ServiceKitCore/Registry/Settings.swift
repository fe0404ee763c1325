import Synchronization

/// What a container has that is not of one key. A value: a push keeps it, a pop brings it back.
struct Settings {
  /// Nil: those of the parent.
  var contexts: ContextList?
  /// Nil: as the parent says.
  var isStrict: Bool?
  var defaultScope = ScopeChoice(.unique)
  var decorator: Decorator?
  /// The one for instances of a face with typed keys.
  var typedDecorator: Decorator?

  var hasDecorators: Bool { decorator != nil || typedDecorator != nil }

  /// Without settings of its own, what a container gives for a key of its parent is what the parent gives.
  var isTransparent: Bool { contexts == nil && isStrict == nil && !hasDecorators }
}

/// What decides, apart from registrations, what a container's resolves give: gathered from it and its ancestors.
///
/// Immutable, and kept by the container until ``Answers/version`` changes. It keeps nothing of the program's: decorators
/// and trace functions end when they are replaced.
final class Surroundings {
  private let version: UInt64
  let contexts: ContextList
  /// Those for typed keys: the process's, and then those that were set for a container.
  let typedContexts: ContextList
  let isStrict: Bool
  private let hasDecorators: Bool
  private let hasTrace: Bool

  /// Under `strict`, no test gets what was not made for tests.
  let demandsTest: Bool
  /// Whether each resolve has to be told to somebody, so that instances cannot be held ready.
  var areWatched: Bool { hasDecorators || hasTrace }

  /// With no lock held.
  private init(of container: Container) {
    version = Answers.version
    var contexts: ContextList?
    var isStrict: Bool?
    var hasDecorators = false
    var hasTrace = false
    container.forEachOpen { current in
      contexts = contexts ?? current.settings.contexts
      isStrict = isStrict ?? current.settings.isStrict
      hasDecorators = hasDecorators || current.settings.hasDecorators || current.decoratedKeys > 0
      hasTrace = hasTrace || current.trace != nil
    }
    self.contexts = contexts ?? ContextList.ofProcess
    let ofProcess = ProcessContexts.current
    typedContexts = contexts.map { ContextList(ofProcess.names + $0.names) } ?? ofProcess
    self.isStrict = isStrict ?? false
    self.hasDecorators = hasDecorators
    self.hasTrace = hasTrace || ProcessTrace.isOn
    demandsTest = self.isStrict && self.contexts.hasTest
  }

  /// Those of a container, gathered anew only after something changed. With no lock held.
  static func of(_ container: Container) -> Surroundings {
    if let known = container.lock.withLock({ container.surroundings }), known.version == Answers.version {
      return known
    }
    let new = Surroundings(of: container)
    container.lock.withLock { container.surroundings = new }
    return new
  }

  /// The decorator of a key, which goes before that of a container, the nearest first.
  func decorator(of key: KeyView, askedOf container: Container) -> Decorator? {
    guard hasDecorators else { return nil }
    var ofKey: Decorator?
    var ofContainer: Decorator?
    container.forEachOpen { current in
      ofKey = ofKey ?? current.table.pointee.find(key)?.pointee.state.decorator
      ofContainer = ofContainer ?? (key.space == 0 ? current.settings.decorator : current.settings.typedDecorator)
    }
    return ofKey ?? ofContainer
  }

  /// The nearest trace function.
  func trace(askedOf container: Container) -> Trace? {
    guard hasTrace else { return nil }
    var found: Trace?
    container.forEachOpen { found = found ?? $0.trace }
    return found
  }
}

extension Container {
  /// Calls `body` with this container and its ancestors, each with its lock held, as far up as they are open: what is
  /// behind a destroyed one is not looked up.
  fileprivate func forEachOpen(_ body: (Container) -> Void) {
    var next: Container? = self
    while let current = next {
      let isOpen = current.lock.withLock {
        guard !current.isClosed else { return false }
        body(current)
        return true
      }
      next = isOpen ? current.parent : nil
    }
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
