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

  // MARK: - What comes next

  /// What to deliver next, already stored as the current state. The lock is held; it may be let go for a moment.
  @inline(__always)
  private func takeNext(_ next: inout State?) -> DeliveryWalk? {
    let stream = stream
    if let suspended = state.suspended {
      state.suspended = nil
      return suspended
    }
    while !state.isClosed {
      if next == nil {
        next = stream.state.buffer.popFirst()
        stream.signalRoom()
      }
      guard let new = next else { return takeEnd() }
      if skipsEqual, skipIfEqual(new) {
        next = nil
        continue
      }
      if state.isClosed { return nil }
      next = nil
      let walk = makeWalk(new, replacing: state.current)
      state.current = new
      signalChange()
      return walk
    }
    return nil
  }

  @inline(never)
  private func takeEnd() -> DeliveryWalk? {
    guard stream.state.hasEnded, !state.isFinished else { return nil }
    state.isFinished = true
    signalChange()
    return makeWalk(nil, replacing: nil)
  }

  @inline(__always)
  private func makeWalk(_ new: State?, replacing previous: State?) -> DeliveryWalk {
    let lostInAll = stream.state.lost
    let lost = lostInAll &- state.lostSeen
    state.lostSeen = lostInAll
    lostSinceCall &+= lost
    return DeliveryWalk(
      state: new, replaced: previous, observers: state.observers.beginWalk(), lost: lost, lostInAll: lostInAll)
  }

  /// Compares without the lock, which is let go meanwhile: nobody else replaces the current state.
  @inline(never)
  private func skipIfEqual(_ new: State) -> Bool {
    stream.lock.unlock()
    let isEqual = new.hasSameBytes(as: state.current)
    if isEqual { new.release() }
    stream.lock.lock()
    return isEqual
  }

  // MARK: - The calls

  /// Makes the calls of a walk, without a lock. False when `limit` stopped it in the middle.
  @inline(__always)
  private func run(
    _ walk: inout DeliveryWalk, on thread: UnsafeMutablePointer<ThreadRecord>, limit: Int, _ calls: inout Int
  ) -> Bool {
    if let replaced = walk.replaced {
      walk.replaced = nil
      replaced.release()
    }
    thread.pointee.callbackDepth &+= 1
    defer { thread.pointee.callbackDepth &-= 1 }
    guard let state = walk.state else { return runEnd(&walk, on: thread, limit: limit, &calls) }
    var view = state.view(dropped: 0)
    if !walk.isOwnDone, let onState = gate.onState {
      guard calls < limit else { return false }
      view.dropped = lostSinceCall
      lostSinceCall = 0
      if gate.enter(thread) {
        calls &+= 1
        onState(&view, gate.userData)
      }
      if gate.leave() { callEnded() }
      view.dropped = 0
    }
    walk.isOwnDone = true
    return withUnsafeMutablePointer(to: &view) { view in
      callObservers(&walk, state, view, on: thread, limit: limit, &calls)
    }
  }

  @inline(__always)
  private func callObservers(
    _ walk: inout DeliveryWalk, _ state: State, _ view: UnsafeMutablePointer<svk_state>,
    on thread: UnsafeMutablePointer<ThreadRecord>, limit: Int, _ calls: inout Int
  ) -> Bool {
    var index = walk.index
    while index < walk.observers.count {
      let isDone = walk.observers[index]._withUnsafeGuaranteedRef { subscription in
        if subscription.delivery != .onSenders {
          subscription.noteLost(walk)
          _ = subscription.push(state, on: thread)
          return true
        }
        guard calls < limit else { return false }
        subscription.noteLost(walk)
        if subscription.receive(state, view, on: thread) { calls &+= 1 }
        return true
      }
      guard isDone else {
        walk.index = index
        return false
      }
      index &+= 1
    }
    return true
  }

  @inline(never)
  private func runEnd(
    _ walk: inout DeliveryWalk, on thread: UnsafeMutablePointer<ThreadRecord>, limit: Int, _ calls: inout Int
  ) -> Bool {
    if !walk.isOwnDone, gate.onFinish != nil {
      guard calls < limit else { return false }
      if callFinish(on: thread) { calls &+= 1 }
    }
    walk.isOwnDone = true
    while walk.index < walk.observers.count {
      let isDone = walk.observers[walk.index]._withUnsafeGuaranteedRef { subscription in
        guard calls < limit || subscription.delivery != .onSenders else { return false }
        if subscription.receiveEnd(on: thread) { calls &+= 1 }
        return true
      }
      guard isDone else { return false }
      walk.index &+= 1
    }
    return true
  }
}
