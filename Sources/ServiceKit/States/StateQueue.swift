import CServiceKit
import ServiceKitCore

/// The states that an iterator has yet to give.
final class StateQueue<State: Sendable>: StateReceiver, @unchecked Sendable {
  private let lock = Lock()
  /// Guarded by `lock`.
  private var contents = Contents()

  private struct Contents {
    var kept = StateRing<State>()
    var waiting: [UnsafeContinuation<State?, Never>] = []
    var hasEnded = false
    var isUntouched = true

    mutating func take() -> Taken {
      if let state = kept.popFirst() { return .state(state) }
      return hasEnded ? .end : .nothing
    }

    mutating func takeWaiting() -> [UnsafeContinuation<State?, Never>] {
      defer { waiting = [] }
      return waiting
    }
  }

  enum Taken {
    case state(State)
    case end
    case nothing
  }

  /// Whether no state has ever come.
  var isUntouched: Bool { lock.withLock { contents.isUntouched } }

  override func receive(_ state: svk_state) { add(state.data.unsafelyUnwrapped.readState(State.self)) }

  override func finish() {
    let waiting = lock.withLock {
      contents.hasEnded = true
      return contents.takeWaiting()
    }
    for continuation in waiting { continuation.resume(returning: nil) }
  }

  override func wasReleased() { finish() }

  func take() -> Taken { lock.withLock { contents.take() } }

  /// Resumes `continuation` with the next state, now or later, or with nil at the end.
  func wait(_ continuation: UnsafeContinuation<State?, Never>) {
    let taken = lock.withLock {
      let taken = contents.take()
      if case .nothing = taken { contents.waiting.append(continuation) }
      return taken
    }
    switch taken {
    case .state(let state): continuation.resume(returning: state)
    case .end: continuation.resume(returning: nil)
    case .nothing: break
    }
  }

  /// The only state of a service that is closed.
  func endWith(_ state: State) {
    lock.withLock {
      contents.isUntouched = false
      contents.hasEnded = true
      contents.kept.append(state)
    }
  }

  /// Gives nothing more. What was kept is destroyed without the lock.
  func cancel() {
    let kept = lock.withLock {
      contents.hasEnded = true
      return contents.kept.takeAll()
    }
    finish()
    _ = consume kept
  }

  private func add(_ state: State) {
    let continuation = lock.withLock { () -> UnsafeContinuation<State?, Never>? in
      contents.isUntouched = false
      guard !contents.hasEnded else { return nil }
      guard contents.waiting.isEmpty else { return contents.waiting.removeFirst() }
      contents.kept.append(state)
      return nil
    }
    continuation?.resume(returning: state)
  }
}
