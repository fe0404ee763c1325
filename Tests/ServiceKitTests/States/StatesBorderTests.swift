import CServiceKit
import Foundation
import ServiceKit
import ServiceKitABI
import XCTest

/// Swift's services as C sees them, and C's as Swift does.
final class StatesBorderTests: XCTestCase {
  // MARK: - From Swift to C

  func testCReadsTheBytesOfASwiftService() {
    let stream = StateStream<[UInt8]>()
    let service = StatefulService(state: Array("first".utf8), stream: stream, api: ())
    let exported = service.exportedService()
    XCTAssertEqual(CText.read(exported), "first @0")
    stream.send(Array("second".utf8))
    stream.send([])
    stream.send(Array("a much longer state that needs more room than the others".utf8))
    XCTAssertEqual(CText.read(exported), "a much longer state that needs more room than the others @3")
    XCTAssertEqual(svk_service_close(exported), SVK_OK)
    XCTAssertEqual(svk_service_close(exported), SVK_INVALID_HANDLE)
    XCTAssertEqual(stream.send(Array("third".utf8)), .taken)
    XCTAssertEqual(service.state, Array("third".utf8))
  }

  func testCObservesAServiceWhoseStatesAreEncoded() throws {
    struct Weather: Codable, Sendable { var degrees: Int }
    let stream = StateStream<Weather>()
    let service = StatefulService(state: Weather(degrees: 1), stream: stream, api: ())
    let exported = service.exportedService(encoder: JSONEncoder())
    let watcher = CWatcher()
    let subscription = try watcher.observe(exported)
    stream.send(Weather(degrees: 2))
    stream.send(Weather(degrees: 3))
    XCTAssertEqual(watcher.log.entries, [#"{"degrees":1}"#, #"{"degrees":2}"#, #"{"degrees":3}"#])
    XCTAssertEqual(svk_subscription_cancel(subscription), SVK_OK)
    stream.send(Weather(degrees: 4))
    XCTAssertEqual(watcher.log.count, 3)
    XCTAssertEqual(CText.read(exported), #"{"degrees":4} @3"#)
    XCTAssertEqual(svk_service_close(exported), SVK_OK)
  }

  func testTheExportEndsWithTheStreamWithACloseAndWithTheService() throws {
    let streams = (0..<3).map { _ in StateStream<[UInt8]>() }
    var services: [StatefulService<[UInt8], Void>] = streams.map {
      StatefulService(state: [65], stream: $0, api: ())
    }
    let exported = services.map { $0.exportedService() }
    let watchers = try exported.map { service in
      let watcher = CWatcher()
      _ = try watcher.observe(service)
      return watcher
    }
    for stream in streams { stream.send([66]) }
    streams[0].finish()
    services[1].close()
    XCTAssertEqual(watchers.map(\.finishes.count), [1, 1, 0])
    services = []
    XCTAssertEqual(watchers.map(\.finishes.count), [1, 1, 1])
    for (service, watcher) in zip(exported, watchers) {
      XCTAssertEqual(watcher.log.entries, ["A", "B"])
      XCTAssertEqual(CText.read(service), "B @1", "the last state stays")
      XCTAssertEqual(svk_service_wait(service, 1, 0, nil), SVK_CLOSED)
      XCTAssertEqual(svk_service_close(service), SVK_OK)
      XCTAssertEqual(watcher.frees.count, 1)
    }
    withExtendedLifetime(streams) {}
  }

  func testAClosedServiceCanStillBeExported() {
    let service = StatefulService(state: [UInt8(67)], stream: StateStream(), api: ())
    service.close()
    let exported = service.exportedService()
    XCTAssertEqual(CText.read(exported), "C @0")
    XCTAssertEqual(svk_service_wait(exported, 0, 0, nil), SVK_CLOSED)
    XCTAssertEqual(svk_service_close(exported), SVK_OK)
  }

  func testAnExportKeepsNothingAliveAndIsLetGoWhenCClosesIt() {
    let census = StateCounted.Census()
    let stream = StateStream<Int>()
    var service: StatefulService? = StatefulService(state: 0, stream: stream, api: StateCounted(1, census))
    func export() -> OpaquePointer {
      let captured = StateCounted(2, census)
      return service!.exportedService { state in
        withExtendedLifetime(captured) { Array("\(state)".utf8) }
      }
    }
    let (first, second) = (export(), export())
    XCTAssertEqual(census.living, 3)
    XCTAssertEqual(svk_service_close(first), SVK_OK)
    stream.send(1)
    XCTAssertEqual(census.living, 2, "the next state finds that nobody wants it")
    service = nil
    XCTAssertEqual(census.living, 0)
    XCTAssertEqual(CText.read(second), "1 @1")
    XCTAssertEqual(svk_service_close(second), SVK_OK)
  }

  func testAStateThatCannotBeEncodedIsLeftOut() {
    let stream = StateStream<Int>()
    let service = StatefulService(state: -1, stream: stream, api: ())
    let exported = service.exportedService { $0 < 0 ? nil : Array("\($0)".utf8) }
    XCTAssertEqual(CText.read(exported), " @0")
    let heard = CLog.collecting {
      stream.send(5)
      stream.send(-2)
    }
    XCTAssertEqual(heard.count, 1)
    XCTAssertEqual(CText.read(exported), "5 @1")
    XCTAssertEqual(service.state, -2)
    XCTAssertEqual(svk_service_close(exported), SVK_OK)
  }

  // MARK: - From C to Swift

  func testSwiftFollowsAServiceOfC() async throws {
    let source = try CSource("first")
    let service = try XCTUnwrap(StatefulService(cService: source.service, api: "api"))
    XCTAssertEqual(service.state, Array("first".utf8))
    var iterator = service.states.makeAsyncIterator()
    source.send("second")
    source.send("")
    XCTAssertEqual(service.state, [])
    XCTAssertEqual(service.version, 2)
    XCTAssertFalse(service.isFinished)
    XCTAssertEqual(svk_stream_finish(source.stream), SVK_OK)
    XCTAssertTrue(service.isFinished)
    var seen: [String] = []
    while let state = await iterator.next() { seen.append(String(decoding: state, as: UTF8.self)) }
    XCTAssertEqual(seen, ["first", "second", ""])
    source.end()
  }

  @MainActor
  func testSwiftFollowsAServiceOfCOnAnActor() async throws {
    struct Weather: Codable, Sendable { var degrees: Int }
    let source = try CSource(#"{"degrees":1}"#)
    let log = StateLog<Int>()
    let service = try XCTUnwrap(
      StatefulService<Weather, Void>(
        cService: source.service, api: (), isolation: MainActor.shared, decoder: JSONDecoder()
      ) { state in
        MainActor.assumeIsolated { log.add(state.degrees) }
      })
    XCTAssertEqual(service.state.degrees, 1)
    source.send(#"{"degrees":2}"#)
    source.send("this is no JSON")
    source.send(#"{"degrees":3}"#)
    XCTAssertEqual(service.state.degrees, 1)
    await service.settled()
    XCTAssertEqual(log.entries, [2, 3])
    XCTAssertEqual(service.state.degrees, 3)
    source.end()
    await service.settled()
    XCTAssertTrue(service.isFinished)
  }

  func testAClosedServiceOfCEndsItsFollower() throws {
    let source = try CSource("a")
    let service = try XCTUnwrap(StatefulService(cService: source.service, api: ()))
    XCTAssertEqual(svk_service_close(source.service), SVK_OK)
    XCTAssertTrue(service.isFinished)
    XCTAssertEqual(service.state, Array("a".utf8))
    XCTAssertNil(StatefulService(cService: source.service, api: ()))
    XCTAssertEqual(svk_stream_destroy(source.stream), SVK_OK)
  }

  func testTheFollowersEndLeavesTheServiceOfCAlone() throws {
    let census = StateCounted.Census()
    let source = try CSource("a")
    func follow() -> StatefulService<Int, Void>? {
      let captured = StateCounted(1, census)
      return StatefulService(
        cService: source.service, api: (), decoding: { bytes in withExtendedLifetime(captured) { bytes.count } })
    }
    var (first, second) = (follow(), follow())
    source.send("abc")
    XCTAssertEqual([first?.state, second?.state], [3, 3])
    XCTAssertEqual(census.living, 2)
    first?.close()
    XCTAssertEqual(census.living, 1)
    source.send("abcd")
    XCTAssertEqual([first?.state, second?.state], [3, 4])
    (first, second) = (nil, nil)
    XCTAssertEqual(census.living, 0)
    source.send("abcde")
    XCTAssertEqual(CText.read(source.service), "abcde @3")
    source.end()
  }

  func testWhatIsNoServiceAndWhatCannotBeDecodedGiveNil() throws {
    let source = try CSource("a")
    XCTAssertNil(StatefulService(cService: source.stream, api: ()))
    XCTAssertNil(StatefulService(cService: OpaquePointer(bitPattern: 1)!, api: ()))
    XCTAssertNil(StatefulService<Int, Void>(cService: source.service, api: (), decoding: { _ in nil }))
    XCTAssertNil(StatefulService<Int, Void>(cService: source.service, api: (), decoder: JSONDecoder()))
    source.end()
  }

  // MARK: - There and back, and storms

  func testStatesGoThereAndBack() throws {
    let stream = StateStream<[UInt8]>()
    let here = StatefulService(state: [65], stream: stream, api: ())
    let exported = here.exportedService()
    let back = try XCTUnwrap(StatefulService(cService: exported, api: ()))
    stream.send([66])
    XCTAssertEqual(back.state, [66])
    stream.finish()
    XCTAssertTrue(back.isFinished)
    XCTAssertEqual(svk_service_close(exported), SVK_OK)
  }

  func testBordersThatOpenAndCloseWhileManySend() throws {
    for _ in stateRounds(100) {
      let stream = StateStream<[UInt8]>()
      let box = StateBox<StatefulService<[UInt8], Void>?>(StatefulService(state: [0], stream: stream, api: ()))
      nonisolated(unsafe) let exported = box.value!.exportedService()
      let followers = (0..<2).map { _ in StateBox(StatefulService(cService: exported, api: ())) }
      let barrier = StateBarrier(4)
      onStateThreads(4) { thread in
        barrier.wait()
        switch thread {
        case 0, 1: for number in 1...50 { stream.send([UInt8(number)]) }
        case 2:
          followers[0].value = nil
          XCTAssertEqual(svk_service_close(exported), SVK_OK)
        default: box.value = nil
        }
      }
      XCTAssertEqual(followers[1].value?.isFinished, true)
      XCTAssertEqual(stream.send([1]), .closed)
    }
  }
}

/// What C reads.
private enum CText {
  static func read(_ service: OpaquePointer) -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    var (size, version) = (0, UInt64(0))
    let status = svk_service_read(service, &bytes, bytes.count, &size, &version)
    return status == SVK_OK ? "\(String(decoding: bytes.prefix(size), as: UTF8.self)) @\(version)" : "\(status)"
  }
}

/// An observer as C makes one.
private final class CWatcher: Sendable {
  let log = StateLog<String>()
  let finishes = StateLog<Void>()
  let frees = StateLog<Void>()

  func observe(_ service: OpaquePointer) throws -> OpaquePointer {
    var options = svk_observer_options()
    options.size = UInt32(MemoryLayout<svk_observer_options>.size)
    options.flags = UInt32(SVK_OBSERVE_CURRENT)
    options.on_state = { state, watcher in
      let state = state!.pointee
      let bytes = UnsafeRawBufferPointer(start: state.data, count: state.size)
      CWatcher.of(watcher).log.add(String(decoding: bytes, as: UTF8.self))
    }
    options.on_finish = { CWatcher.of($0).finishes.add(()) }
    options.user_data = Unmanaged.passRetained(self).toOpaque()
    options.user_data_free = {
      CWatcher.of($0).frees.add(())
      Unmanaged<CWatcher>.fromOpaque($0!).release()
    }
    var subscription: OpaquePointer?
    XCTAssertEqual(svk_service_observe(service, &options, &subscription), SVK_OK)
    return try XCTUnwrap(subscription)
  }

  private static func of(_ pointer: UnsafeMutableRawPointer?) -> CWatcher {
    Unmanaged<CWatcher>.fromOpaque(pointer!).takeUnretainedValue()
  }
}

/// A stream and a service as C makes them.
private struct CSource {
  let stream: OpaquePointer
  let service: OpaquePointer

  init(_ initial: String) throws {
    var (stream, service): (OpaquePointer?, OpaquePointer?) = (nil, nil)
    XCTAssertEqual(svk_stream_create(nil, &stream), SVK_OK)
    let bytes = Array(initial.utf8)
    let status = bytes.withUnsafeBytes { bytes in
      var options = svk_service_options()
      options.size = UInt32(MemoryLayout<svk_service_options>.size)
      options.stream = stream
      options.initial = bytes.baseAddress
      options.initial_size = bytes.count
      return svk_service_create(&options, &service)
    }
    XCTAssertEqual(status, SVK_OK)
    self.stream = try XCTUnwrap(stream)
    self.service = try XCTUnwrap(service)
  }

  func send(_ text: String) {
    let bytes = Array(text.utf8)
    XCTAssertEqual(svk_stream_send(stream, bytes, bytes.count), SVK_OK)
  }

  func end() {
    XCTAssertEqual(svk_stream_destroy(stream), SVK_OK)
    XCTAssertEqual(svk_service_close(service), SVK_OK)
  }
}

/// The library's log function.
private enum CLog {
  static func collecting(_ body: () -> Void) -> [String] {
    let heard = StateLog<String>()
    let pointer = Unmanaged.passRetained(heard).toOpaque()
    let status = svk_set_log(
      { _, message, heard in
        Unmanaged<StateLog<String>>.fromOpaque(heard!).takeUnretainedValue().add(String(cString: message!))
      }, SVK_LOG_WARNING, pointer, { Unmanaged<StateLog<String>>.fromOpaque($0!).release() })
    XCTAssertEqual(status, SVK_OK)
    body()
    XCTAssertEqual(svk_set_log(nil, 0, nil, nil), SVK_OK)
    return heard.entries
  }
}
