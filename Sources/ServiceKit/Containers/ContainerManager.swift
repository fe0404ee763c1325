import ServiceKitCore
import Synchronization

/// What a container holds, and what can be set for it. May be used on any thread.
public final class ContainerManager: Sendable {
  let engine: ServiceKitCore.Container
  private let isOwner: Bool
  private let autoRegistration = AutoRegistration()
  private let promises: Atomic<Bool>
  private let scope = Guarded<Scope?>(nil)
  private let saved = Guarded<[Saved]>([])

  /// What a new container holds: nothing.
  public convenience init() { self.init(engine: .create(parent: nil), isOwner: true) }

  /// Another view of a container of the engine. An owner's end is the container's.
  init(engine: ServiceKitCore.Container, isOwner: Bool = false) {
    ActiveContexts.begin()
    self.engine = engine
    self.isOwner = isOwner
    promises = Atomic(ContainerManager.promisesTriggerByDefault)
  }

  deinit {
    if isOwner { _ = try? Closing.destroy(engine.token) }
  }

  // MARK: - Settings

  /// The scope of factories that name none; nil for ``Scope/unique``.
  public var defaultScope: Scope? {
    get { scope.withLock { $0 } }
    set {
      _ = scope.exchange(newValue)
      engine.setDefaultScope(newValue?.choice ?? ScopeChoice(.unique))
    }
  }

  /// Whether a promise that nobody has kept is reported through ``ServiceFailure``. True in debug builds, except in
  /// previews.
  public var promiseTriggersError: Bool {
    get { promises.load(ordering: .relaxed) }
    set { promises.store(newValue, ordering: .relaxed) }
  }

  /// Of no effect: cycles are always found, since that costs nothing. For programs that set it. Of the whole process.
  public var circularDependencyTesting: Bool {
    get { ContainerManager.cycles.load(ordering: .relaxed) }
    set { ContainerManager.cycles.store(newValue, ordering: .relaxed) }
  }

  /// Whether each resolve is written to the ``logger``, of all containers of the process.
  public var trace: Bool {
    get { ProcessTrace.isOn }
    set { ProcessTrace.isOn = newValue }
  }

  /// Where traces are written, of the whole process. Prints them by default. Called with no lock held.
  public var logger: (String) -> Void {
    get { ContainerManager.processLogger }
    set {
      let logger = Logger(write: newValue)
      _ = ContainerManager.logging.exchange(logger)
    }
  }

  // MARK: - Resetting

  /// Takes back what the options name. With ``FactoryResetOptions/all`` the settings too; what was pushed stays.
  /// Singletons stay: they are their scope's to reset.
  public func reset(options: FactoryResetOptions = .all) {
    if case .none = options { return }
    engine.reset(options.typed)
    switch options {
    case .all:
      _ = scope.exchange(nil)
      promises.store(ContainerManager.promisesTriggerByDefault, ordering: .relaxed)
      autoRegistration.arm()
    case .registration: autoRegistration.arm()
    case .context, .scope, .none: break
    }
  }

  /// Forgets the kept instances of one scope. Of no effect for singletons, which are not the container's.
  public func reset(scope: Scope) { engine.reset(scope: scope.choice) }

  /// Saves registrations, contexts, kept instances and settings, and whether `autoRegister()` is still to be called.
  public func push() {
    let now = Saved(
      scope: defaultScope, promiseTriggersError: promiseTriggersError, isArmed: autoRegistration.isArmed)
    saved.withLock { saved in
      saved.append(now)
      try? engine.push()
    }
  }

  /// Brings back what was last saved. Without a push before, nothing happens.
  public func pop() {
    guard let last = saved.withLock({ $0.popLast() }) else { return }
    // What ends now may use this container: nothing is locked.
    try? engine.pop()
    _ = scope.exchange(last.scope)
    promiseTriggersError = last.promiseTriggersError
    if last.isArmed { autoRegistration.arm() }
  }

  /// What a push saves apart from what the engine does.
  private struct Saved {
    let scope: Scope?
    let promiseTriggersError: Bool
    let isArmed: Bool
  }

  // MARK: - For this library

  /// Another view of a container that has been in use already.
  convenience init(viewing engine: ServiceKitCore.Container) {
    self.init(engine: engine)
    autoRegistration.skip()
  }

  /// What another container holds that begins with the same registrations, contexts and settings.
  func copy() -> ContainerManager {
    let copy = ContainerManager(engine: engine.copy(), isOwner: true)
    _ = copy.scope.exchange(defaultScope)
    copy.promiseTriggersError = promiseTriggersError
    copy.autoRegistration.skip()
    return copy
  }

  /// Before anything is resolved or registered. True if this thread is inside of `autoRegister()` just now.
  @inline(__always)
  func prepare(_ container: @autoclosure () -> any ManagedContainer) -> Bool {
    autoRegistration.prepare { (container() as? any AutoRegistering)?.autoRegister() }
  }

  static var processLogger: (String) -> Void { logging.withLock { $0 }.write }

  /// The program's, who sees to it that it can be called on each thread that resolves.
  private struct Logger: @unchecked Sendable { let write: (String) -> Void }
  private static let logging = Guarded(Logger { print($0) })
  private static let cycles = Atomic<Bool>(true)

  private static var promisesTriggerByDefault: Bool {
    FactoryContext.current.isDebug && !FactoryContext.current.isPreview
  }
}
