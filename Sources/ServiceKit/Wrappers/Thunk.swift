import ServiceKitCore
public import Synchronization

/// A value that is made at the first read, once, also when many threads read first. What every lazy wrapper is made of.
///
/// The thread that reads first makes the value, with no lock held; the others wait for it. When it cannot go on, because
/// it failed and its thread ended, one of those who wait makes the value instead. A value that needs itself is a
/// cycle, on one thread or across several, and reported as one.
@usableFromInline
final class Thunk<Value>: @unchecked Sendable {
  @frozen @usableFromInline
  enum State: UInt8, AtomicRepresentable { case unmade, made, replaced }

  @usableFromInline let state: Atomic<State>
  /// Written once, before `state` says so. No exclusivity checks: it never changes while it may be read.
  @exclusivity(unchecked) @usableFromInline var made: Value?

  private let isFactory: Bool

  // Guarded by ``ThunkBuild/lock``.
  private var make: (() -> Value)?
  private var build: ThunkBuild?
  private var replacement: Value?

  /// Whose value `make` gives, when it is first read.
  ///
  /// - Parameter isFactory: `make` resolves a factory. So a cycle is one of factories, which the container, asked once
  ///   more, finds and reports with every name on its path.
  @usableFromInline
  init(isFactory: Bool = true, _ make: @escaping () -> Value) {
    state = Atomic(.unmade)
    self.make = make
    self.isFactory = isFactory
  }

  /// Whose value is there already.
  @usableFromInline
  init(value: Value) {
    state = Atomic(.made)
    made = value
    isFactory = false
  }

  /// The value, made now if it was not made before.
  @inlinable
  var value: Value {
    if state.load(ordering: .acquiring) == .made { return made.unsafelyUnwrapped }
    return slowValue()
  }

  /// The value if it was made, nil if not. It makes nothing.
  @inlinable
  var valueIfMade: Value? { state.load(ordering: .acquiring) == .unmade ? nil : value }

  /// The value. Another one can be put in its place, for every reader from now on.
  var current: Value {
    get { value }
    set { replace(with: newValue) }
  }

  private func replace(with value: Value) {
    var (old, spent): (Value?, (() -> Value)?)
    ThunkBuild.lock.withLock {
      guard state.load(ordering: .relaxed) != .unmade else {
        (made, spent, make) = (value, make, nil)
        state.store(.made, ordering: .releasing)
        return
      }
      // Somebody may be reading the first value, which therefore stays where it is.
      (old, replacement) = (replacement, value)
      state.store(.replaced, ordering: .releasing)
    }
    // User code may run when they go, so they go after the lock.
    withExtendedLifetime((old, spent)) {}
  }

  // MARK: - Not made yet

  private enum Entry {
    case ready(Value)
    case begun(ThunkBuild, () -> Value)
    case again(ThunkBuild, () -> Value)
    case underWay(HostWork)
  }

  @usableFromInline @inline(never)
  func slowValue() -> Value {
    let thread = ThunkThread.current
    while true {
      switch ThunkBuild.lock.withLock({ enter(on: thread) }) {
      case .ready(let value):
        return value
      case .begun(let build, let make):
        return finish(build, with: make())
      case .again(let build, let make):
        guard isFactory, build.enterAgain() else { return fail("it needs itself") }
        defer { build.leaveAgain() }
        return make()
      case .underWay(let work):
        if case .cycle(let words) = work.wait() { return fail(String(cString: words.cString)) }
      }
    }
  }

  /// With the lock held.
  private func enter(on thread: ThunkThread) -> Entry {
    if let present { return .ready(present) }
    guard let build, build.isUnderWay else {
      let build = ThunkBuild(of: name, on: thread)
      self.build = build
      return .begun(build, make!)
    }
    return build.thread === thread ? .again(build, make!) : .underWay(build.work)
  }

  private func finish(_ build: ThunkBuild, with value: Value) -> Value {
    var spent: (() -> Value)?
    let (published, work) = ThunkBuild.lock.withLock {
      let work = build.end()
      if self.build === build { self.build = nil }
      // It was there first if our thread was given up for lost meanwhile, and then went on after all.
      if let present { return (present, work) }
      (made, spent, make) = (value, make, nil)
      state.store(.made, ordering: .releasing)
      return (value, work)
    }
    work.end()
    withExtendedLifetime(spent) {}
    return published
  }

  /// With the lock held.
  private var present: Value? {
    switch state.load(ordering: .relaxed) {
    case .unmade: nil
    case .made: made
    case .replaced: replacement
    }
  }

  private func fail(_ words: String) -> Value {
    let message = "a lazily injected \(name) cannot be made: \(words)"
    ServiceFailure.report(message)
    if let optional = Value.self as? any ExpressibleByNilLiteral.Type { return optional.init(nilLiteral: ()) as! Value }
    fatalError(message)
  }

  /// What is made, in words.
  private var name: String { "\(Value.self)" }
}
