import CServiceKit
import XCTest

@testable import ServiceKitCore

final class SubscriptionTests: XCTestCase {
  /// Takes what a pull subscription has, without waiting: "version:text+dropped".
  private func takeAll(_ subscription: Subscription) -> [String] {
    var all: [String] = []
    while let (token, state) = try? subscription.next(timeout: 0) {
      all.append("\(state.version):\(state.text)+\(state.dropped)")
      XCTAssertTrue(Snapshot.release(token))
    }
    return all
  }

  func testPullingFromEveryBuffer() throws {
    let expected: [(Int32, [String], dropped: UInt64)] = [
      (SVK_BUFFER_UNBOUNDED, ["1:1+0", "2:2+0", "3:3+0", "4:4+0"], 0),
      (SVK_BUFFER_NEWEST, ["3:3+2", "4:4+0"], 2), (SVK_BUFFER_OLDEST, ["1:1+0", "2:2+0"], 2),
    ]
    for (buffering, states, dropped) in expected {
      let source = try Source()
      let subscription = try source.observe(Watcher(), .pull, .make(buffering, 2))
      for number in 1...4 { XCTAssertEqual(source.send("\(number)"), SVK_OK) }
      XCTAssertEqual(subscription.dropped, dropped)
      XCTAssertEqual(takeAll(subscription), states)
      XCTAssertEqual(subscription.dropped, dropped)
      XCTAssertEqual(status { () throws(Failure) in _ = try subscription.next(timeout: 0) }, SVK_TIMEOUT)
      try source.stream.finish()
      XCTAssertEqual(status { () throws(Failure) in _ = try subscription.next(timeout: -1) }, SVK_CLOSED)
      subscription.cancel()
      source.destroy()
    }
  }

