import ServiceKitCore

extension StatefulService {
  /// Returns when all that was sent before the call has been applied: stored, with its callbacks returned. That includes
  /// the stream's end, and what those callbacks themselves sent. Others that go on sending do not delay it.
  ///
  /// Returns also at the service's end, and early when the task is cancelled.
  public func settled() async {
    let engine = engine
    let wait = SettledWait()
    let settling = Settling { wait.end() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        wait.begin(continuation)
        if !engine.settle(settling) { wait.end() }
      }
    } onCancel: {
      wait.end()
    }
    // Only a cancelled wait is still registered.
    _ = engine.unsettle(settling)
  }
}

/// A wait that ends once, perhaps before it has begun.
private final class SettledWait: @unchecked Sendable {
  private enum Stage { case new, waiting(CheckedContinuation<Void, Never>), ended }

  private let lock = Lock()
  /// Guarded by `lock`.
  private var stage = Stage.new

  func begin(_ continuation: CheckedContinuation<Void, Never>) {
    let hasEnded = lock.withLock {
      if case .ended = stage { return true }
      stage = .waiting(continuation)
      return false
    }
    if hasEnded { continuation.resume() }
  }

  func end() {
    let continuation = lock.withLock { () -> CheckedContinuation<Void, Never>? in
      defer { stage = .ended }
      guard case .waiting(let continuation) = stage else { return nil }
      return continuation
    }
    continuation?.resume()
  }
}
