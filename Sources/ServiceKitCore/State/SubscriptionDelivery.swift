import CServiceKit

/// How states come to an observer, on the thread on which its service delivers.
extension Subscription {
  /// Takes a state, whatever has to be looked at first. True when it was called here. `lost`: how many the stream's
  /// buffer lost before this one.
  @inline(never)
  func receive(_ state: State, lost: UInt64, on thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    if gate.isMarked(CallbackGate.Mark.closed) { return false }
    if gate.isMarked(CallbackGate.Mark.catchingUp | CallbackGate.Mark.indirect),
      push(state, lost: lost, on: thread) != .notBehind
    {
      return false
    }
    return call(state, dropped: lost &+ takeLost(), on: thread)
  }

  /// What an observer that is called here and now lost while it was given what came before.
  private func takeLost() -> UInt64 {
    guard gate.isMarked(CallbackGate.Mark.lost) else { return 0 }
    gate.unmark(CallbackGate.Mark.lost)
    return lock.withLock { state.takeLostSinceKept() }
  }

  /// Calls `on_state`. True when the callback was run.
  @inline(__always)
  func call(_ state: State, dropped: UInt64, on thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    guard let onState = gate.onState else { return false }
    let isOpen = gate.enter(thread)
    if isOpen {
      var view = state.view(dropped: dropped)
      Callback.run(on: thread) { onState(&view, gate.userData) }
    }
    if gate.leave() { callEnded() }
    return isOpen
  }

  /// The stream's end, on the thread on which the service delivers. True when `on_finish` was run here.
  func receiveEnd(on thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    if delivery == .onSenders, !gate.isMarked(CallbackGate.Mark.catchingUp) { return callFinish(on: thread) }
    lock.lock()
    if delivery == .onSenders, !gate.isMarked(CallbackGate.Mark.catchingUp) {
      lock.unlock()
      return callFinish(on: thread)
    }
    state.hasEnded = true
    announce()
    return false
  }

  enum Push {
    case kept, lost
    /// An observer that is called here and now, and has been given all that came before.
    case notBehind
  }

  /// Puts a state into the buffer, for whoever takes it out.
  func push(_ state: State, lost: UInt64, on thread: UnsafeMutablePointer<ThreadRecord>) -> Push {
    lock.lock()
    while true {
      if delivery == .onSenders, !gate.isMarked(CallbackGate.Mark.catchingUp) {
        lock.unlock()
        return .notBehind
      }
      let isDrainer = self.state.asksWhoDrains && isDrainer(thread)
      switch self.state.offer(state, lost: lost, isDrainer: isDrainer) {
      case .kept:
        announce()
        return .kept
      case .keptInsteadOf(let oldest):
        announce()
        oldest.release(on: thread)
        return .kept
      case .refused, .cancelled:
        lock.unlock()
        return .lost
      case .wait:
        // A bounded buffer that blocks has a wait point. Being cancelled ends the wait.
        _ = waitPoint?.wait(lock, until: .never)
      }
    }
  }

  /// Tells whoever takes from the buffer. The lock is held, and is not any more on return.
  @inline(__always)
  private func announce() {
    var mustSchedule = false
    if let waitPoint { waitPoint.signal() }
    switch delivery {
    case .onSenders: break
    case .elsewhere:
      mustSchedule = !state.isScheduled
      state.isScheduled = true
    case .pull: updateSignal()
    }
    lock.unlock()
    if mustSchedule { executor?.schedule(self) }
  }

  /// Whether `thread` would have to make the room that it waits for. With the lock held.
  private func isDrainer(_ thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    state.drainer == UInt(bitPattern: thread) || executor?.isRun(by: thread) ?? false
  }
}

/// How they are taken out again.
extension Subscription {
  /// Gives an observer what it begins with: on this thread, when it is called on its sender's; else by its own means.
  func catchUp() {
    switch delivery {
    case .onSenders: callWithFirst()
    case .elsewhere: executor?.schedule(self)
    case .pull:
      lock.lock()
      announce()
    }
  }

  private func callWithFirst() {
    let thread = ThreadRecord.current
    lock.lock()
    while true {
      switch state.isCancelled ? .nothing : state.takeNext() {
      case .state(let next):
        waitPoint?.signal()
        lock.unlock()
        _ = call(next.state, dropped: next.lostBefore, on: thread)
        next.state.release(on: thread)
      case .end:
        lock.unlock()
        _ = callFinish(on: thread)
      case .nothing:
        state.drainer = 0
        if state.hasLostSinceKept { gate.mark(CallbackGate.Mark.lost) }
        gate.unmark(CallbackGate.Mark.catchingUp)
        waitPoint?.signal()
        lock.unlock()
        return
      }
      lock.lock()
    }
  }

  /// A turn: what is there now, with at most `limit` callbacks.
  func drain(on thread: UnsafeMutablePointer<ThreadRecord>, limit: Int) -> Turn {
    var turn = Turn()
    lock.lock()
    state.drainer = UInt(bitPattern: thread)
    // What comes in meanwhile is for the next turn, so that a fast sender cannot keep the others from theirs.
    var remaining = min(limit, batch.count &+ state.kept.count &+ 1)
    while remaining > 0, !state.isCancelled {
      if batch.isEmpty {
        guard takeBatch() else {
          guard case .end = state.takeNext() else { break }
          lock.unlock()
          turn.didWork = true
          if callFinish(on: thread) { turn.calls &+= 1 }
          lock.lock()
          break
        }
      }
      lock.unlock()
      turn.didWork = true
      turn.calls &+= callBatch(&remaining, on: thread)
      lock.lock()
    }
    turn.hasMore = state.hasMore || (!state.isCancelled && !batch.isEmpty)
    state.isScheduled = turn.hasMore
    state.drainer = 0
    var rest = state.isCancelled ? batch.takeAll() : StateBuffer()
    lock.unlock()
    rest.releaseAll()
    return turn
  }

  /// Takes what may be taken without the lock: all of an unbounded buffer, but one at a time where the rest may still
  /// have to make room. With the lock held.
  @inline(__always)
  private func takeBatch() -> Bool {
    if state.policy.kind == .unbounded {
      swap(&batch, &state.kept)
      return !batch.isEmpty
    }
    guard let next = state.kept.popFirst() else { return false }
    batch.append(next.state, lostBefore: next.lostBefore)
    waitPoint?.signal()
    return true
  }

  /// How many callbacks were run. Without the lock.
  @inline(__always)
  private func callBatch(_ remaining: inout Int, on thread: UnsafeMutablePointer<ThreadRecord>) -> Int {
    var calls = 0
    var returned = BlockCache.Returned()
    while remaining > 0, let next = batch.popFirst() {
      remaining &-= 1
      if call(next.state, dropped: next.lostBefore, on: thread) { calls &+= 1 }
      next.state.release(on: thread, into: &returned)
    }
    returned.flush()
    return calls
  }
}