  func testAStateTooLargeForTheRoomStays() throws {
    let source = try Source()
    let subscription = try source.observe(Watcher(), .pull)
    source.send("abcdef")
    var needed = 0
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: 6, alignment: 1)
    defer { buffer.deallocate() }
    for capacity in [0, 5] {
      let result = status { () throws(Failure) in
        _ = try subscription.next(into: buffer, capacity: capacity, timeout: 0, needed: &needed)
      }
      XCTAssertEqual(result, SVK_BUFFER_TOO_SMALL)
      XCTAssertEqual(needed, 6)
    }
    let copied = try subscription.next(into: buffer, capacity: 6, timeout: 0, needed: &needed)
    XCTAssertEqual(copied.size, 6)
    XCTAssertEqual(copied.version, 1)
    XCTAssertEqual(ByteView(start: buffer, count: 6).string, "abcdef")
    subscription.cancel()
    source.destroy()
  }

  func testOnlyAPullSubscriptionIsPulled() throws {
    let source = try Source()
    let subscription = try source.observe(Watcher())
    XCTAssertEqual(status { () throws(Failure) in _ = try subscription.next(timeout: 0) }, SVK_UNSUPPORTED)
    XCTAssertEqual(status { () throws(Failure) in _ = try subscription.descriptor() }, SVK_UNSUPPORTED)
    subscription.cancel()
    source.destroy()
  }

  func testTheDescriptorIsReadableWhileThereIsSomethingToSay() throws {
    let source = try Source()
    let subscription = try source.observe(Watcher(), .pull)
    source.send("1")
    let descriptor = try subscription.descriptor()
    func isReadable() -> Bool { isDescriptorReadable(descriptor) }
    XCTAssertTrue(isReadable())
    source.send("2")
    _ = try subscription.next(timeout: 0)
    XCTAssertTrue(isReadable())
    _ = try subscription.next(timeout: 0)
    XCTAssertFalse(isReadable())
    try source.stream.finish()
    XCTAssertTrue(isReadable())
    XCTAssertEqual(status { () throws(Failure) in _ = try subscription.next(timeout: 0) }, SVK_CLOSED)
    XCTAssertTrue(isReadable())
    subscription.cancel()
    source.destroy()
  }

  func testEachStateGoesToOneOfThoseWhoPull() throws {
    let source = try Source()
    let subscription = try source.observe(Watcher(), .pull)
    let total = 4_000
    let taken = Shared<[UInt64]>([])
    runThreads(4) { thread in
      if thread == 0 {
        for number in 0..<total { source.send("\(number)") }
        try? source.stream.finish()
        return
      }
      while let (token, state) = try? subscription.next(timeout: -1) {
        let version = state.version
        taken.change { $0.append(version) }
        _ = Snapshot.release(token)
      }
    }
    XCTAssertEqual(taken.value.sorted(), (1...UInt64(total)).map { $0 })
    subscription.cancel()
    source.destroy()
  }

  /// Delivered and dropped are all that was accepted, whatever the buffer and however slow the observer.
  func testWhatWasLostIsCountedExactly() throws {
    for buffering in [SVK_BUFFER_NEWEST, SVK_BUFFER_OLDEST] {
      let source = try Source()
      let subscription = try source.observe(Watcher(), .pull, .make(buffering, 3))
      let (threads, rounds) = (2, 2_000)
      let (received, dropped, disorder) = (Tally(), Tally(), Tally())
      let left = Tally()
      left.add(threads)
      runThreads(threads + 1) { thread in
        if thread > 0 {
          for round in 0..<rounds { source.send("\(round)") }
          if left.add(-1) == 0 { try? source.stream.finish() }
          return
        }
        var last: UInt64 = 0
        while let (token, state) = try? subscription.next(timeout: -1) {
          received.add()
          dropped.add(Int(state.dropped))
          if state.version <= last { disorder.add() }
          last = state.version
          _ = Snapshot.release(token)
        }
      }
      XCTAssertEqual(disorder.value, 0)
      XCTAssertEqual(received.value + Int(subscription.dropped), threads * rounds)
      XCTAssertLessThanOrEqual(dropped.value, Int(subscription.dropped))
      subscription.cancel()
      source.destroy()
    }
  }

  func testABlockingBufferHoldsUpTheSenderAndLosesNothing() throws {
    let source = try Source()
    let subscription = try source.observe(Watcher(), .pull, .make(SVK_BUFFER_BLOCK, 1))
    let total: UInt64 = 500
    let versions = Shared<[UInt64]>([])
    runThreads(2) { thread in
      if thread == 0 {
        for number in 0..<total { source.send("\(number)") }
        try? source.stream.finish()
      } else {
        while let (token, state) = try? subscription.next(timeout: -1) {
          let version = state.version
          versions.change { $0.append(version) }
          _ = Snapshot.release(token)
        }
      }
    }
    XCTAssertEqual(versions.value, (1...total).map { $0 })
    XCTAssertEqual(subscription.dropped, 0)
    subscription.cancel()
    source.destroy()
  }

  func testCancellingWakesASenderThatWaitsForRoom() throws {
    for _ in 0..<50 {
      let source = try Source()
      let subscription = try source.observe(Watcher(), .pull, .make(SVK_BUFFER_BLOCK, 1))
      source.send("fills it")
      let answers = Shared<[Int32]>([])
      let barrier = Barrier(2)
      runThreads(2) { thread in
        barrier.wait()
        let answer = thread == 0 ? source.send("waits") : subscription.cancel()
        answers.change { $0.append(answer) }
      }
      XCTAssertEqual(answers.value, [SVK_OK, SVK_OK])
      source.destroy()
    }
  }

  func testCancellingWakesWhoPulls() throws {
    for _ in 0..<50 {
      let source = try Source()
      let subscription = try source.observe(Watcher(), .pull)
      let answers = Shared<[Int32]>([])
      let barrier = Barrier(3)
      runThreads(3) { thread in
        barrier.wait()
        if thread == 0 {
          subscription.cancel()
        } else {
          let answer = status { () throws(Failure) in _ = try subscription.next(timeout: -1) }
          answers.change { $0.append(answer) }
        }
      }
      XCTAssertEqual(answers.value, [SVK_CLOSED, SVK_CLOSED])
      source.destroy()
    }
  }

  func testCancelledInItsOwnCallbackItEndsAfterIt() throws {
    let source = try Source()
    let box = Shared<Subscription?>(nil)
    let seen = Shared<[Int32]>([])
    let freesInside = Tally()
    let watcherBox = Shared<Watcher?>(nil)
    let watcher = Watcher { _ in
      let subscription = box.value!
      let answer = subscription.cancel()
      seen.change { $0.append(answer) }
      freesInside.add(watcherBox.value!.frees.value)
    }
    watcherBox.change { $0 = watcher }
    let subscription = try source.observe(watcher)
    box.change { $0 = subscription }
    source.send("a")
    source.send("b")
    XCTAssertEqual(seen.value, [SVK_DEFERRED])
    XCTAssertEqual(freesInside.value, 0)
    XCTAssertEqual(watcher.frees.value, 1)
    XCTAssertEqual(watcher.states.value, ["a"])
    box.change { $0 = nil }
    watcherBox.change { $0 = nil }
    source.destroy()
  }

  /// Two callbacks that cancel each other, each on its thread, do not wait for one another.
  func testCallbacksMayCancelEachOther() throws {
    for _ in 0..<40 {
      let sources = [try Source(), try Source()]
      let subscriptions = Shared<[Subscription]>([])
      let barrier = Barrier(2)
      let answers = Shared<[Int32]>([])
      let watchers = (0..<2).map { number in
        Watcher { _ in
          barrier.wait()
          let other = subscriptions.value[1 - number]
          let answer = other.cancel()
          answers.change { $0.append(answer) }
          barrier.wait()
        }
      }
      for number in 0..<2 {
        let subscription = try sources[number].observe(watchers[number])
        subscriptions.change { $0.append(subscription) }
      }
      runThreads(2) { thread in sources[thread].send("a") }
      XCTAssertEqual(answers.value, [SVK_DEFERRED, SVK_DEFERRED])
      for watcher in watchers {
        XCTAssertEqual(watcher.frees.value, 1)
        XCTAssertEqual(watcher.wrongCalls.value, 0)
      }
      for source in sources { source.destroy() }
    }
  }
}
