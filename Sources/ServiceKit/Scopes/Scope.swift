import ServiceKitCore
import Synchronization

/// How long an instance is kept, and for whom.
///
/// A scope is an object: two objects of one class are two scopes, whose instances are kept and reset apart. So a scope
/// of your own is one more instance:
///
/// ```swift
/// extension Scope {
///   static let session = Cached()
/// }
/// ```
///
/// and `container.manager.reset(scope: .session)` ends a session.
open class Scope: @unchecked Sendable {
  /// How the engine knows the scope. Never changes.
  let choice: ScopeChoice
  /// The scope's number.
  @usableFromInline let identity: UInt
  /// For the classes below; derive from one of those.
  fileprivate init(_ kind: ScopeKind, isWeak: Bool = false, store: SingletonStore? = nil) {
    identity = Scope.nextIdentity()
    choice = ScopeChoice(kind, identity: identity, store: store, isWeak: isWeak)
  }

  /// One instance for each container, kept until the scope or the key is reset there.
  public static let cached = Cached()
  /// One instance for each outermost resolve.
  public static let graph = Graph()
  /// One instance for each container as long as somebody holds it.
  public static let shared = Shared()
  /// A new instance for each resolve. What a container gives unless told otherwise.
  public static let unique = Unique()
  /// One instance for all containers. A task can have singletons of its own: see ``Singleton/clone()``.
  @TaskLocal public static var singleton = Singleton(SingletonStore.ofProcess)

  /// Keeps an instance for each container, until it is reset.
  open class Cached: Scope, @unchecked Sendable {
    public init() { super.init(.cached) }
  }

  /// Keeps an instance while the outermost resolve on its thread is in progress, so that all who need it there get the
  /// same one.
  open class Graph: Scope, @unchecked Sendable {
    public init() { super.init(.graph) }
  }

  /// Keeps an instance for each container as long as somebody else holds it. Only objects can be held that way, also
  /// behind a protocol or in an optional; any other value is made anew each time.
  open class Shared: Scope, @unchecked Sendable {
    public init() { super.init(.cached, isWeak: true) }
  }

  /// Keeps nothing.
  open class Unique: Scope, @unchecked Sendable {
    public init() { super.init(.unique) }
  }

  /// Keeps an instance for all containers, by type and name.
  open class Singleton: Scope, @unchecked Sendable {
    private let store: SingletonStore

    public convenience init() { self.init(SingletonStore()) }

    fileprivate init(_ store: SingletonStore) {
      self.store = store
      super.init(.singleton, store: store)
    }

    /// Forgets all its instances. Those who hold one keep it.
    public func reset() { store.clear() }

    /// Another scope that begins with the same instances. What is made or forgotten later in one is not in the other.
    ///
    /// ```swift
    /// Scope.$singleton.withValue(Scope.singleton.clone()) { … }
    /// ```
    public func clone() -> Singleton {
      let clone = Singleton()
      store.copy(to: clone.choice)
      return clone
    }
  }

  private static let identities = Atomic<UInt>(0)
  /// Never 0, which is C's. Not the object's address, which another one may have later.
  private static func nextIdentity() -> UInt { identities.wrappingAdd(1, ordering: .relaxed).newValue }
}
