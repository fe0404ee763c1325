import Observation
import ServiceKit
import XCTest

/// The eight faults of the first sketch of this class that its users know. Each test names the fault that it refuses.
final class StatesFaultTests: XCTestCase {
  private typealias IntService = StatefulService<Int, StateCounted?>

  // MARK: - 1. A service on an open stream never dies

  func testDroppingTheLastReferenceFreesAServiceOnAnOpenStream() {
    let census = StateCounted.Census()
    let stream = StateStream<StateCounted>()
    let captured = StateCounted(3, census)
    var service: StatefulService? = StatefulService(
      state: StateCounted(1, census), stream: stream, api: StateCounted(2, census)
    ) { [captured] _ in _ = captured.number }
    let watched = StateWeak(service)
    XCTAssertEqual(stream.send(StateCounted(4, census)), .taken)
    XCTAssertEqual(census.living, 3)
    service = nil
    XCTAssertNil(watched.object)
    XCTAssertEqual(stream.send(StateCounted(5, census)), .closed)
    // Only what this test holds itself is left: the API, the states and the callback's captures are gone.
    XCTAssertEqual(census.living, 1)
    withExtendedLifetime(captured) {}
  }

  func testDroppingTheLastReferenceInsideTheCallbackFreesIt() {
    let census = StateCounted.Census()
    let stream = StateStream<Int>()
    let box = StateBox<IntService?>(nil)
    let calls = StateLog<Int>()
    box.value = StatefulService(state: 0, stream: stream, api: StateCounted(1, census)) { [box] state in
      calls.add(state)
      stream.send(state + 1)
      box.value = nil
    }
    let watched = StateWeak(box.value)
    stream.send(1)
    XCTAssertNil(watched.object)
    XCTAssertEqual(census.living, 0)
    XCTAssertEqual(calls.entries, [1], "what was sent and not applied when the service ended is not called back")
    XCTAssertEqual(stream.send(9), .closed)
  }

  func testNeitherAnIteratorNorAPendingTurnKeepsTheServiceAlive() async {
    let place = StatePlace()
    let stream = StateStream<Int>()
    let census = StateCounted.Census()
    var service: IntService? = StatefulService(
      state: 0, stream: stream, api: StateCounted(1, census), isolation: place)
    var iterator = service!.states.makeAsyncIterator()
    let states = service!.states
    await place.hold {
      // The turn is due, and cannot be given as long as this holds the actor.
      stream.send(1)
    }
    service = nil
    guard census.living == 0 else { return XCTFail("the service is alive, and its states have no end") }
    let first = await iterator.next()
    XCTAssertNotNil(first)
    var last: Int?
    for await state in states { last = state }
    XCTAssertNotNil(last)
  }

  func testAnActorThatOwnsTheServiceItIsolatesIsFreed() async {
    let stream = StateStream<Int>()
    var owner: StateOwner? = StateOwner(stream)
    await owner?.begin()
    stream.send(1)
    await owner?.settled()
    let value = await owner?.value
    XCTAssertEqual(value, 1)
    let watched = StateWeak(owner)
    owner = nil
    XCTAssertNil(watched.object)
    XCTAssertEqual(stream.send(2), .closed)
  }

  // MARK: - 2. A copy of a stream sends nowhere

  func testEveryCopySendsToTheSameStreamAndSaysWhatBecameOfIt() {
    let stream = StateStream<Int>(buffering: .oldest(1))
    let copy = stream
    XCTAssertEqual(copy.send(1), .taken)
    XCTAssertEqual(stream.send(2), .dropped)
    let service = StatefulService(state: 0, stream: stream, api: ())
    XCTAssertEqual(service.state, 1)
    let another = copy
    XCTAssertEqual(another.send(3), .taken)
    XCTAssertEqual(service.state, 3)
    another.finish()
    XCTAssertEqual(stream.send(4), .closed)
    XCTAssertEqual(copy.send(4), .closed)
    XCTAssertEqual(service.state, 3)
  }

  // MARK: - 3. The service waits for ever when all senders are gone

