import CServiceKit
import XCTest

@testable import ServiceKitCore

final class DispatcherTests: XCTestCase {
  private var token = Token(word: 0)
  private var dispatcher: Dispatcher!

  override func setUpWithError() throws {
    token = try Dispatcher.create()
    dispatcher = try XCTUnwrap(TokenTable.object(token, .dispatcher, Dispatcher.self))
  }

  override func tearDown() {
    destroy()
    dispatcher = nil
  }

  @discardableResult
  private func destroy() -> Int32 {
    TokenTable.withdraw(token, .dispatcher) ? dispatcher.destroy() : SVK_INVALID_HANDLE
  }

  /// The status of a dispatch, and how many callbacks it ran.
  private func dispatch(most: Int = 0, timeout: Int64 = 0) -> (status: Int32, count: Int) {
    var count = 0
    let dispatcher = dispatcher!
    let result = status { () throws(Failure) in try dispatcher.dispatch(most: most, timeout: timeout, count: &count) }
    return (result, count)
  }

  private func isReadable() throws -> Bool { isDescriptorReadable(try dispatcher.descriptor()) }

  private func observed(_ count: Int) throws -> (Source, [Watcher]) {
    let source = try Source()
    let watchers = (0..<count).map { _ in Watcher() }
    for watcher in watchers { _ = try source.observe(watcher, .dispatcher(dispatcher)) }
    return (source, watchers)
  }

  func testWithNothingReadyItIsATimeout() throws {
    for timeout in [0, 1_000_000] as [Int64] {
      let (status, count) = dispatch(timeout: timeout)
      XCTAssertEqual(status, SVK_TIMEOUT)
      XCTAssertEqual(count, 0)
    }
    XCTAssertFalse(try isReadable())
  }

  func testAWakeIsRememberedOnce() throws {
    for _ in 0..<3 { XCTAssertTrue(Dispatcher.wake(token)) }
    XCTAssertTrue(try isReadable())
    XCTAssertEqual(dispatch(timeout: -1).status, SVK_OK)
    XCTAssertFalse(try isReadable())
    XCTAssertEqual(dispatch().status, SVK_TIMEOUT)
  }

  func testCallbacksRunOnlyInADispatch() throws {
    let (source, watchers) = try observed(2)
    for text in ["a", "b"] { source.send(text) }
    XCTAssertEqual(watchers[0].states.value, [])
    XCTAssertTrue(try isReadable())
    XCTAssertEqual(dispatch().count, 4)
    for watcher in watchers { XCTAssertEqual(watcher.states.value, ["a", "b"]) }
    XCTAssertFalse(try isReadable())
    try source.stream.finish()
    XCTAssertEqual(dispatch().count, 2)
    for watcher in watchers { XCTAssertEqual(watcher.finishes.value, 1) }
    source.destroy()
  }

  func testALimitLeavesTheRestReadable() throws {
    let (source, watchers) = try observed(3)
    for number in 0..<4 { source.send("\(number)") }
    var total = 0
    while total < 12 {
      XCTAssertTrue(try isReadable())
      let (status, count) = dispatch(most: 5)
      XCTAssertEqual(status, SVK_OK)
      XCTAssertEqual(count, min(5, 12 - total))
      total += count
      XCTAssertEqual(watchers.reduce(0) { $0 + $1.states.value.count }, total)
    }
    XCTAssertFalse(try isReadable())
    for watcher in watchers { XCTAssertEqual(watcher.states.value, ["0", "1", "2", "3"]) }
    source.destroy()
  }

  /// The same for a service that itself delivers on the dispatcher, and is stopped between its observers.
  func testALimitStopsAWalkInTheMiddle() throws {
    let source = try Source(.unbounded, .dispatcher(dispatcher))
    let watchers = (0..<3).map { _ in Watcher() }
    for watcher in watchers { _ = try source.observe(watcher) }
    for text in ["a", "b"] { source.send(text) }
    XCTAssertEqual(source.read().text, "initial")
    for call in 1...8 {
      XCTAssertEqual(dispatch(most: 1).count, 1)
      let calls = source.watcher.states.value.count + watchers.reduce(0) { $0 + $1.states.value.count }
      XCTAssertEqual(calls, call)
    }
    XCTAssertEqual(dispatch(most: 1).status, SVK_TIMEOUT)
    for watcher in watchers + [source.watcher] { XCTAssertEqual(watcher.states.value, ["a", "b"]) }
    source.destroy()
  }

  func testOneDispatchesAtATime() throws {
    let seen = Shared<[Int32]>([])
    let dispatcher = dispatcher!
    func tryDispatch() -> Int32 {
      status { () throws(Failure) in
        var count = 0
        try dispatcher.dispatch(most: 0, timeout: 0, count: &count)
      }
    }
    let watcher = Watcher { _ in
      let nested = tryDispatch()
      seen.change { $0.append(nested) }
      runThreads(1) { _ in
        let other = tryDispatch()
        seen.change { $0.append(other) }
      }
    }
    let source = try Source()
    _ = try source.observe(watcher, .dispatcher(dispatcher))
    source.send("a")
    XCTAssertEqual(dispatch().status, SVK_OK)
    XCTAssertEqual(seen.value, [SVK_BUSY, SVK_BUSY])
    XCTAssertEqual(dispatch().status, SVK_TIMEOUT)
    source.destroy()
  }

  func testItsEndWakesItsWaiterAndCancelsWhatDeliversThere() throws {
    let (source, watchers) = try observed(2)
    let background = try Source(.unbounded, .dispatcher(dispatcher))
    let answers = Shared<[Int32]>([])
    let dispatcher = dispatcher!
    let started = Event()
    let thread = TestThread {
      started.signal()
      let answer = status { () throws(Failure) in
        var count = 0
        try dispatcher.dispatch(most: 0, timeout: -1, count: &count)
      }
      answers.change { $0.append(answer) }
    }
    started.wait()
    XCTAssertEqual(destroy(), SVK_OK)
    thread.join()
    XCTAssertEqual(answers.value, [SVK_CLOSED])
    for watcher in watchers + [background.watcher] { XCTAssertEqual(watcher.frees.value, 1) }
    XCTAssertEqual(source.send("a"), SVK_OK)
    XCTAssertEqual(background.send("a"), SVK_CLOSED)
    XCTAssertThrowsError(try source.observe(Watcher(), .dispatcher(dispatcher)))
    XCTAssertFalse(Dispatcher.wake(token))
    source.destroy()
    background.destroy()
  }

  func testNothingIsLostBetweenSendersAndADispatch() throws {
    let (source, watchers) = try observed(2)
    let total = 2 * 2_000
    let dispatcher = dispatcher!
    let timeouts = Tally()
    runThreads(3) { thread in
      guard thread == 0 else {
        for number in 0..<(total / 2) { source.send("\(number)") }
        return
      }
      var calls = 0
      while calls < 2 * total {
        var count = 0
        let result = status { () throws(Failure) in
          try dispatcher.dispatch(most: 7, timeout: 20_000_000_000, count: &count)
        }
        calls += count
        if result != SVK_OK {
          timeouts.add()
          return
        }
      }
    }
    XCTAssertEqual(timeouts.value, 0)
    for watcher in watchers {
      XCTAssertEqual(watcher.versions.value, (1...UInt64(total)).map { $0 })
      XCTAssertEqual(watcher.wrongCalls.value, 0)
    }
    source.destroy()
  }
}
