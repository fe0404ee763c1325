import ServiceKit
import XCTest

/// `states`, as a sequence.
final class StatesSequenceTests: XCTestCase {
  func testEachIteratorBeginsWithTheStateThatIsCurrentWhenItIsMade() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    var early = service.states.makeAsyncIterator()
    stream.send(1)
    let states = service.states
    stream.send(2)
    var late = states.makeAsyncIterator()
    stream.send(3)
    var (earlySeen, lateSeen): ([Int?], [Int?]) = ([], [])
    for _ in 0..<4 { earlySeen.append(await early.next()) }
    for _ in 0..<2 { lateSeen.append(await late.next()) }
    XCTAssertEqual(earlySeen, [0, 1, 2, 3])
    XCTAssertEqual(lateSeen, [2, 3])
  }

  func testANextThatWaitsIsGivenTheNextState() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    let begun = StateEvents()
    let task = Task {
      var seen: [Int] = []
      for await state in service.states {
        seen.append(state)
        begun.step()
      }
      return seen
    }
    for number in 1...20 {
      await begun.steps(number)
      stream.send(number)
    }
    stream.finish()
    let seen = await task.value
    XCTAssertEqual(seen, Array(0...20))
  }

  func testAfterTheEndItGivesWhatWasAppliedAndEnds() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    var iterator = service.states.makeAsyncIterator()
    stream.send(1)
    stream.finish()
    stream.send(2)
    var seen: [Int?] = []
    for _ in 0..<4 { seen.append(await iterator.next()) }
    XCTAssertEqual(seen, [0, 1, nil, nil])
    var again: [Int] = []
    for await state in service.states { again.append(state) }
    XCTAssertEqual(again, [1])
  }

  func testAfterACloseItGivesWhatWasAppliedAndEnds() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    let states = service.states
    var iterator = states.makeAsyncIterator()
    stream.send(1)
    service.close()
    XCTAssertEqual(stream.send(2), .closed)
    var seen: [Int?] = []
    for _ in 0..<3 { seen.append(await iterator.next()) }
    XCTAssertEqual(seen, [0, 1, nil])
    var again: [Int] = []
    for await state in states { again.append(state) }
    XCTAssertEqual(again, [1])
  }

  func testACancelledTaskIsGivenNothingMore() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    let (reached, cancelled) = (StateEvents(), StateEvents())
    let task = Task {
      var seen: [Int] = []
      for await state in service.states {
        seen.append(state)
        reached.step()
        await cancelled.steps(1)
      }
      return seen
    }
    await reached.steps(1)
    for number in 1...10 { stream.send(number) }
    task.cancel()
    cancelled.step()
    let seen = await task.value
    XCTAssertEqual(seen, [0], "ten states were there already, but nobody wanted them any more")
    XCTAssertEqual(stream.send(11), .taken)
  }

  func testATaskThatIsCancelledWhileItWaitsComesToItsEnd() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    let reached = StateEvents()
    let task = Task {
      var seen: [Int] = []
      for await state in service.states {
        seen.append(state)
        reached.step()
      }
      return seen
    }
    await reached.steps(1)
    task.cancel()
    let seen = await task.value
    XCTAssertEqual(seen, [0])
    XCTAssertFalse(service.isFinished)
  }

  func testTheDroppedServiceEndsItsIterators() async {
    let stream = StateStream<Int>()
    var service: StatefulService? = StatefulService(state: 0, stream: stream, api: ())
    let reached = StateEvents()
    let states = service!.states
    let task = Task {
      var seen: [Int] = []
      for await state in states {
        seen.append(state)
        reached.step()
      }
      return seen
    }
    await reached.steps(1)
    service = nil
    let seen = await task.value
    XCTAssertEqual(seen, [0])
  }

  func testADroppedIteratorCostsNothingAnyMore() async {
    let census = StateCounted.Census()
    let stream = StateStream<StateCounted>()
    let service = StatefulService(state: StateCounted(0, census), stream: stream, api: ())
    do {
      var iterator = service.states.makeAsyncIterator()
      _ = await iterator.next()
      for number in 1...10 { stream.send(StateCounted(number, census)) }
      XCTAssertEqual(census.living, 10)
    }
    XCTAssertEqual(census.living, 1)
    for number in 1...10 { stream.send(StateCounted(number, census)) }
    XCTAssertEqual(census.living, 1)
    withExtendedLifetime(service) {}
  }

  @MainActor
  func testItCanBeReadOnAnActorAndOfAnIsolatedService() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: (), isolation: MainActor.shared)
    stream.send(1)
    stream.finish()
    var seen: [Int] = []
    for await state in service.states {
      MainActor.assertIsolated()
      seen.append(state)
    }
    XCTAssertEqual(seen, [0, 1])
  }

  func testManyTasksEachSeeEveryStateInOrder() async {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    let count = 500
    await withTaskGroup(of: [Int].self) { group in
      for _ in 0..<8 {
        let states = service.states
        group.addTask {
          var seen: [Int] = []
          for await state in states { seen.append(state) }
          return seen
        }
      }
      group.addTask {
        for number in 1...count {
          stream.send(number)
          if number % 50 == 0 { await Task.yield() }
        }
        stream.finish()
        return []
      }
      for await seen in group where !seen.isEmpty {
        // Whichever state it began with, none is missing after it.
        XCTAssertEqual(seen, Array(seen[0]...count))
      }
    }
  }
}

/// Steps that a task waits for without holding a thread.
final class StateEvents: Sendable {
  private let stream: StateStream<Int>
  private let service: StatefulService<Int, Void>
  private let taken = StateLog<Void>()

  init() {
    stream = StateStream()
    service = StatefulService(state: 0, stream: stream, api: ())
  }

  func step() {
    taken.add(())
    stream.send(taken.count)
  }

  /// Returns when `count` steps were taken.
  func steps(_ count: Int) async {
    for await state in service.states where state >= count { return }
  }
}
