public import ServiceKit

/// What a test does to its container before it begins.
public typealias SynchronousTransform<C: SharedContainer> = @Sendable (C) -> Void

/// Runs `operation` with a shared container and a copy of the singletons that are its own.
///
/// What `operation` registers, resolves or resets is seen by nobody else, and goes when it ends, so that tests may run
/// side by side. Tasks that it starts are part of it; threads and detached tasks are not.
///
/// - Parameters:
///   - shared: The task-local property of the container's type: `MyContainer.$shared`.
///   - container: The container.
///   - operation: What to run.
///   - transform: What to do to the container before.
public func withContainer<C: SharedContainer>(
  shared: TaskLocal<C>,
  container: @autoclosure @Sendable () -> C,
  operation: () throws -> Void,
  transform: SynchronousTransform<C>? = nil
) rethrows {
  try Scope.$singleton.withValue(Scope.singleton.clone()) {
    let container = container()
    try shared.withValue(container) {
      transform?(container)
      try operation()
    }
  }
}

/// Runs `operation`, which may suspend, with a shared container and a copy of the singletons that are its own.
///
/// - Parameters:
///   - isolation: The caller's actor, on which `operation` stays.
///   - shared: The task-local property of the container's type: `MyContainer.$shared`.
///   - container: The container.
///   - operation: What to run.
///   - transform: What to do to the container before.
public func withContainer<C: SharedContainer>(
  isolation: isolated (any Actor)? = #isolation,
  shared: TaskLocal<C>,
  container: @autoclosure @Sendable () -> C,
  operation: () async throws -> Void,
  transform: ContainerTrait<C>.Transform? = nil
) async rethrows {
  try await Scope.$singleton.withValue(Scope.singleton.clone()) {
    let container = container()
    try await shared.withValue(container) {
      await transform?(container)
      try await operation()
    }
  }
}
