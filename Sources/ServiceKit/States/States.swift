import ServiceKitCore

extension StatefulService {
  /// The states of a service, one after the other: see ``StatefulService/states``.
  public struct States: AsyncSequence, Sendable {
    public typealias Element = State
    public typealias Failure = Never

    private let service: Service

    init(_ service: Service) { self.service = service }

    /// An iterator whose first element is the state that is current now. It misses none of those that follow: what its
    /// task does not take at once is kept for it, without a limit.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(service) }

    /// Gives the states. When its task is cancelled it gives no more of them, not even those that are there.
    public struct AsyncIterator: AsyncIteratorProtocol {
      private let observer: StateObserver<State>

      fileprivate init(_ service: Service) { observer = StateObserver(service) }

      public mutating func next() async -> State? { await observer.next(isolation: nil) }

      public mutating func next(isolation actor: isolated (any Actor)?) async -> State? {
        await observer.next(isolation: actor)
      }
    }
  }
}

/// The end of an iterator is the end of its subscription.
private final class StateObserver<State: Sendable> {
  private let queue = StateQueue<State>()
  private var token = Token(word: 0)

  init(_ service: Service) {
    var observation = Service.Observation(
      delivery: .onSenders, policy: BufferPolicy(unbounded: ()), callbacks: .none, beginsWithCurrent: true)
    do throws(ServiceKitCore.Failure) {
      try queue.attach { callbacks throws(ServiceKitCore.Failure) in
        observation.callbacks = callbacks
        try service.observe(observation) { token = $0 }
      }
    } catch {
      queue.finish()
    }
    // An open service has given the first state by now.
    guard queue.isUntouched else { return }
    queue.endWith(service.holdCurrent().take(State.self))
  }

  deinit { cancel() }

  func next(isolation: isolated (any Actor)?) async -> State? {
    if Task.isCancelled {
      cancel()
      return nil
    }
    switch queue.take() {
    case .state(let state): return state
    case .end: return nil
    case .nothing: break
    }
    let queue = queue
    return await withTaskCancellationHandler {
      await withUnsafeContinuation(isolation: isolation) { queue.wait($0) }
    } onCancel: {
      queue.cancel()
    }
  }

  private func cancel() {
    queue.cancel()
    // Not waiting: this may be anywhere, and what comes yet goes nowhere.
    _ = TokenTable.take(token, .subscription, Subscription.self)?.cancel(mayWait: false)
  }
}
