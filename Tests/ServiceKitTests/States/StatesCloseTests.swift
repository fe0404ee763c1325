import Observation
import ServiceKit
import XCTest

/// What `close()` and the end of a service promise, and what `settled()` does.
final class StatesCloseTests: XCTestCase {
  func testCloseWaitsForACallbackOnAnotherThread() {
    let stream = StateStream<Int>()
    let (entered, mayReturn) = (StateEvent(), StateEvent())
    let log = StateLog<String>()
    let service = StatefulService(state: 0, stream: stream, api: ()) { _ in
      entered.signal()
      mayReturn.wait()
      log.add("returned")
    }
    onStateThreads(3) { thread in
      switch thread {
      case 0: stream.send(1)
      case 1:
        entered.wait()
        // It cannot have returned before the third thread lets the callback go.
        service.close()
        log.add("closed")
      default:
        entered.wait()
        // The state is there to be read, and the stream to be sent to, while the callback runs.
        XCTAssertEqual(service.state, 1)
        stream.send(2)
        mayReturn.signal()
      }
    }
    XCTAssertEqual(log.entries.last, "closed")
    XCTAssertEqual(log.entries.first, "returned")
    XCTAssertEqual(stream.send(3), .closed)
  }

  func testTheEndOfAServiceWaitsForACallbackOnAnotherThread() {
    let stream = StateStream<Int>()
    let (entered, mayReturn) = (StateEvent(), StateEvent())
    let log = StateLog<String>()
    let box = StateBox<StatefulService<Int, Void>?>(nil)
    box.value = StatefulService(state: 0, stream: stream, api: ()) { _ in
      entered.signal()
      mayReturn.wait()
      log.add("returned")
    }
    onStateThreads(3) { thread in
      switch thread {
      case 0: stream.send(1)
      case 1:
        entered.wait()
        box.value = nil
        log.add("gone")
      default:
        entered.wait()
        mayReturn.signal()
      }
    }
    XCTAssertEqual(log.entries, ["returned", "gone"])
  }

  func testTwoCallbacksThatCloseEachOtherDoNotHang() {
    let streams = [StateStream<Int>(), StateStream<Int>()]
    let barrier = StateBarrier(2)
    let services = StateBox<[StatefulService<Int, Void>]>([])
    services.value = (0..<2).map { number in
      StatefulService(state: 0, stream: streams[number], api: ()) { _ in
        barrier.wait()
        services.value[1 - number].close()
      }
    }
    onStateThreads(2) { streams[$0].send(1) }
    XCTAssertEqual(services.value.map(\.isFinished), [true, true])
    services.value = []
  }

  func testACloseWhileObservationIsToldOfTheStateComesBeforeTheCallback() {
    let stream = StateStream<Int>()
    let calls = StateLog<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ()) { calls.add($0) }
    withObservationTracking {
      _ = service.state
    } onChange: {
      service.close()
    }
    stream.send(1)
    XCTAssertEqual(calls.entries, [])
    XCTAssertEqual(service.state, 1)
  }

  func testAfterCloseReturnsNoCallbackRunsWhoeverSends() {
    for _ in stateRounds(300) {
      let stream = StateStream<Int>()
      let late = StateLog<Int>()
      let isClosed = StateBox(false)
      let service = StatefulService(state: 0, stream: stream, api: ()) { if isClosed.value { late.add($0) } }
      let barrier = StateBarrier(3)
      onStateThreads(3) { thread in
        barrier.wait()
        if thread == 0 {
          service.close()
          isClosed.value = true
        } else {
          for number in 1...20 { stream.send(number) }
        }
      }
      XCTAssertEqual(late.entries, [])
    }
  }

  func testAfterTheLastReferenceNoCallbackRunsWhoeverSends() {
    for _ in stateRounds(300) {
      let stream = StateStream<Int>()
      let late = StateLog<Int>()
      let isGone = StateBox(false)
      let box = StateBox<StatefulService<Int, Void>?>(nil)
      box.value = StatefulService(state: 0, stream: stream, api: ()) { if isGone.value { late.add($0) } }
      let barrier = StateBarrier(3)
      onStateThreads(3) { thread in
        barrier.wait()
        if thread == 0 {
          box.value = nil
          isGone.value = true
        } else {
          for number in 1...20 { stream.send(number) }
        }
      }
      XCTAssertEqual(late.entries, [])
    }
  }

  // MARK: - settled()

  func testSettledReturnsAtOnceWhereNothingIsLeft() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    await service.settled()
    stream.send(1)
    await service.settled()
    stream.finish()
    await service.settled()
    service.close()
    await service.settled()
    await StatefulService(state: 0, stream: .void, api: ()).settled()
  }

  func testSettledWaitsForACallbackOnAnotherThread() async {
    let stream = StateStream<Int>()
    let (entered, mayReturn) = (StateEvent(), StateEvent())
    let log = StateLog<String>()
    let service = StatefulService(state: 0, stream: stream, api: ()) { state in
      entered.signal()
      mayReturn.wait()
      log.add("\(state)")
      if state == 1 { stream.send(2) }
    }
    DispatchQueue.global().async { stream.send(1) }
    entered.wait()
    let waiters = (0..<4).map { _ in
      Task {
        await service.settled()
        return log.entries
      }
    }
    // Whether they have begun to wait or not: they cannot see less.
    mayReturn.signal()
    for waiter in waiters {
      let seen = await waiter.value
      XCTAssertEqual(seen, ["1", "2"])
    }
  }

  func testSettledIsNotDelayedByWhoGoesOnSending() async {
    let place = StatePlace()
    let stream = StateStream<Int>()
    let marks = StateLog<Int>()
    let service = StatefulService(state: 0, stream: stream, api: (), isolation: place) { state in
      if state < 0 { marks.add(state) }
    }
    let isOver = StateBox(false)
    let sender = Task.detached {
      var sent: UInt64 = 0
      while !isOver.value {
        // Always ahead of the service, but not by more and more.
        while sent < service.version + 200 {
          stream.send(1)
          sent += 1
        }
        await Task.yield()
      }
    }
    for round in 1...20 {
      stream.send(-round)
      await service.settled()
      XCTAssertEqual(marks.entries.last, -round)
    }
    isOver.value = true
    await sender.value
  }

  func testSettledEndsWithTheServiceAndWithItsTask() async {
    let place = StatePlace()
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: (), isolation: place)
    let (held, mayEnd) = (StateEvent(), StateEvent())
    let holder = Task {
      await place.hold {
        held.signal()
        mayEnd.wait()
      }
    }
    held.wait()
    // As long as the actor is held, nothing is applied.
    stream.send(1)
    let cancelled = Task { await service.settled() }
    cancelled.cancel()
    await cancelled.value
    XCTAssertEqual(service.state, 0)
    let waiting = Task { await service.settled() }
    service.close()
    await waiting.value
    XCTAssertEqual(service.state, 0)
    mayEnd.signal()
    await holder.value
  }
}
