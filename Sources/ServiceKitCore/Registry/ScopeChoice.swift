/// How long an instance lives, from shortest to longest where one may not require another.
package enum ScopeKind: Int32 {
  case `default` = 0
  case unique, cached, shared, singleton, graph, custom

  /// Whether a leased instance counts its leases: those that end with the last one do.
  var isCounted: Bool {
    switch self {
    case .unique, .graph, .shared, .default: true
    case .cached, .singleton, .custom: false
    }
  }

  var name: StaticString {
    switch self {
    case .default: "default"
    case .unique: "unique"
    case .cached: "cached"
    case .shared: "shared"
    case .singleton: "singleton"
    case .graph: "graph"
    case .custom: "custom"
    }
  }
}

/// A scope as it was chosen for a key: its kind, and which one of that kind.
public struct ScopeChoice {
  package let kind: ScopeKind
  /// With the kind `custom`.
  package let custom: CustomScope?
  /// Tells scopes of one kind apart that another face has; 0 for C's.
  package let identity: UInt
  /// Where its singletons are, if not with the process's.
  package let store: SingletonStore?
  /// For the factory: it gives something that does not keep the instance alive.
  package let isWeak: Bool

  package init(
    _ kind: ScopeKind, custom: CustomScope? = nil, identity: UInt = 0, store: SingletonStore? = nil,
    isWeak: Bool = false
  ) {
    self.kind = kind
    self.custom = custom
    self.identity = identity
    self.store = store
    self.isWeak = isWeak
  }

  func isSame(as other: ScopeChoice) -> Bool {
    kind == other.kind && identity == other.identity && custom === other.custom
  }
}

/// What was said about a key apart from its registrations, by a face that can. A value, saved and brought back by push
/// and pop like them.
package struct KeyOptions {
  package var scope: ScopeChoice?
  package var timeToLive: UInt64?
  package var cachesByParameter = false

  package init() {}

  var isEmpty: Bool { scope == nil && timeToLive == nil && !cachesByParameter }
}
