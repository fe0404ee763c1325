import CServiceKit
import ServiceKitCore

extension StatefulService {
  /// A C `svk_service *` that follows this service: its states are the bytes that `encoding` makes of each state here.
  ///
  /// C reads, observes and waits as with any other service; versions count from the export on, beginning with 0 for the
  /// state that is current now. `encoding` runs where this service applies its states, once for each. A state for which
  /// it gives nil is left out, with a warning to the log function, and C goes on with the one before; so the first one,
  /// if it is that, is no bytes at all.
  ///
  /// When this service ends, by its stream's end, by ``close()`` or because nobody holds it any more, C sees the end of
  /// the exported service, after the last state. The export keeps this service alive no more than ``states`` does.
  ///
  /// - Returns: A service of its own at each call. Whoever gets it closes it with `svk_service_close`, also after the
  ///   end; to close it earlier ends the export. It can be registered with a container, as any `svk_service *`.
  public func exportedService(encoding: @escaping @Sendable (State) -> [UInt8]?) -> OpaquePointer {
    ServiceExport.make(engine, encoding)
  }
}

extension StatefulService where State == [UInt8] {
  /// A C `svk_service *` with the same states: see ``exportedService(encoding:)``.
  public func exportedService() -> OpaquePointer { exportedService { $0 } }
}

/// Passes the states of a Swift service on to a service for C. It lasts as long as the subscription that calls it.
private final class ServiceExport<State: Sendable>: StateReceiver {
  private let stream = ServiceKitCore.Stream.make(policy: BufferPolicy(unbounded: ()))
  private let encoding: @Sendable (State) -> [UInt8]?
  /// The first state, until it has been taken.
  private var initial: ServiceKitCore.State?
  private var hasInitial = false
  private let lock = Lock()
  // Guarded by `lock`.
  private var subscription = Token(word: 0)

  private init(_ encoding: @escaping @Sendable (State) -> [UInt8]?) { self.encoding = encoding }

  deinit { initial?.release() }

  static func make(_ service: Service, _ encoding: @escaping @Sendable (State) -> [UInt8]?) -> OpaquePointer {
    let export = ServiceExport(encoding)
    export.observe(service)
    var options = Service.Options()
    options.stream = export.stream
    options.initialState = export.takeInitial()
    var token = Token(word: 0)
    do throws(Failure) {
      try Service.create(options, .onSenders, .none) { token = $0 }
    } catch {
      preconditionFailure("a new stream takes a service")
    }
    guard let pointer = OpaquePointer(bitPattern: token.word) else { preconditionFailure("a service has a token") }
    return pointer
  }

  private func observe(_ service: Service) {
    do throws(Failure) {
      try attach { callbacks throws(Failure) in
        let observation = Service.Observation(
          delivery: .onSenders, policy: BufferPolicy(unbounded: ()), callbacks: callbacks, beginsWithCurrent: true)
        try service.observe(observation) { token in lock.withLock { subscription = token } }
      }
    } catch {
      stream.finishIfOpen()
    }
    // An open service has given its state by now.
    if !hasInitial { initial = encode(service.holdCurrent().take(State.self)) }
  }

  private func takeInitial() -> ServiceKitCore.State {
    defer { initial = nil }
    return initial ?? ServiceKitCore.State.copy([])
  }

  override func receive(_ state: svk_state) {
    let encoded = encode(state.data.unsafelyUnwrapped.readState(State.self))
    guard hasInitial else {
      hasInitial = true
      initial = encoded
      return
    }
    guard let encoded, stream.send(encoded) == .closed else { return }
    // C has closed its service.
    let token = lock.withLock { subscription }
    _ = TokenTable.take(token, .subscription, Subscription.self)?.cancel(mayWait: false)
  }

  override func finish() { stream.finishIfOpen() }
  override func wasReleased() { stream.finishIfOpen() }

  private func encode(_ state: State) -> ServiceKitCore.State? {
    if let bytes = encoding(state) { return ServiceKitCore.State.copy(bytes) }
    Log.warn("a state of a Swift service could not be encoded, and is left out for C")
    return nil
  }
}

extension ServiceKitCore.State {
  fileprivate static func copy(_ bytes: [UInt8]) -> ServiceKitCore.State {
    let state = make(bytes.count, destroy: nil)
    if let data = state.data {
      bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: data, count: $0.count).copyMemory(from: $0) }
    }
    return state
  }
}
