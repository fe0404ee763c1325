import CServiceKit

/// Pull delivery: the program asks for its states one by one.
extension Subscription {
  package struct Copied {
    package let size: Int
    package let version: UInt64
    package let dropped: UInt64
  }

  /// A snapshot of the next state, and the state itself.
  package func next(timeout: Int64) throws(Failure) -> (Token, svk_state) {
    let (state, dropped) = try take(timeout: timeout) { _ in true }.taken()
    return (Snapshot.create(state), state.view(dropped: dropped))
  }

  /// Copies the next state. With too little room it stays, and `needed` says how much it takes.
  package func next(
    into buffer: UnsafeMutableRawPointer?, capacity: Int, timeout: Int64, needed: inout Int
  ) throws(Failure) -> Copied {
    let taking = try take(timeout: timeout) { state in state.size <= capacity }
    if case .tooLarge(let size) = taking {
      needed = size
      throw Failure.bufferTooSmall(needed: size, capacity: capacity)
    }
    let (state, dropped) = try taking.taken()
    defer { state.release() }
    if let buffer, let data = state.data, state.size > 0 { buffer.copyMemory(from: data, byteCount: state.size) }
    return Copied(size: state.size, version: state.version, dropped: dropped)
  }

  /// The descriptor to watch.
  package func descriptor() throws(Failure) -> Int32 {
    guard let signal else { throw notPull() }
    let descriptor = lock.withLock {
      isWatched = true
      updateSignal()
      return signal.descriptor
    }
    guard descriptor >= 0 else {
      throw Failure(SVK_SYSTEM_ERROR) { text in
        text.append("the system has no file descriptor for this process's subscription; close some, or raise the limit")
      }
    }
    return descriptor
  }

  /// Makes the descriptor readable while there is something to say. With the lock held.
  func updateSignal() {
    guard isWatched, let signal else { return }
    if state.kept.isEmpty, !state.hasEnded { signal.clear() } else { signal.set() }
  }

  fileprivate enum Taking {
    case taken(State, dropped: UInt64)
    case tooLarge(Int)

    func taken() throws(Failure) -> (State, UInt64) {
      guard case .taken(let state, let dropped) = self else { throw Failure(SVK_BUFFER_TOO_SMALL) }
      return (state, dropped)
    }
  }

  /// Waits for the next state and takes it if it fits.
  private func take(timeout: Int64, where fits: (State) -> Bool) throws(Failure) -> Taking {
    guard delivery == .pull, let waitPoint else { throw notPull() }
    lock.lock()
    if state.kept.isEmpty, timeout != 0 {
      let deadline = Deadline(timeout: timeout)
      var isInTime = true
      while state.kept.isEmpty, !state.hasEnded, !state.isCancelled, isInTime {
        isInTime = waitPoint.wait(lock, until: deadline)
      }
    }
    guard !state.isCancelled, let oldest = state.kept.peek else {
      let isOver = state.isCancelled || state.hasEnded
      lock.unlock()
      throw isOver ? Subscription.closed() : Subscription.noneInTime()
    }
    guard fits(oldest) else {
      let size = oldest.size
      lock.unlock()
      return .tooLarge(size)
    }
    let dropped = state.kept.popFirst()?.lostBefore ?? 0
    if state.policy.kind == .block { waitPoint.signal() }
    updateSignal()
    lock.unlock()
    return .taken(oldest, dropped: dropped)
  }

  private func notPull() -> Failure {
    Failure(SVK_UNSUPPORTED) { text in
      text.append("the subscription was not made with SVK_DELIVER_PULL: its states come through on_state")
    }
  }

  private static func closed() -> Failure {
    Failure(SVK_CLOSED) { text in
      text.append("no state comes any more: the stream has ended, or the subscription was cancelled")
    }
  }

  private static func noneInTime() -> Failure {
    Failure(SVK_TIMEOUT) { text in text.append("no state came in time") }
  }
}

extension Failure {
  static func bufferTooSmall(needed: Int, capacity: Int) -> Failure {
    Failure(SVK_BUFFER_TOO_SMALL) { text in
      text.append("the state has ")
      text.append(Int64(needed))
      text.append(" bytes, and the buffer only ")
      text.append(Int64(capacity))
    }
  }
}
