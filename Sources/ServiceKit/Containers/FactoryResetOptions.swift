import ServiceKitCore

/// What a reset takes back.
public enum FactoryResetOptions: Sendable {
  /// Registrations, contexts, kept instances, and what was said about scopes, times to live and decorators.
  case all
  /// Factories that were registered for contexts.
  case context
  /// Nothing.
  case none
  /// Factories that were registered, but not those for contexts.
  case registration
  /// Kept instances.
  case scope
}

extension FactoryResetOptions {
  var typed: ServiceKitCore.Container.TypedReset {
    var reset = ServiceKitCore.Container.TypedReset()
    switch self {
    case .all:
      reset.registrations = true
      reset.contexts = true
      reset.instances = true
      reset.options = true
    case .context: reset.contexts = true
    case .none: break
    case .registration: reset.registrations = true
    case .scope: reset.instances = true
    }
    return reset
  }
}