  func testTheEndOfAllSendersIsTheStreamsEnd() async {
    var stream: StateStream<Int>? = StateStream()
    var continuations: [StateStream<Int>.Continuation] = []
    var other: StateStream? = StateStream<Int> { continuations.append($0) }
    let first = StatefulService(state: 0, stream: stream!, api: ())
    let second = StatefulService(state: 0, stream: other!, api: ())
    var copy = stream
    stream = nil
    XCTAssertFalse(first.isFinished)
    copy?.send(1)
    copy = nil
    XCTAssertTrue(first.isFinished)
    XCTAssertEqual(first.state, 1)

    other = nil
    XCTAssertFalse(second.isFinished)
    continuations.first?.send(2)
    continuations = []
    XCTAssertTrue(second.isFinished)
    XCTAssertEqual(second.state, 2)
    guard second.isFinished else { return }
    // Whoever waits for states is told.
    var seen: [Int] = []
    for await state in second.states { seen.append(state) }
    XCTAssertEqual(seen, [2])
    XCTAssertTrue(StatefulService(state: 0, stream: StateStream(), api: ()).isFinished)
  }

  // MARK: - 4. Buffered states arrive after cancelling

  func testAfterCloseNoBufferedStateArrives() async {
    let place = StatePlace()
    let stream = StateStream<Int>()
    let calls = StateLog<Int>()
    let service = StatefulService(state: 0, stream: stream, api: (), isolation: place) { calls.add($0) }
    await place.hold {
      for number in 1...3 { stream.send(number) }
      service.close()
    }
    await place.passes()
    await service.settled()
    XCTAssertEqual(calls.entries, [])
    XCTAssertEqual(service.state, 0)
    XCTAssertTrue(service.isFinished)
    XCTAssertEqual(stream.send(4), .closed)
  }

  func testAfterTheEndOfTheServiceNoBufferedStateArrives() async {
    let place = StatePlace()
    let stream = StateStream<Int>()
    let calls = StateLog<Int>()
    let box = StateBox<StatefulService<Int, Void>?>(nil)
    box.value = StatefulService(state: 0, stream: stream, api: (), isolation: place) { calls.add($0) }
    await place.hold {
      for number in 1...3 { XCTAssertEqual(stream.send(number), .taken) }
      box.value = nil
    }
    await place.passes()
    XCTAssertEqual(calls.entries, [])
    XCTAssertEqual(stream.send(4), .closed)
  }

  func testAfterACloseInsideTheCallbackNoBufferedStateArrives() {
    let stream = StateStream<Int>()
    let calls = StateLog<Int>()
    let box = StateBox<StatefulService<Int, Void>?>(nil)
    box.value = StatefulService(state: 0, stream: stream, api: ()) { [box] state in
      calls.add(state)
      stream.send(state + 1)
      stream.send(state + 2)
      box.value?.close()
    }
    stream.send(1)
    XCTAssertEqual(calls.entries, [1])
    XCTAssertEqual(box.value?.state, 1)
    box.value = nil
  }

  // MARK: - 5. Two services over one stream split its states

  func testASecondServiceIsRefusedAndLeavesTheFirstAlone() {
    let stream = StateStream<Int>()
    let calls = StateLog<String>()
    let first = StatefulService(state: 0, stream: stream, api: ()) { calls.add("first \($0)") }
    var second: StatefulService<Int, String>?
    let failures = collectingStateFailures {
      second = StatefulService(state: 10, stream: stream, api: "second") { calls.add("second \($0)") }
    }
    XCTAssertEqual(failures.count, 1)
    XCTAssertTrue(failures.first?.contains("has, or had, a service already") ?? false, "\(failures)")
    XCTAssertTrue(failures.first?.contains("StatefulService<Int, String>") ?? false, "\(failures)")
    XCTAssertEqual(second?.isFinished, true)
    XCTAssertEqual(second?.state, 10)
    XCTAssertFalse(first.isFinished)
    for number in 1...3 { XCTAssertEqual(stream.send(number), .taken) }
    XCTAssertEqual(calls.entries, ["first 1", "first 2", "first 3"])
    XCTAssertEqual(first.state, 3)
    second?.close()
    second = nil
    XCTAssertEqual(stream.send(4), .taken)
    XCTAssertEqual(first.state, 4)
  }

