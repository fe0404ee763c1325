import Observation
import ServiceKit
import XCTest

/// Threads and tasks that do everything at once, counted afterwards.
final class StatesStormTests: XCTestCase {
  func testWhatManyThreadsSendComesOnceAndInEachOnesOrder() {
    struct Sent: Sendable {
      let thread: Int
      let number: Int
    }
    let stream = StateStream<Sent>()
    let log = StateLog<Sent>()
    let inside = StateBox(0)
    let service = StatefulService(state: Sent(thread: -1, number: 0), stream: stream, api: ()) { sent in
      inside.value += 1
      XCTAssertEqual(inside.value, 1, "two callbacks of one service at once")
      log.add(sent)
      inside.value -= 1
    }
    let barrier = StateBarrier(4)
    onStateThreads(4) { thread in
      barrier.wait()
      for number in 1...1000 { XCTAssertEqual(stream.send(Sent(thread: thread, number: number)), .taken) }
    }
    XCTAssertEqual(service.version, 4000)
    for thread in 0..<4 {
      XCTAssertEqual(log.entries.filter { $0.thread == thread }.map(\.number), Array(1...1000))
    }
  }

  func testNothingIsLeftOfServicesThatCameAndWentWhileAllWasGoingOn() async {
    let census = StateCounted.Census()
    for round in stateRounds(60) {
      let stream = StateStream<StateCounted>(buffering: round % 2 == 0 ? .unbounded : .newest(3))
      let isolation: StatePlace? = round % 3 == 0 ? StatePlace() : nil
      var service: StatefulService? = StatefulService(
        state: StateCounted(0, census), stream: stream, api: StateCounted(-1, census), isolation: isolation
      ) { state in
        if state.number % 7 == 0 { stream.send(StateCounted(1, census)) }
      }
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<2 {
          group.addTask {
            for number in 1...50 { stream.send(StateCounted(number, census)) }
          }
        }
        for _ in 0..<2 {
          let states = service!.states
          group.addTask {
            var last = -1
            for await state in states.prefix(20) { last = state.number }
            XCTAssertGreaterThanOrEqual(last, 0)
          }
        }
        group.addTask { [weak service] in await service?.settled() }
        group.addTask { [weak service] in
          for _ in 0..<50 {
            withObservationTracking {
              _ = service?.state.number
            } onChange: {
            }
            XCTAssertLessThanOrEqual(service?.version ?? 0, 1000)
          }
        }
        if round % 4 == 0 { service?.close() }
        service = nil
        await group.waitForAll()
      }
      stream.finish()
    }
    // A turn that was due on an actor may still be on its way to find out that there is nothing to do.
    for _ in 0..<100_000 where census.living != 0 { await Task.yield() }
    XCTAssertEqual(census.living, 0)
  }

  func testTheEndComesOnceWhoeverIsTheLastSender() async {
    for _ in stateRounds(200) {
      var senders: [StateStream<Int>] = [StateStream()]
      let service = StatefulService(state: 0, stream: senders[0], api: ())
      for _ in 1..<4 { senders.append(senders[0]) }
      let ends = StateLog<Int>()
      withObservationTracking {
        _ = service.isFinished
      } onChange: {
        ends.add(1)
      }
      let boxes = senders.map { StateBox<StateStream<Int>?>($0) }
      senders = []
      let barrier = StateBarrier(4)
      onStateThreads(4) { thread in
        barrier.wait()
        boxes[thread].value?.send(thread)
        boxes[thread].value = nil
      }
      XCTAssertTrue(service.isFinished)
      XCTAssertEqual(service.version, 4)
      XCTAssertEqual(ends.count, 1)
    }
  }

  func testAnIsolatedServiceAppliesEachStateOnceWhileManySend() async {
    let place = StatePlace()
    let stream = StateStream<Int>()
    let seen = StateLog<Int>()
    let service = StatefulService(state: 0, stream: stream, api: (), isolation: place) { state in
      place.assumeIsolated { _ in seen.add(state) }
    }
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask {
          for number in 1...500 {
            stream.send(task * 1000 + number)
            if number % 100 == 0 { await service.settled() }
          }
        }
      }
    }
    await service.settled()
    XCTAssertEqual(seen.count, 2000)
    for task in 0..<4 {
      XCTAssertEqual(seen.entries.filter { $0 / 1000 == task }, (1...500).map { task * 1000 + $0 })
    }
  }

  func testObservationNeverMissesTheLastState() {
    for _ in stateRounds(200) {
      let stream = StateStream<Int>()
      let service = StatefulService(state: 0, stream: stream, api: ())
      let wasTold = StateBox(false)
      let barrier = StateBarrier(2)
      let seen = StateBox(0)
      onStateThreads(2) { thread in
        barrier.wait()
        if thread == 0 {
          stream.send(1)
        } else {
          // The first reader of the service, just when its state changes: told of the change, or shown it.
          seen.value = service.state
          withObservationTracking {
            _ = service.state
          } onChange: {
            wasTold.value = true
          }
        }
      }
      stream.send(2)
      XCTAssertTrue(wasTold.value)
      XCTAssertTrue((0...1).contains(seen.value))
    }
  }
}
