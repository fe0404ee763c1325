import ServiceKitCore

/// The right to publish the states of one ``StatefulService``. Whoever holds only the service can read, and neither
/// send nor end anything.
///
/// Every copy of a stream, and every ``Continuation``, sends to the same service, from any thread. When the last of
/// them is gone, the stream ends as if ``finish()`` had been called.
///
/// States that are sent before a service is made are kept, as `buffering` says, and are its first ones.
public struct StateStream<State: Sendable>: Sendable {
  /// What happens to states that are sent faster than the service applies them. A state that can be applied at once is
  /// in no buffer. A capacity below 1 counts as 1.
  public enum Buffering: Sendable, Equatable {
    /// Every state is kept.
    case unbounded
    /// That many are kept: the oldest makes room, and is lost.
    case newest(Int)
    /// That many are kept: a new one that finds them all there is not taken.
    case oldest(Int)
  }

  /// What has become of a state that was sent.
  public enum SendResult: Sendable, Equatable {
    /// The service has it, or will have it. Where the service applies states on their senders' threads, it has been
    /// applied when `send` returns, unless `send` was called while another state was being applied.
    case taken
    /// The buffer was full, and keeps the oldest.
    case dropped
    /// Too late: the stream has ended, or its service was closed or is gone.
    case closed
  }

  /// Another sender of a stream.
  public struct Continuation: Sendable {
    fileprivate let sender: StateSender<State>

    /// Sends a state: see ``StateStream/send(_:)``.
    @discardableResult
    public func send(_ state: State) -> SendResult { sender.send(state) }

    /// Ends the stream: see ``StateStream/finish()``.
    public func finish() { sender.finish() }
  }

  /// Nil for ``void``.
  let sender: StateSender<State>?

  /// A stream to which `body`'s continuation sends, too. The body runs at once, and what it sends is kept for the
  /// service.
  public init(buffering: Buffering = .unbounded, _ body: (Continuation) -> Void = { _ in }) {
    let sender = StateSender<State>(buffering.policy)
    self.sender = sender
    body(Continuation(sender: sender))
  }

  private init(void: Void) { sender = nil }

  /// A stream that has ended before it began: its services keep the state that they were made with. Unlike any other it
  /// may have many services.
  public static var void: StateStream { StateStream(void: ()) }

  /// Sends a state. Safe from any thread; never waits.
  ///
  /// A service without an isolation applies it here, on this thread, before `send` returns. A send from inside
  /// `onStateChange` is applied after the state at hand, not inside it, and so is one that finds another thread
  /// applying a state: then that thread applies both.
  @discardableResult
  public func send(_ state: State) -> SendResult { sender?.send(state) ?? .closed }

  /// Ends the stream after all that was sent so far. May be called more than once.
  public func finish() { sender?.finish() }
}

extension StateStream.Buffering {
  fileprivate var policy: BufferPolicy {
    switch self {
    case .unbounded: BufferPolicy(unbounded: ())
    case .newest(let capacity): BufferPolicy(kind: .newest, capacity: max(1, capacity))
    case .oldest(let capacity): BufferPolicy(kind: .oldest, capacity: max(1, capacity))
    }
  }
}

/// What all senders of a stream hold together: its end is the end of the stream.
final class StateSender<State: Sendable>: Sendable {
  /// The engine's stream. A service keeps that and not the sender.
  let stream: ServiceKitCore.Stream

  private let layout = StateLayout<State>()

  init(_ policy: BufferPolicy) { stream = ServiceKitCore.Stream.make(policy: policy) }

  deinit { stream.abandon() }

  func send(_ state: State) -> StateStream<State>.SendResult {
    switch stream.send(layout.make(state)) {
    case .taken: .taken
    case .full, .late: .dropped
    case .closed: .closed
    }
  }

  func finish() { stream.finishIfOpen() }
}
