/// Runs an operation under a shared ``Container`` of its own, which `update` changes first:
///
/// ```swift
/// withDependencies {
///   $0.clock.register { FixedClock() }
/// } operation: {
///   …
/// }
/// ```
///
/// The container begins with the present one's registrations, contexts and settings, with no kept instances, and with
/// the present singletons. What is changed or made in it ends with the operation, and nobody outside sees it. Tasks that
/// the operation starts see it, unless they are detached.
public func withDependencies<R>(
  _ update: (Container) throws -> Void, operation: () throws -> R
) rethrows -> R {
  let container = Container.shared.copy()
  return try Scope.$singleton.withValue(Scope.singleton.clone()) {
    try Container.$shared.withValue(container) {
      try update(container)
      return try operation()
    }
  }
}

/// The same for an operation that waits, on the caller's actor.
public func withDependencies<R>(
  isolation: isolated (any Actor)? = #isolation, _ update: (Container) async throws -> Void,
  operation: () async throws -> R
) async rethrows -> R {
  let container = Container.shared.copy()
  return try await Scope.$singleton.withValue(
    Scope.singleton.clone(),
    operation: {
      try await Container.$shared.withValue(
        container,
        operation: {
          try await update(container)
          return try await operation()
        }, isolation: isolation)
    }, isolation: isolation)
}

extension Container {
  /// A container with the same registrations, contexts and settings, and no kept instances.
  func copy() -> Container {
    _ = manager.prepare(self)
    return Container(manager: manager.copy())
  }
}
