import CServiceKit
import XCTest

@testable import ServiceKitCore

/// Callbacks that write down what they are told.
final class Watcher: @unchecked Sendable {
  let states = Shared<[String]>([])
  let versions = Shared<[UInt64]>([])
  let dropped = Tally()
  let finishes = Tally()
  let frees = Tally()
  /// Callbacks that ran beside another one, or after the user data was freed.
  let wrongCalls = Tally()
  private let inside = Tally()
  private let onState: ((svk_state) -> Void)?

  init(_ onState: ((svk_state) -> Void)? = nil) { self.onState = onState }

  var callbacks: Callbacks {
    Callbacks(
      onState: { state, watcher in Watcher.of(watcher).receive(state!.pointee) },
      onFinish: { watcher in Watcher.of(watcher).call { Watcher.of(watcher).finishes.add() } },
      userData: Unmanaged.passRetained(self).toOpaque(),
      userDataFree: { watcher in
        if Watcher.of(watcher).inside.value > 0 { Watcher.of(watcher).wrongCalls.add() }
        Watcher.of(watcher).frees.add()
        Unmanaged<Watcher>.fromOpaque(watcher!).release()
      })
  }

  private static func of(_ pointer: UnsafeMutableRawPointer?) -> Watcher {
    Unmanaged<Watcher>.fromOpaque(pointer!).takeUnretainedValue()
  }

  private func receive(_ state: svk_state) {
    call {
      let text = state.text
      states.change { $0.append(text) }
      versions.change { $0.append(state.version) }
      dropped.add(Int(state.dropped))
      onState?(state)
    }
  }

  private func call(_ body: () -> Void) {
    if inside.add() > 1 || frees.value > 0 { wrongCalls.add() }
    body()
    inside.add(-1)
  }
}

/// A stream with its service.
final class Source: @unchecked Sendable {
  let streamToken: Token
  let stream: ServiceKitCore.Stream
  private(set) var serviceToken = Token(word: 0)
  private(set) var service: Service! = nil
  let watcher: Watcher

  init(
    _ policy: BufferPolicy = .unbounded, initial: String = "initial", _ delivery: Service.Delivery = .onSenders,
    skipsEqual: Bool = false, watcher: Watcher = Watcher()
  ) throws {
    self.watcher = watcher
    streamToken = ServiceKitCore.Stream.create(policy: policy, start: nil, userData: nil, userDataFree: nil)
    stream = try XCTUnwrap(TokenTable.object(streamToken, .stream, ServiceKitCore.Stream.self))
    let bytes = owned(initial)
    var options = Service.Options()
    options.stream = stream
    options.initial = bytes.view.start
    options.initialSize = bytes.count
    options.skipsEqual = skipsEqual
    var token = Token(word: 0)
    try Service.create(options, delivery, watcher.callbacks) { token = $0 }
    withExtendedLifetime(bytes) {}
    serviceToken = token
    service = try XCTUnwrap(TokenTable.object(token, .service, Service.self))
  }

  @discardableResult
  func send(_ text: String, timeout: Int64 = -1) -> Int32 {
    var isStream = false
    let result = status { () throws(Failure) in
      let bytes = owned(text)
      isStream = try ServiceKitCore.Stream.send(
        streamToken, copying: bytes.view.start, bytes.count, timeout: timeout)
      withExtendedLifetime(bytes) {}
    }
    return result == SVK_OK && !isStream ? SVK_INVALID_HANDLE : result
  }

  func observe(
    _ watcher: Watcher, _ delivery: Service.Delivery = .onSenders, _ policy: BufferPolicy = .unbounded,
    beginsWithCurrent: Bool = false
  ) throws -> Subscription {
    var token = Token(word: 0)
    try service.observe(
      Service.Observation(
        delivery: delivery, policy: policy, callbacks: watcher.callbacks, beginsWithCurrent: beginsWithCurrent)
    ) { token = $0 }
    // Where the service is closed at the same time, the subscription may have ended already.
    guard let subscription = TokenTable.object(token, .subscription, Subscription.self) else { throw HasEnded() }
    return subscription
  }

  struct HasEnded: Error {}

  /// The current state.
  func read() -> (text: String, version: UInt64) {
    let (token, state) = service.acquire()
    defer { _ = Snapshot.release(token) }
    return (state.text, state.version)
  }

  @discardableResult
  func close() -> Int32 {
    guard TokenTable.withdraw(serviceToken, .service) else { return SVK_INVALID_HANDLE }
    return service.close()
  }

  func destroy() {
    if TokenTable.withdraw(streamToken, .stream) { stream.destroy() }
    close()
  }
}

extension Subscription {
  /// As the program cancels it.
  @discardableResult
  func cancel(file: StaticString = #filePath, line: UInt = #line) -> Int32 {
    XCTAssertTrue(TokenTable.withdraw(token, .subscription), file: file, line: line)
    return cancel(mayWait: true)
  }
}
