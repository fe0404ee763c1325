import CServiceKit

/// The delivery of a service: from the stream's buffer to the current state, the service's callback and the observers.
extension Service {
  /// Delivers `first` and then all that comes into the buffer meanwhile, or, where `limit` is set, at most as many
  /// callbacks and only the states that are there now.
  ///
  /// The caller holds the role and the stream's lock. The lock is not held on return, and the role is given up, unless
  /// the turn has more. Never holds the lock while the program's code runs. `isClosed`: the service was closed
  /// meanwhile, and the caller must let the stream forget it.
  @inline(__always)
  func deliver(first: State?, on thread: UnsafeMutablePointer<ThreadRecord>, limit: Int) -> Turn {
    let stream = stream
    var turn = Turn()
    stream.state.deliverer = UInt(bitPattern: thread)
    // The end counts as one, too. So does a walk that was suspended.
    var remaining = limit == Int.max ? Int.max : stream.state.buffer.count &+ 2
    var next = first
    while true {
      guard turn.calls < limit, remaining > 0, var walk = takeNext(&next) else { break }
      stream.lock.unlock()
      remaining &-= 1
      turn.didWork = true
      let isComplete = run(&walk, on: thread, limit: limit, &turn.calls)
      stream.lock.lock()
      guard isComplete else {
        state.suspended = walk
        break
      }
      if state.observers.endWalk() {
        stream.lock.unlock()
        walk.observers.dispose()
        stream.lock.lock()
      }
    }
    stream.state.deliverer = 0
    if state.isClosed {
      turn.isClosed = true
      leaveClosed(next)
    } else {
      turn.hasMore = state.suspended != nil || stream.state.hasWork(isFinished: state.isFinished)
      stream.state.isDelivering = turn.hasMore
      stream.lock.unlock()
    }
    return turn
  }

  /// Unlocks and releases what a closed service was about to deliver.
  @inline(never)
  private func leaveClosed(_ next: State?) {
    var suspended: DeliveryWalk?
    swap(&suspended, &state.suspended)
    stream.state.isDelivering = false
    stream.lock.unlock()
    next?.release()
    suspended?.observers.dispose()
  }

  /// What to deliver next, already stored as the current state. The lock is held, and let go for a moment.
  @inline(__always)
  private func takeNext(_ next: inout State?) -> DeliveryWalk? {
    let stream = stream
    if state.suspended != nil { return resume() }
    while !state.isClosed {
      guard let new = next ?? stream.state.buffer.popFirst() else { return takeEnd() }
      next = new
      stream.signalRoom()
      if skipsEqual, isEqualToCurrent(new) {
        next = nil
        continue
      }
      if state.isClosed { return nil }
      next = nil
      let previous = state.current
      state.current = new
      signalChange()
      let walk = makeWalk(new)
      replaced = previous
      return walk
    }
    return nil
  }
}
