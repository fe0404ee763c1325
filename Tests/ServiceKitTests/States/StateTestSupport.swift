import Foundation
import ServiceKit
import Synchronization
import XCTest

/// What callbacks write down. With a lock that ThreadSanitizer knows, which it does not of `Mutex`.
final class StateLog<Entry: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var list: [Entry] = []

  var entries: [Entry] { lock.withLock { list } }
  var count: Int { lock.withLock { list.count } }
  func add(_ entry: Entry) { lock.withLock { list.append(entry) } }
}

/// Something that happens once, and that threads wait for.
final class StateEvent: Sendable {
  private let condition = NSCondition()
  private let hasHappened = Atomic<Bool>(false)

  func signal() {
    condition.withLock {
      hasHappened.store(true, ordering: .releasing)
      condition.broadcast()
    }
  }

  func wait() {
    condition.withLock {
      while !hasHappened.load(ordering: .acquiring) { condition.wait() }
    }
  }
}

/// Lets a number of threads go on only when all of them have arrived, again and again.
final class StateBarrier: @unchecked Sendable {
  private let condition = NSCondition()
  private let size: Int
  private var arrived = 0
  private var round = 0

  init(_ size: Int) { self.size = size }

  func wait() {
    condition.withLock {
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
}

/// Runs `body` on `count` new threads, with their numbers, and returns when all have come to its end.
func onStateThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for number in 0..<count {
    group.enter()
    Thread.detachNewThread {
      body(number)
      group.leave()
    }
  }
  group.wait()
}

/// Numbers from 0 on, up to `most` of them, but no new one after two seconds: so that a storm ends on a busy machine, too.
func stateRounds(_ most: Int) -> some Sequence<Int> {
  let end = DispatchTime.now() + 2
  return (0..<most).lazy.prefix { $0 < 20 || DispatchTime.now() < end }
}

/// Counts its instances.
final class StateCounted: Sendable {
  final class Census: Sendable {
    private let now = Atomic<Int>(0)
    var living: Int { now.load(ordering: .sequentiallyConsistent) }
    fileprivate func change(_ by: Int) { now.wrappingAdd(by, ordering: .sequentiallyConsistent) }
  }

  let number: Int
  private let census: Census

  init(_ number: Int, _ census: Census) {
    self.number = number
    self.census = census
    census.change(1)
  }

  deinit { census.change(-1) }
}

/// Sees whether something is still there.
struct StateWeak {
  private(set) weak var object: AnyObject?
  init(_ object: AnyObject?) { self.object = object }
}

/// A variable that callbacks and tests share.
final class StateBox<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var content: Value

  init(_ value: Value) { content = value }

  var value: Value {
    get { lock.withLock { content } }
    set {
      // The old value ends without the lock.
      let old = lock.withLock {
        let old = content
        content = newValue
        return old
      }
      _ = consume old
    }
  }
}

/// Runs `body` with a handler that writes failures down.
func collectingStateFailures(_ body: () throws -> Void) rethrows -> [String] {
  let heard = StateLog<String>()
  let before = ServiceFailure.handler
  ServiceFailure.handler = { message, _, _ in heard.add(message) }
  defer { ServiceFailure.handler = before }
  try body()
  return heard.entries
}
