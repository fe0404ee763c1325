import CServiceKit
import XCTest

@testable import ServiceKitCore

final class ServiceTests: XCTestCase {
  func testTheStateIsStoredBeforeItIsTold() throws {
    let seen = Shared<[String]>([])
    let box = Shared<Source?>(nil)
    let watcher = Watcher { state in
      let now = box.value?.read()
      seen.change { $0.append("\(state.text)=\(now?.text ?? "")@\(now?.version ?? 0)") }
    }
    let source = try Source(watcher: watcher)
    box.change { $0 = source }
    XCTAssertEqual(source.read().text, "initial")
    XCTAssertEqual(source.read().version, 0)
    for text in ["a", "b"] { XCTAssertEqual(source.send(text), SVK_OK) }
    XCTAssertEqual(seen.value, ["a=a@1", "b=b@2"])
    source.destroy()
    box.change { $0 = nil }
  }

  func testASendInACallbackIsDeliveredAfterIt() throws {
    let box = Shared<Source?>(nil)
    let order = Shared<[String]>([])
    let watcher = Watcher { state in
      order.change { $0.append("in \(state.text)") }
      if state.version < 3 { XCTAssertEqual(box.value?.send("\(state.version + 1)"), SVK_OK) }
      order.change { $0.append("out \(state.text)") }
    }
    let source = try Source(watcher: watcher)
    box.change { $0 = source }
    let other = Watcher { state in order.change { $0.append("observer \(state.text)") } }
    let subscription = try source.observe(other)
    XCTAssertEqual(source.send("1"), SVK_OK)
    XCTAssertEqual(
      order.value,
      ["in 1", "out 1", "observer 1", "in 2", "out 2", "observer 2", "in 3", "out 3", "observer 3"])
    subscription.cancel()
    source.destroy()
    box.change { $0 = nil }
  }

  func testEqualStatesAreAcceptedAndNotTold() throws {
    let source = try Source(initial: "a", skipsEqual: true)
    let watcher = Watcher()
    let subscription = try source.observe(watcher)
    for text in ["a", "b", "b", "b", "c", "b"] { XCTAssertEqual(source.send(text), SVK_OK) }
    XCTAssertEqual(watcher.states.value, ["b", "c", "b"])
    XCTAssertEqual(watcher.versions.value, [2, 5, 6])
    XCTAssertEqual(watcher.dropped.value, 0)
    XCTAssertEqual(subscription.dropped, 0)
    XCTAssertEqual(source.read().version, 6)
    subscription.cancel()
    source.destroy()
  }

  func testTheEndComesOnceToAll() throws {
    let source = try Source()
    let watcher = Watcher()
    let subscription = try source.observe(watcher)
    source.send("a")
    XCTAssertEqual(status { () throws(Failure) in try source.stream.finish() }, SVK_OK)
    XCTAssertEqual(status { () throws(Failure) in try source.stream.finish() }, SVK_CLOSED)
    XCTAssertEqual(source.send("b"), SVK_CLOSED)
    // One that comes after the end is told of it, too.
    let late = Watcher()
    let lateSubscription = try source.observe(late, beginsWithCurrent: true)
    XCTAssertEqual(late.states.value, ["a"])
    for each in [source.watcher, watcher, late] { XCTAssertEqual(each.finishes.value, 1) }
    XCTAssertEqual(status { () throws(Failure) in _ = try source.service.wait(after: 1, timeout: -1) }, SVK_CLOSED)
    XCTAssertEqual(try source.service.wait(after: 0, timeout: -1), 1)
    XCTAssertEqual(subscription.cancel(), SVK_OK)
    XCTAssertEqual(lateSubscription.cancel(), SVK_OK)
    source.destroy()
    for each in [source.watcher, watcher, late] {
      XCTAssertEqual(each.frees.value, 1)
      XCTAssertEqual(each.finishes.value, 1)
    }
  }

  func testAClosedServiceCallsNobodyAndTakesNothing() throws {
    let source = try Source()
    let watcher = Watcher()
    _ = try source.observe(watcher)
    let (snapshot, state) = source.service.acquire()
    XCTAssertEqual(source.close(), SVK_OK)
    XCTAssertEqual(source.close(), SVK_INVALID_HANDLE)
    XCTAssertEqual(source.send("a"), SVK_CLOSED)
    XCTAssertEqual(watcher.frees.value, 1)
    XCTAssertEqual(source.watcher.frees.value, 1)
    XCTAssertEqual(watcher.states.value + source.watcher.states.value, [])
    XCTAssertEqual(watcher.finishes.value + source.watcher.finishes.value, 0)
    XCTAssertEqual(state.text, "initial", "a snapshot outlives its service")
    XCTAssertTrue(Snapshot.release(snapshot))
    XCTAssertFalse(Snapshot.release(snapshot))
    source.destroy()
  }

  func testAWaiterIsWokenByAStateAndByTheEnd() throws {
    for ending in 0..<3 {
      let source = try Source()
      let answers = Shared<[Int32]>([])
      let started = Barrier(3)
      let threads = (0..<2).map { _ in
        TestThread {
          started.wait()
          let answer = status { () throws(Failure) in _ = try source.service.wait(after: 0, timeout: -1) }
          answers.change { $0.append(answer) }
        }
      }
      started.wait()
      switch ending {
      case 0: source.send("a")
      case 1: try source.stream.finish()
      default: source.close()
      }
      for thread in threads { thread.join() }
      XCTAssertEqual(answers.value, ending == 0 ? [SVK_OK, SVK_OK] : [SVK_CLOSED, SVK_CLOSED])
      source.destroy()
    }
  }

