import CServiceKit
import ServiceKitABI
import XCTest

/// Stateful services as a Swift host produces and observes them through the C functions.
final class ServiceTests: XCTestCase {
  private func read(_ service: Word) -> (status: svk_status, text: String, version: UInt64) {
    var buffer = [UInt8](repeating: 0, count: 64)
    var (size, version) = (0, UInt64(0))
    let status = svk_service_read(service, &buffer, 64, &size, &version)
    return (status, String(decoding: buffer[..<size], as: UTF8.self), version)
  }

  func testAServiceIsProducedAndObserved() throws {
    let listener = Listener()
    let (stream, service) = try makeSource()
    var options = listener.observer()
    options.flags = UInt32(SVK_OBSERVE_CURRENT)
    let subscription: Word = try made { svk_service_observe(service, &options, $0) }
    XCTAssertEqual(listener.states.value, ["0:0"])
    XCTAssertEqual(send(stream, "a"), SVK_OK)
    XCTAssertEqual(send(stream, "b"), SVK_OK)
    XCTAssertEqual(listener.states.value, ["0:0", "1:a", "2:b"])
    XCTAssertEqual(read(service).text, "b")
    XCTAssertEqual(read(service).version, 2)
    ok(svk_stream_finish(stream))
    XCTAssertEqual(svk_stream_finish(stream), SVK_CLOSED)
    XCTAssertEqual(send(stream, "c"), SVK_CLOSED)
    XCTAssertEqual(listener.finishes.value, 1)
    XCTAssertEqual(listener.frees.value, 0)
    ok(svk_subscription_cancel(subscription))
    XCTAssertEqual(listener.frees.value, 1)
    ok(svk_stream_destroy(stream))
    XCTAssertEqual(read(service).text, "b")
    ok(svk_service_close(service))
    XCTAssertEqual(read(service).status, SVK_INVALID_HANDLE)
  }

  /// A service registered like anything else: its factory makes the stream, and the host observes what it resolved.
  func testAServiceComesFromAContainer() throws {
    final class Clock: UserData {
      let stream: Word
      init(_ stream: Word) { self.stream = stream }
    }
    let container: Word = try made { svk_container_create($0) }
    let streams = Shared<[Word]>([])
    let factory = Factory { _ in
      guard let (stream, service) = try? makeSource() else { return (SVK_FACTORY_ERROR_BASE, nil) }
      streams.change { $0.append(stream) }
      return (SVK_OK, UnsafeMutableRawPointer(service))
    }
    var options = factory.options(SVK_SCOPE_CACHED)
    options.destroy = { instance, _ in ok(svk_service_close(Word(instance))) }
    ok(svk_register(container, "clock", &options))
    let handle: Word = try made { svk_resolve(container, "clock", $0) }
    let service = Word(svk_instance(handle))
    let listener = Listener()
    var observer = listener.observer()
    let subscription: Word = try made { svk_service_observe(service, &observer, $0) }
    XCTAssertEqual(send(streams.value[0], "tick"), SVK_OK)
    XCTAssertEqual(listener.states.value, ["1:tick"])
    ok(svk_release(handle))
    ok(svk_container_destroy(container))
    XCTAssertEqual(send(streams.value[0], "tock"), SVK_CLOSED)
    XCTAssertEqual(svk_subscription_cancel(subscription), SVK_INVALID_HANDLE)
    XCTAssertEqual(listener.frees.value, 1)
    ok(svk_stream_destroy(streams.value[0]))
  }

  func testAPullSubscriptionHandsOutItsStates() throws {
    let (stream, service) = try makeSource()
    var options = svk_observer_options.defaults
    options.delivery = SVK_DELIVER_PULL
    let subscription: Word = try made { svk_service_observe(service, &options, $0) }
    let descriptor = svk_subscription_fd(subscription)
    XCTAssertGreaterThanOrEqual(descriptor, 0)
    var state = svk_state()
    var snapshot: Word?
    XCTAssertEqual(svk_subscription_next(subscription, 0, &snapshot, &state), SVK_TIMEOUT)
    XCTAssertNil(snapshot)
    for text in ["a", "bcd"] { XCTAssertEqual(send(stream, text), SVK_OK) }
    ok(svk_subscription_next(subscription, -1, &snapshot, &state))
    XCTAssertEqual(state.text, "a")
    XCTAssertEqual(UInt(bitPattern: state.data) & 15, 0)
    var (size, version, dropped) = (0, UInt64(0), UInt64(0))
    var buffer = [UInt8](repeating: 0, count: 3)
    XCTAssertEqual(
      svk_subscription_next_copy(subscription, 0, &buffer, 2, &size, &version, &dropped), SVK_BUFFER_TOO_SMALL)
    XCTAssertEqual(size, 3)
    XCTAssertEqual(version, 0)
    ok(svk_subscription_next_copy(subscription, 0, &buffer, 3, &size, &version, &dropped))
    XCTAssertEqual(buffer, Array("bcd".utf8))
    XCTAssertEqual(version, 2)
    var total: UInt64 = 7
    ok(svk_subscription_dropped(subscription, &total))
    XCTAssertEqual(total, 0)
    ok(svk_service_close(service))
    XCTAssertEqual(state.text, "a", "a snapshot outlives its service")
    ok(svk_snapshot_release(snapshot))
    ok(svk_stream_destroy(stream))
  }

