import Foundation
import ServiceKit
import Synchronization

/// A thread that can be joined, so that a test knows that its end has been dealt with, also when it ends in the middle.
///
/// It has the shared container and the singletons of whoever starts it.
final class TestThread {
  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  #if canImport(Darwin)
    private var identity: pthread_t?
  #else
    private var identity = pthread_t()
  #endif

  init(_ body: @escaping () -> Void) {
    let (container, singletons) = (Container.shared, Scope.singleton)
    let context = Body { inContainer(container, singletons, body) }
    let status = pthread_create(
      &identity, nil,
      { context -> UnsafeMutableRawPointer? in
        let context: UnsafeMutableRawPointer? = context
        Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(context).toOpaque())
    precondition(status == 0, "the system has no thread left")
  }

  func join() {
    #if canImport(Darwin)
      pthread_join(identity!, nil)
    #else
      pthread_join(identity, nil)
    #endif
  }

  /// Ends the thread that this runs on, and returns nowhere.
  static func exit() -> Never { pthread_exit(nil) }
}

/// Runs `body` with a shared container and singletons.
private func inContainer(_ container: Container, _ singletons: Scope.Singleton, _ body: () -> Void) {
  Scope.$singleton.withValue(singletons) { Container.$shared.withValue(container, operation: body) }
}

/// Runs `body` on `count` new threads, with their numbers, and returns when all of them have ended for good.
func runThreads(_ count: Int, _ body: @escaping (Int) -> Void) {
  let threads = (0..<count).map { number in TestThread { body(number) } }
  for thread in threads { thread.join() }
}

/// Runs `body` on a new thread, and returns when that has ended for good.
func onThread(_ body: @escaping () -> Void) { TestThread(body).join() }

/// Runs rounds on each of `count` threads, which begin every round together, with what `prepare` gives for the round.
/// `check` is called between the rounds.
func storm<Round>(
  _ count: Int, rounds: Int, prepare: @escaping (_ round: Int) -> Round,
  _ body: @escaping (_ round: Round, _ thread: Int) -> Void, check: @escaping (Round) -> Void
) {
  let barrier = Barrier(count)
  let current = Guarded<Round?>(nil)
  runThreads(count) { thread in
    for number in 0..<rounds {
      if thread == 0 { current.change { $0 = prepare(number) } }
      barrier.wait()
      let round = current.value!
      body(round, thread)
      barrier.wait()
      if thread == 0 { check(round) }
    }
  }
}

/// Lets a number of threads go on only when all of them have arrived. It can be used again and again.
final class Barrier: @unchecked Sendable {
  private let condition = NSCondition()
  private let size: Int
  private var arrived = 0
  private var round = 0

  init(_ size: Int) { self.size = size }

  func wait() {
    condition.lock()
    defer { condition.unlock() }
    let mine = round
    arrived += 1
    if arrived == size {
      arrived = 0
      round += 1
      condition.broadcast()
    }
    while mine == round { condition.wait() }
  }
}

/// Happens once.
final class Event: @unchecked Sendable {
  private let condition = NSCondition()
  private var hasHappened = false

  func signal() {
    condition.lock()
    hasHappened = true
    condition.broadcast()
    condition.unlock()
  }

  func wait() {
    condition.lock()
    while !hasHappened { condition.wait() }
    condition.unlock()
  }
}

/// A number that threads count up together.
final class Tally: Sendable {
  private let atomic = Atomic<Int>(0)

  var value: Int { atomic.load(ordering: .sequentiallyConsistent) }

  /// Gives the number after the addition.
  @discardableResult
  func add(_ amount: Int = 1) -> Int { atomic.wrappingAdd(amount, ordering: .sequentiallyConsistent).newValue }
}

/// A value that threads share under a lock.
final class Guarded<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var current: Value

  init(_ value: Value) { current = value }

  var value: Value { change { $0 } }

  @discardableResult
  func change<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&current)
  }
}
