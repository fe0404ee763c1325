import CServiceKit
import Observation
import ServiceKitCore
import Synchronization

/// What is now, and what can be done about it: a state that changes, and the functions of `API` that make it change.
///
/// ```swift
/// let (stream, api) = makeLivePlayer()
/// let player = StatefulService(state: PlayerState.stopped, stream: stream, api: api)
/// player.api.play(song)
/// for await state in player.states { show(state) }
/// ```
///
/// States come through a ``StateStream``, whose senders alone can change or end anything. One at a time, in the order
/// in which they were sent, a state is stored as ``state``, then `Observation` is told, then `onStateChange` is called
/// with it, and then it goes to each of ``states``'s iterators.
///
/// Without an isolation that happens on the sender's thread, before `send` returns. With one it happens on that actor,
/// and `send` returns at once; reading ``state`` is safe on any thread in both cases.
///
/// The service works as long as somebody holds it. Dropping the last reference does what ``close()`` does, whether the
/// stream has ended or not, and also from inside `onStateChange`.
public final class StatefulService<State: Sendable, API> {
  /// What the service can be asked to do.
  public let api: API

  let engine: Service
  private let observation: StateObservation
  private let receiver: ServiceReceiver<State>
  /// Where the states come from, when not from Swift.
  private let source: ForeignSource?

  /// A service that begins with `state` and takes its states from `stream`.
  ///
  /// A stream has one service. Another one for the same stream is a fault of the program, reported through
  /// ``ServiceFailure``; if the handler returns, that service is finished from the start, and the first goes on.
  ///
  /// - Parameters:
  ///   - stream: The service keeps only its reading half: when all senders are gone, the stream ends.
  ///   - isolation: Where states are stored and `onStateChange` is called, the main actor for example. Not kept alive.
  ///   - onStateChange: Called once for each state after the first, never twice at the same time, and with no lock held.
  ///     What it sends is applied after it has returned. Where it needs the service, it should capture it weakly.
  ///   - file: Where the service is made, for the report.
  ///   - line: The line there.
  public convenience init(
    state: State, stream: StateStream<State>, api: API, isolation: (any Actor)? = nil,
    onStateChange: (@Sendable (State) -> Void)? = nil, file: StaticString = #fileID, line: UInt = #line
  ) {
    self.init(
      state: state, stream: stream, api: api, isolation: isolation, onStateChange: onStateChange, source: nil,
      file: file, line: line)
  }

  init(
    state: State, stream: StateStream<State>, api: API, isolation: (any Actor)?,
    onStateChange: (@Sendable (State) -> Void)?, source: ForeignSource?, file: StaticString, line: UInt
  ) {
    self.api = api
    self.source = source
    observation = StateObservation()
    receiver = ServiceReceiver(observation, onStateChange)
    let sender = stream.sender
    if let sender, let attached = receiver.makeService(state, sender.stream, isolation) {
      engine = attached
      return
    }
    if sender != nil {
      let type = StatefulService.self
      ServiceFailure.report(
        """
        This stream has, or had, a service already, so \(type) cannot be its service, too: its states would be \
        split between them. Observe the first one through `states`, or make a stream of its own.
        """, file: file, line: line)
    }
    engine = receiver.makeFinishedService(state)
  }

  deinit { end() }

  /// What it is now: the last state that was applied, also after the end. Safe on any thread.
  ///
  /// `Observation` is told right after each change, on the thread or actor where states are applied. Whoever tracks the
  /// state on another thread can miss a change between reading and tracking, as with any observable object: give the
  /// service that isolation, or follow ``states``, which miss nothing.
  public var state: State {
    observation.stateIsRead()
    return engine.holdCurrent().take(State.self)
  }

  /// How many states had been taken when ``state`` was sent, itself included: 0 for the first one. States that a buffer
  /// lost leave a gap.
  public var version: UInt64 {
    observation.stateIsRead()
    return engine.version
  }

  /// Whether no other state comes: the stream's end has come here, or the service was closed.
  public var isFinished: Bool {
    observation.endIsRead()
    return engine.isOver
  }

  /// Every state from now on, beginning with the current one, for each iterator anew. They end with the service, after
  /// what was applied, and keep no service alive.
  public var states: States { States(engine) }

  /// Ends the service: when this returns, no `onStateChange` runs or will run. What was sent and not applied is lost,
  /// ``state`` stays as it is, and sending answers `closed`.
  ///
  /// Waits for an `onStateChange` that another thread is in the middle of, so the caller must hold no lock which that
  /// one wants; but never waits from inside a callback of this library. May be called more than once.
  public func close() {
    let wasOver = engine.isOver
    if end(), !wasOver { observation.endHasCome() }
  }

  /// True for the first call.
  @discardableResult
  private func end() -> Bool {
    receiver.isClosed.store(true, ordering: .releasing)
    let isFirst = TokenTable.withdraw(engine.token, .service)
    _ = engine.close()
    source?.cancel()
    return isFirst
  }
}

extension StatefulService: Observable {}
extension StatefulService: @unchecked Sendable where API: Sendable {}

/// What a service does with each state, besides storing it.
final class ServiceReceiver<State: Sendable>: StateReceiver {
  /// Also looked at between the two calls that a state leads to: the first may close the service.
  let isClosed = Atomic<Bool>(false)
  private let observation: StateObservation
  private let onStateChange: (@Sendable (State) -> Void)?

  init(_ observation: StateObservation, _ onStateChange: (@Sendable (State) -> Void)?) {
    self.observation = observation
    self.onStateChange = onStateChange
  }

  override func receive(_ state: svk_state) {
    observation.stateHasChanged()
    guard let onStateChange, !isClosed.load(ordering: .acquiring) else { return }
    onStateChange(state.data.unsafelyUnwrapped.readState(State.self))
  }

  override func finish() { observation.endHasCome() }

  /// Nil when the stream has a service already.
  func makeService(_ state: State, _ stream: ServiceKitCore.Stream?, _ isolation: (any Actor)?) -> Service? {
    var options = Service.Options()
    options.initialState = StateLayout().make(state)
    options.stream = stream
    let delivery = isolation.map { Service.Delivery.host(IsolatedDelivery.executor(on: $0)) } ?? .onSenders
    var made: Service?
    do throws(Failure) {
      try attach { callbacks throws(Failure) in
        try Service.create(options, delivery, callbacks) { token in
          made = TokenTable.object(token, .service, Service.self)
        }
      }
    } catch {
      return nil
    }
    return made
  }

  func makeFinishedService(_ state: State) -> Service {
    guard let service = makeService(state, nil, nil) else { preconditionFailure("a void stream takes any service") }
    return service
  }
}
