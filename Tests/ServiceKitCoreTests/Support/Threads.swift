import CPlatform
import Foundation
import Synchronization

/// Runs `body` on `count` new threads, with their numbers, and returns when all of them have ended for good.
func runThreads(_ count: Int, _ body: @escaping (Int) -> Void) {
  let threads = (0..<count).map { number in TestThread { body(number) } }
  for thread in threads { thread.join() }
}

/// Runs `rounds` rounds on each of `count` threads, which begin every round together.
func storm(_ count: Int, rounds: Int, _ body: @escaping (_ thread: Int, _ round: Int) -> Void) {
  let barrier = Barrier(count)
  runThreads(count) { thread in
    for round in 0..<rounds {
      barrier.wait()
      body(thread, round)
    }
  }
}

/// Numbers from 0 on, up to `most` of them, but no new one after `seconds`: so that a storm in which threads wait for
/// each other's slices of a busy processor ends all the same.
func rounds(_ most: Int, seconds: Double = 2) -> some Sequence<Int> {
  let end = DispatchTime.now() + seconds
  return (0..<most).lazy.prefix { $0 < 20 || DispatchTime.now() < end }
}

/// A thread that can be joined, so that a test knows that its end has been dealt with.
final class TestThread {
  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  private var identity = pthread_t()

  init(_ body: @escaping () -> Void) {
    let context = Unmanaged.passRetained(Body(body)).toOpaque()
    let status = pthread_create(
      &identity, nil,
      { context in
        Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
        return nil
      }, context)
    precondition(status == 0, "the system has no thread left")
  }

  func join() { pthread_join(identity, nil) }
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

  /// Keeps the largest number seen.
  func raise(to value: Int) { atomic.max(value, ordering: .sequentiallyConsistent) }
}

/// A value that threads share under a lock.
final class Shared<Value>: @unchecked Sendable {
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