  func testSeveralObserversOfOneServiceEachGetEveryState() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    stream.send(1)
    let iterators = (0..<5).map { _ in service.states.makeAsyncIterator() }
    for number in 2...100 { stream.send(number) }
    stream.finish()
    for var iterator in iterators {
      var seen: [Int] = []
      while let state = await iterator.next() { seen.append(state) }
      XCTAssertEqual(seen, Array(1...100))
    }
  }

  // MARK: - 6. The state is written while others read it

  func testReadersOnOtherThreadsNeverSeeATornOrOldState() {
    struct Pair: Sendable {
      let number: Int
      let text: [String]
    }
    let stream = StateStream<Pair>()
    let service = StatefulService(state: Pair(number: 0, text: ["0", "0"]), stream: stream, api: ())
    let barrier = StateBarrier(3)
    let count = 20_000
    let wrong = StateLog<Int>()
    onStateThreads(3) { thread in
      barrier.wait()
      var last = 0
      for number in 1...count {
        if thread == 0 {
          stream.send(Pair(number: number, text: ["\(number)", "\(number)"]))
        } else {
          let pair = service.state
          if pair.text != ["\(pair.number)", "\(pair.number)"] || pair.number < last { wrong.add(number) }
          last = pair.number
        }
      }
    }
    XCTAssertEqual(wrong.entries, [])
    XCTAssertEqual(service.state.number, count)
  }

  @MainActor
  func testWithAnIsolationStatesChangeThereOncePerStateInOrder() async {
    let stream = StateStream<Int>()
    let log = StateLog<String>()
    let box = StateBox<StatefulService<Int, Void>?>(nil)
    let service = StatefulService(state: 0, stream: stream, api: (), isolation: MainActor.shared) { [box] state in
      MainActor.assumeIsolated { log.add("\(state) \(box.value?.state ?? -1)") }
    }
    box.value = service
    withObservationTracking {
      _ = service.state
    } onChange: {
      MainActor.assumeIsolated { log.add("observed") }
    }
    await Task.detached {
      for number in 1...20 { XCTAssertEqual(stream.send(number), .taken) }
    }.value
    await service.settled()
    XCTAssertEqual(log.entries, ["observed"] + (1...20).map { "\($0) \($0)" })
    box.value = nil
  }

  @MainActor
  func testWithAnIsolationTheStateDoesNotChangeWhileTheActorIsBusy() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: (), isolation: MainActor.shared)
    // Sent here or on another thread, it waits until this lets the main actor go.
    stream.send(1)
    onStateThreads(1) { _ in stream.send(2) }
    XCTAssertEqual(service.state, 0)
    XCTAssertEqual(service.version, 0)
    await service.settled()
    XCTAssertEqual(service.state, 2)
    XCTAssertEqual(service.version, 2)
  }

  // MARK: - 7. A send inside the callback recurses

  func testASendInsideTheCallbackQueues() {
    let stream = StateStream<Int>()
    let log = StateLog<String>()
    let service = StatefulService(state: 0, stream: stream, api: ()) { state in
      log.add("begin \(state)")
      if state < 3 { XCTAssertEqual(stream.send(state + 1), .taken) }
      log.add("end \(state)")
    }
    stream.send(1)
    XCTAssertEqual(log.entries, ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"])
    XCTAssertEqual(service.state, 3)
  }

  func testALongChainOfSendsInsideCallbacksNeedsNoStack() {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ()) { state in
      if state < 200_000 { stream.send(state + 1) }
    }
    stream.send(1)
    XCTAssertEqual(service.state, 200_000)
  }

  // MARK: - 8. Nothing says when a test may look

  func testSettledReturnsWhenAllIsAppliedAndCalledBack() async {
    let place = StatePlace()
    let stream = StateStream<Int>()
    let log = StateLog<Int>()
    let service = StatefulService(state: 0, stream: stream, api: (), isolation: place) { state in
      log.add(state)
      // Sent inside: belongs to what is waited for.
      if state % 10 == 0, state < 50 { stream.send(state + 10) }
    }
    for _ in 0..<50 {
      stream.send(1)
      stream.send(10)
      await service.settled()
      XCTAssertEqual(log.entries.suffix(6), [1, 10, 20, 30, 40, 50])
      XCTAssertEqual(service.state, 50)
    }
    stream.finish()
    await service.settled()
    XCTAssertTrue(service.isFinished)
  }
}

/// An actor that can be kept busy.
actor StatePlace {
  /// Runs `body` on the actor.
  func hold(_ body: @Sendable () -> Void) { body() }

  /// Returns when what was waiting for the actor has had its turn.
  func passes() async {
    for _ in 0..<5 { await Task.yield() }
  }
}

/// An actor with a service on itself.
private actor StateOwner {
  private let stream: StateStream<Int>
  private var service: StatefulService<Int, Void>?

  init(_ stream: StateStream<Int>) { self.stream = stream }

  var value: Int? { service?.state }
  func begin() { service = StatefulService(state: 0, stream: stream, api: (), isolation: self) }
  func settled() async { await service?.settled() }
}
