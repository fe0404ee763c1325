import CServiceKit
import ServiceKitCore

extension StatefulService {
  /// A service that follows a C `svk_service *`: its states are what `decoding` makes of each state there, beginning
  /// with the current one.
  ///
  /// `decoding` runs where the C service calls its observers inline, usually on the thread that sends; its bytes are
  /// valid until it returns. A state for which it gives nil is left out, with a warning to the log function. With an
  /// `isolation`, the decoded states are applied there. ``version`` counts the decoded states, from 0 for the first.
  ///
  /// This service ends with the C one: after its stream's end, or when it is closed. It does not keep that one open, nor
  /// does its own end close it. What C offers as `svk_service_api` is for the caller to wrap in `api`.
  ///
  /// Nil when `cService` is no service, or no longer, or when its current state cannot be decoded.
  public convenience init?(
    cService: OpaquePointer, api: API, isolation: (any Actor)? = nil,
    decoding: @escaping @Sendable (UnsafeRawBufferPointer) -> State?, onStateChange: (@Sendable (State) -> Void)? = nil
  ) {
    guard
      let service = TokenTable.object(Token(word: UInt(bitPattern: cService)), .service, Service.self),
      let imported = ServiceImport.make(service, decoding)
    else { return nil }
    self.init(
      state: imported.initial, stream: imported.stream, api: api, isolation: isolation, onStateChange: onStateChange,
      source: imported.source, file: #fileID, line: #line)
  }
}

extension StatefulService where State == [UInt8] {
  /// A service with the states of a C `svk_service *` as they are.
  public convenience init?(
    cService: OpaquePointer, api: API, isolation: (any Actor)? = nil,
    onStateChange: (@Sendable ([UInt8]) -> Void)? = nil
  ) {
    self.init(
      cService: cService, api: api, isolation: isolation, decoding: { [UInt8]($0) }, onStateChange: onStateChange)
  }
}

/// Passes the states of a C service on to a Swift stream. It lasts as long as the subscription that calls it, and is the
/// stream's only sender.
private final class ServiceImport<State: Sendable>: StateReceiver {
  private var stream: StateStream<State>?
  private let decoding: @Sendable (UnsafeRawBufferPointer) -> State?
  /// The first state, until it has been taken.
  private var initial: State?
  private var hasInitial = false

  private init(_ stream: StateStream<State>, _ decoding: @escaping @Sendable (UnsafeRawBufferPointer) -> State?) {
    self.stream = stream
    self.decoding = decoding
  }

  struct Imported {
    let initial: State
    let stream: StateStream<State>
    let source: ForeignSource
  }

  static func make(
    _ service: Service, _ decoding: @escaping @Sendable (UnsafeRawBufferPointer) -> State?
  ) -> Imported? {
    let stream = StateStream<State>()
    let receiver = ServiceImport(stream, decoding)
    var token = Token(word: 0)
    do throws(Failure) {
      try receiver.attach { callbacks throws(Failure) in
        let observation = Service.Observation(
          delivery: .onSenders, policy: BufferPolicy(unbounded: ()), callbacks: callbacks, beginsWithCurrent: true)
        try service.observe(observation) { token = $0 }
      }
    } catch {
      return nil
    }
    let source = ForeignSource(token)
    // It came before `observe` returned, unless the service was closed meanwhile.
    guard let initial = receiver.initial else { return nil }
    return Imported(initial: initial, stream: stream, source: source)
  }

  override func receive(_ state: svk_state) {
    let decoded = decoding(UnsafeRawBufferPointer(start: state.data, count: state.size))
    guard hasInitial else {
      hasInitial = true
      initial = decoded
      return
    }
    if let decoded {
      stream?.send(decoded)
    } else {
      Log.warn("a state of a C service could not be decoded, and is left out for Swift")
    }
  }

  override func finish() { stream?.finish() }
  override func wasReleased() { stream = nil }
}