  func testAWaitEndsInTime() throws {
    let source = try Source()
    for timeout in [0, 1_000_000] as [Int64] {
      XCTAssertEqual(
        status { () throws(Failure) in _ = try source.service.wait(after: 0, timeout: timeout) }, SVK_TIMEOUT)
    }
    source.send("a")
    XCTAssertEqual(try source.service.wait(after: 0, timeout: 0), 1)
    source.destroy()
  }

  func testAStreamHasOneServiceAndAFailedOneKeepsNothing() throws {
    let source = try Source()
    let watcher = Watcher()
    var options = Service.Options()
    options.stream = source.stream
    var tokens: [Token] = []
    let result = status { () throws(Failure) in
      try Service.create(options, .onSenders, watcher.callbacks) { tokens.append($0) }
    }
    XCTAssertEqual(result, SVK_ALREADY_EXISTS)
    XCTAssertEqual(tokens.last?.word, 0)
    XCTAssertEqual(watcher.frees.value, 0)
    source.destroy()
  }

  // MARK: - Storms

  /// Nothing that was accepted is lost, doubled or reordered, whoever sends.
  func testManySendersOneOrder() throws {
    let source = try Source()
    let (first, second) = (Watcher(), Watcher())
    let subscriptions = [try source.observe(first), try source.observe(second)]
    let (threads, rounds) = (4, 500)
    storm(threads, rounds: rounds) { thread, round in source.send("\(thread).\(round)") }
    for watcher in [source.watcher, first, second] {
      XCTAssertEqual(watcher.versions.value, (1...UInt64(threads * rounds)).map { $0 })
      XCTAssertEqual(watcher.wrongCalls.value, 0)
      for thread in 0..<threads {
        let own = watcher.states.value.filter { $0.hasPrefix("\(thread).") }
        XCTAssertEqual(own, (0..<rounds).map { "\(thread).\($0)" })
      }
    }
    XCTAssertEqual(source.read().version, UInt64(threads * rounds))
    XCTAssertEqual(source.read().text, first.states.value.last)
    for subscription in subscriptions { subscription.cancel() }
    source.destroy()
  }

  /// Observers that come and go get a stretch without a gap, and their data is freed once, after their last call.
  func testObserversComeAndGoWhileOthersSend() throws {
    for delivery in [Service.Delivery.onSenders, .background] {
      let source = try Source()
      let (wrong, observers) = (Tally(), Tally())
      storm(4, rounds: 150) { thread, round in
        if thread < 2 {
          for number in 0..<5 { source.send("\(number)") }
          return
        }
        let watcher = Watcher()
        guard let subscription = try? source.observe(watcher, delivery, beginsWithCurrent: round % 2 == 0) else {
          return _ = wrong.add()
        }
        observers.add()
        if subscription.cancel() != SVK_OK { wrong.add() }
        let calls = watcher.versions.value
        if watcher.frees.value != 1 || watcher.wrongCalls.value != 0 { wrong.add() }
        for (earlier, later) in zip(calls, calls.dropFirst()) where later != earlier + 1 { wrong.add() }
        // Nothing comes any more.
        if watcher.versions.value.count != calls.count { wrong.add() }
      }
      XCTAssertEqual(wrong.value, 0)
      XCTAssertEqual(observers.value, 300)
      XCTAssertEqual(source.service.state.observers.count, 0)
      XCTAssertTrue(source.service.state.leaving.isEmpty)
      source.destroy()
      XCTAssertEqual(source.watcher.frees.value, 1)
    }
  }

  func testClosingWhileOthersSendAndObserve() throws {
    for round in 0..<60 {
      let source = try Source()
      let watchers = Shared<[Watcher]>([])
      let wrong = Tally()
      let barrier = Barrier(4)
      runThreads(4) { thread in
        barrier.wait()
        if thread == 0 {
          for _ in 0..<(round % 20) { source.send("x") }
          if source.close() != SVK_OK { wrong.add() }
          // All is quiet when it returns.
          for watcher in watchers.value where watcher.wrongCalls.value > 0 { wrong.add() }
        } else if thread == 1 {
          for _ in 0..<50 { source.send("y") }
        } else {
          for _ in 0..<20 {
            let watcher = Watcher()
            do { _ = try source.observe(watcher) } catch is Source.HasEnded {} catch { break }
            watchers.change { $0.append(watcher) }
          }
        }
      }
      XCTAssertEqual(wrong.value, 0)
      for watcher in watchers.value {
        XCTAssertEqual(watcher.frees.value, 1)
        XCTAssertEqual(watcher.wrongCalls.value, 0)
      }
      XCTAssertEqual(source.watcher.frees.value, 1)
      source.destroy()
    }
  }

  func testAReadIsNeverTorn() throws {
    let source = try Source(initial: String(repeating: "0", count: 100))
    let torn = Tally()
    storm(4, rounds: 1_000) { thread, round in
      if thread < 2 {
        source.send(String(repeating: "\((round + thread) % 10)", count: 50 + round % 100))
      } else {
        let (text, _) = source.read()
        if Set(text).count != 1 { torn.add() }
      }
    }
    XCTAssertEqual(torn.value, 0)
    source.destroy()
  }
}