  func testADispatchRunsCallbacksHere() throws {
    let dispatcher: Word = try made { svk_dispatcher_create($0) }
    let (stream, service) = try makeSource()
    let listener = Listener()
    var options = listener.observer(SVK_DELIVER_DISPATCHER, dispatcher: dispatcher)
    let subscription: Word = try made { svk_service_observe(service, &options, $0) }
    XCTAssertEqual(send(stream, "a"), SVK_OK)
    XCTAssertEqual(listener.states.value, [])
    var count = 7
    ok(svk_dispatcher_dispatch(dispatcher, 0, 0, &count))
    XCTAssertEqual(count, 1)
    XCTAssertEqual(listener.states.value, ["1:a"])
    XCTAssertEqual(svk_dispatcher_dispatch(dispatcher, 0, 0, &count), SVK_TIMEOUT)
    XCTAssertEqual(count, 0)
    ok(svk_dispatcher_wake(dispatcher))
    ok(svk_dispatcher_dispatch(dispatcher, 0, -1, &count))
    XCTAssertEqual(count, 0)
    XCTAssertGreaterThanOrEqual(svk_dispatcher_fd(dispatcher), 0)
    ok(svk_dispatcher_destroy(dispatcher))
    XCTAssertEqual(listener.frees.value, 1)
    XCTAssertEqual(svk_subscription_cancel(subscription), SVK_INVALID_HANDLE)
    ok(svk_service_close(service))
    ok(svk_stream_destroy(stream))
  }

  func testTheWorkerDelivers() throws {
    let (stream, service) = try makeSource()
    let listener = Listener()
    var options = listener.observer(SVK_DELIVER_BACKGROUND)
    let subscription: Word = try made { svk_service_observe(service, &options, $0) }
    for number in 0..<100 { XCTAssertEqual(send(stream, "\(number)"), SVK_OK) }
    ok(svk_stream_finish(stream))
    let end = DispatchTime.now() + 30
    while listener.finishes.value == 0, DispatchTime.now() < end { sched_yield() }
    XCTAssertEqual(listener.states.value, (0..<100).map { "\($0 + 1):\($0)" })
    ok(svk_subscription_cancel(subscription))
    XCTAssertEqual(listener.frees.value, 1)
    ok(svk_service_close(service))
    ok(svk_stream_destroy(stream))
  }

  func testAVoidStreamNeverChanges() throws {
    let void: Word = try made { svk_stream_void($0) }
    XCTAssertEqual(send(void, "a"), SVK_CLOSED)
    XCTAssertEqual(svk_stream_finish(void), SVK_CLOSED)
    for stream in [void, nil] as [Word?] {
      let listener = Listener()
      var options = svk_service_options.defaults
      options.stream = stream
      options.api = UnsafeRawPointer(bitPattern: 0x400)
      options.on_state = Listener.onState
      options.on_finish = Listener.onFinish
      options.user_data = listener.pointer
      options.user_data_free = UserData.free
      let service: Word = try made { svk_service_create(&options, $0) }
      XCTAssertEqual(svk_service_api(service), UnsafeRawPointer(bitPattern: 0x400))
      XCTAssertEqual(svk_service_wait(service, 0, -1, nil), SVK_CLOSED)
      XCTAssertEqual(listener.finishes.value, 1)
      ok(svk_service_close(service))
      XCTAssertEqual(listener.frees.value, 1)
    }
    ok(svk_stream_destroy(void))
  }

  func testStartIsCalledOnceWhenAServiceAttaches() throws {
    final class Producer: UserData {
      let starts = Shared<[Word]>([])
    }
    let producer = Producer()
    var options = svk_stream_options.defaults
    options.start = { stream, producer in
      UserData.of(producer, Producer.self).starts.change { $0.append(stream!) }
      _ = send(stream, "from start")
    }
    options.user_data = producer.pointer
    options.user_data_free = UserData.free
    let stream: Word = try made { svk_stream_create(&options, $0) }
    XCTAssertEqual(producer.starts.value, [])
    var service = svk_service_options.defaults
    service.stream = stream
    let first: Word = try made { svk_service_create(&service, $0) }
    XCTAssertEqual(producer.starts.value, [stream])
    XCTAssertEqual(read(first).text, "from start")
    let (status, second): (svk_status, Word?) = out { svk_service_create(&service, $0) }
    XCTAssertEqual(status, SVK_ALREADY_EXISTS)
    XCTAssertNil(second)
    XCTAssertEqual(producer.starts.value.count, 1)
    ok(svk_stream_destroy(stream))
    XCTAssertEqual(producer.frees.value, 1)
    ok(svk_service_close(first))
  }

  func testABlockSentIsFreedOnceWhateverTheAnswer() throws {
    func sendOwned(_ stream: Word?, _ frees: Tally, size: Int) -> svk_status {
      // The tally's own address stands for a block: nobody looks into it.
      svk_stream_send_owned(stream, Unmanaged.passUnretained(frees).toOpaque(), size) {
        Unmanaged<Tally>.fromOpaque($0!).takeUnretainedValue().add()
      }
    }
    let (stream, service) = try makeSource()
    let frees = (0..<4).map { _ in Tally() }
    XCTAssertEqual(sendOwned(stream, frees[0], size: 8), SVK_OK)
    XCTAssertEqual(sendOwned(stream, frees[1], size: 8), SVK_OK)
    XCTAssertEqual(frees[0].value, 1)
    ok(svk_service_close(service))
    XCTAssertEqual(sendOwned(stream, frees[2], size: 8), SVK_CLOSED)
    XCTAssertEqual(frees[2].value, 1)
    XCTAssertEqual(sendOwned(stream, frees[3], size: -1), SVK_INVALID_ARGUMENT)
    XCTAssertEqual(frees[3].value, 1)
    ok(svk_stream_destroy(stream))
    XCTAssertEqual(frees.map { $0.value }, [1, 1, 1, 1])
  }
}
