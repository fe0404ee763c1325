import CServiceKit

/// A factory as the program registered it. Immutable; kept by its key and by every instance that it built, so that the
/// program's `user_data` is freed after the last of them.
package final class Registration {
  package let create: svk_create_fn
  package let destroy: svk_destroy_fn?
  package let userData: UserData
  package let scope: ScopeKind
  package let customScope: CustomScope?
  /// In nanoseconds; 0 for none.
  package let timeToLive: UInt64
  package let cachesByParameter: Bool
  package let type: OwnedBytes?
  package let requiredKeys: [OwnedBytes]
  /// The context it is for, nil for a plain registration.
  package let context: OwnedBytes?

  package init(
    create: @escaping svk_create_fn, destroy: svk_destroy_fn?, userData: UserData, scope: ScopeKind,
    customScope: CustomScope?, timeToLive: UInt64,
    cachesByParameter: Bool, type: OwnedBytes?, requiredKeys: [OwnedBytes], context: OwnedBytes?
  ) {
    self.create = create
    self.destroy = destroy
    self.userData = userData
    self.scope = scope
    self.customScope = customScope
    self.timeToLive = timeToLive
    self.cachesByParameter = cachesByParameter
    self.type = type
    self.requiredKeys = requiredKeys
    self.context = context
  }

  var isForTest: Bool {
    guard let context else { return false }
    return context.view == ByteView("test")
  }
}

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
