import Foundation
import Observation
import ServiceKit
import XCTest

/// The plain use of a service: what a state, a version, an end are.
final class StatesServiceTests: XCTestCase {
  private struct API: Sendable { let add: @Sendable (Int) -> Void }

  func testASendIsAppliedAndCalledBackBeforeItReturns() {
    let stream = StateStream<Int>()
    let log = StateLog<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ()) { log.add($0) }
    XCTAssertEqual(service.state, 0)
    XCTAssertEqual(service.version, 0)
    XCTAssertEqual(log.entries, [])
    XCTAssertEqual(stream.send(7), .taken)
    XCTAssertEqual(service.state, 7)
    XCTAssertEqual(service.version, 1)
    XCTAssertEqual(log.entries, [7])
    XCTAssertFalse(service.isFinished)
  }

  func testTheStateIsStoredWhenTheCallbackRuns() {
    let stream = StateStream<Int>()
    let seen = StateLog<Int>()
    let box = StateBox<StatefulService<Int, Void>?>(nil)
    box.value = StatefulService(state: 0, stream: stream, api: ()) { [box] _ in seen.add(box.value?.state ?? -1) }
    stream.send(1)
    stream.send(2)
    XCTAssertEqual(seen.entries, [1, 2])
    box.value = nil
  }

  func testWhatTheBodySendsIsThereFirst() {
    let log = StateLog<Int>()
    let stream = StateStream<Int> { continuation in
      continuation.send(1)
      continuation.send(2)
    }
    let service = StatefulService(state: 0, stream: stream, api: ()) { log.add($0) }
    XCTAssertEqual(log.entries, [1, 2])
    XCTAssertEqual(service.state, 2)
    XCTAssertEqual(service.version, 2)
  }

  func testTheAPIIsWhatTheServiceCanBeAsked() {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: API { stream.send($0) })
    service.api.add(5)
    XCTAssertEqual(service.state, 5)
  }

  func testAfterTheEndTheStateStays() {
    let stream = StateStream<String>()
    let service = StatefulService(state: "a", stream: stream, api: ())
    stream.send("b")
    stream.finish()
    XCTAssertTrue(service.isFinished)
    XCTAssertEqual(service.state, "b")
    XCTAssertEqual(stream.send("c"), .closed)
    XCTAssertEqual(service.state, "b")
    XCTAssertEqual(service.version, 1)
    stream.finish()
  }

  func testAVoidStreamFeedsAnyNumberOfFinishedServices() {
    let stream = StateStream<Int>.void
    let first = StatefulService(state: 1, stream: stream, api: ())
    let second = StatefulService(state: 2, stream: stream, api: ())
    XCTAssertEqual(first.state, 1)
    XCTAssertEqual(second.state, 2)
    XCTAssertTrue(first.isFinished)
    XCTAssertTrue(second.isFinished)
    XCTAssertEqual(stream.send(3), .closed)
    XCTAssertEqual(StatefulService(state: 4, stream: .void, api: ()).state, 4)
  }

  // MARK: - Observation

  func testObservationSeesEachChange() {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    let seen = StateLog<Int>()
    @Sendable func follow() {
      let now = withObservationTracking {
        service.state
      } onChange: {
        follow()
      }
      seen.add(now)
    }
    follow()
    for number in 1...5 { stream.send(number) }
    XCTAssertEqual(seen.entries, [0, 1, 2, 3, 4, 5])
  }

  func testObservationComesBeforeTheCallback() {
    let stream = StateStream<Int>()
    let order = StateLog<String>()
    let service = StatefulService(state: 0, stream: stream, api: ()) { order.add("callback \($0)") }
    withObservationTracking {
      _ = service.state
    } onChange: {
      order.add("observation")
    }
    stream.send(1)
    XCTAssertEqual(order.entries, ["observation", "callback 1"])
  }

  func testObservationSeesTheEndAndTheVersion() {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    let seen = StateLog<String>()
    withObservationTracking {
      _ = service.isFinished
    } onChange: {
      seen.add("end")
    }
    withObservationTracking {
      _ = service.version
    } onChange: {
      seen.add("version")
    }
    stream.send(1)
    XCTAssertEqual(seen.entries, ["version"])
    stream.finish()
    XCTAssertEqual(seen.entries, ["version", "end"])
    let open = StateStream<Int>()
    let closed = StatefulService(state: 0, stream: open, api: ())
    withObservationTracking {
      _ = closed.isFinished
    } onChange: {
      seen.add("closed")
    }
    closed.close()
    closed.close()
    XCTAssertEqual(seen.entries, ["version", "end", "closed"])
    XCTAssertTrue(closed.isFinished)
  }

  func testObservationMayUseTheService() {
    let stream = StateStream<Int>()
    let service = StatefulService(state: 0, stream: stream, api: ())
    withObservationTracking {
      _ = service.state
    } onChange: {
      if service.state < 3 { stream.send(service.state + 1) }
    }
    stream.send(2)
    XCTAssertEqual(service.state, 3)
  }

  func testItIsObservableAndSendableWhereItsAPIIs() {
    func isObservable(_ value: some Observable) -> Bool { true }
    func isSendable(_ value: some Sendable) -> Bool { true }
    let service = StatefulService(state: 0, stream: .void, api: API { _ in })
    XCTAssertTrue(isObservable(service) && isSendable(service))
    // One whose API is not Sendable can be made all the same.
    let api = NSMutableArray()
    XCTAssertTrue(StatefulService(state: 0, stream: .void, api: api).api === api)
  }
}
