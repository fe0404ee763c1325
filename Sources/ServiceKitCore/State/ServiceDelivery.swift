import CServiceKit
import Synchronization

/// The delivery of a service: from the stream's buffer to the current state, the service's callback and the observers.
///
/// Each function is called by whoever has taken the ``DeliveryRole``. None holds the lock while the program's code runs.
extension Service {
  /// Delivers a new state to a service that nobody delivers to, which is what nearly every send does, and then what has
  /// come meanwhile. The stream's lock is held, and is not any more on return.
  ///
  /// Gives the service, if it was closed meanwhile: see ``DeliveryTarget/Turn/closed``.
  @inline(__always)
  func deliverAtOnce(_ new: State, on thread: UnsafeMutablePointer<ThreadRecord>) -> Unmanaged<Service>? {
    let stream = stream
    guard !skipsEqual, stream.state.lost == state.lostSeen, !AsymmetricFence.isFull else {
      return deliver(first: new, on: thread, limit: Int.max).closed
    }
    let previous = state.current
    state.current = new
    signalChange()
    let observers = state.observers.beginWalk()
    stream.lock.unlock()
    previous.release(on: thread)
    thread.pointee.callbackDepth &+= 1
    var view = new.view(dropped: 0)
    if gate.onState != nil { _ = callOwn(&view, on: thread) }
    callEach(new, &view, observers, on: thread)
    thread.pointee.callbackDepth &-= 1
    if stream.role.giveUpUnpinned(thread) { return nil }
    return deliverRest(observers, on: thread)
  }

  /// Something has come while a state was delivered.
  @inline(never)
  private func deliverRest(
    _ walked: ObserverList.Walk, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> Unmanaged<Service>? {
    stream.lock.lock()
    endWalk(walked)
    return deliver(first: nil, on: thread, limit: Int.max).closed
  }

  /// Delivers `first` and then all that comes into the buffer meanwhile, or, where `limit` is set, at most as many
  /// callbacks and only the states that are there now.
  ///
  /// The stream's lock is held, and is not any more on return; then the role is given up, or, if the turn has more,
  /// held by the next turn.
  func deliver(first: State?, on thread: UnsafeMutablePointer<ThreadRecord>, limit: Int) -> Turn {
    var turn = Turn()
    var next = first
    var walk = DeliveryWalk()
    if !state.isSuspended { state.observers.forgetWalk() }
    // The end counts as one, too. So does a walk that was suspended.
    var remaining = limit == Int.max ? Int.max : stream.state.buffer.count &+ 2
    while turn.calls < limit, remaining > 0, takeNext(&next, into: &walk) {
      stream.lock.unlock()
      remaining &-= 1
      turn.didWork = true
      let isComplete = run(&walk, on: thread, limit: limit, &turn.calls)
      stream.lock.lock()
      guard isComplete else {
        state.suspended = walk
        state.isSuspended = true
        break
      }
      endWalk(walk.observers)
      if !state.settlings.isEmpty { notifySettled() }
    }
    if state.isClosed {
      turn.closed = leaveClosed(next)
    } else {
      turn.hasMore = state.isSuspended || stream.state.hasWork(isFinished: state.isFinished)
      if turn.hasMore { stream.role.takeForTurn() } else { stream.role.giveUp() }
      let settled = state.settlings.isEmpty ? [] : takeSettled(isIdle: !turn.hasMore)
      stream.lock.unlock()
      settled.notify()
    }
    return turn
  }

  /// Unlocks, and releases what a closed service was about to deliver. Gives the stream's hold on the service.
  private func leaveClosed(_ next: State?) -> Unmanaged<Service>? {
    let suspended = state.isSuspended ? state.suspended : nil
    state.isSuspended = false
    stream.role.giveUp()
    let closed = stream.takeService()
    stream.lock.unlock()
    next?.release()
    suspended?.observers.dispose()
    return closed
  }

  /// The lock is held, and let go for a moment when the list was replaced.
  private func endWalk(_ walked: ObserverList.Walk) {
    guard state.observers.endWalk() else { return }
    stream.lock.unlock()
    walked.dispose()
    stream.lock.lock()
  }
}

// MARK: - What comes next

extension Service {
  /// What to deliver next, already stored as the current state. The lock is held; it may be let go for a moment.
  private func takeNext(_ next: inout State?, into walk: inout DeliveryWalk) -> Bool {
    if state.isSuspended {
      walk = state.suspended
      state.isSuspended = false
      return true
    }
    while !state.isClosed {
      if next == nil {
        next = stream.state.buffer.popFirst()?.state
        stream.signalRoom()
      }
      guard let new = next else { return takeEnd(into: &walk) }
      if skipsEqual, skipIfEqual(new) {
        next = nil
        continue
      }
      if state.isClosed { return false }
      next = nil
      begin(new, replacing: state.current, &walk)
      state.current = new
      signalChange()
      return true
    }
    return false
  }

  private func takeEnd(into walk: inout DeliveryWalk) -> Bool {
    guard stream.state.hasEnded, !state.isFinished else { return false }
    state.isFinished = true
    signalChange()
    begin(nil, replacing: nil, &walk)
    return true
  }

  private func begin(_ new: State?, replacing previous: State?, _ walk: inout DeliveryWalk) {
    walk.state = new
    walk.replaced = previous
    walk.observers = state.observers.beginWalk()
    walk.lostInAll = stream.state.lost
    walk.lost = walk.lostInAll &- state.lostSeen
    walk.index = DeliveryWalk.own
    state.lostSeen = walk.lostInAll
    lostSinceCall &+= walk.lost
  }

  /// Compares without the lock, which is let go meanwhile: nobody else replaces the current state.
  private func skipIfEqual(_ new: State) -> Bool {
    stream.lock.unlock()
    let isEqual = new.hasSameBytes(as: state.current)
    if isEqual { new.release() }
    stream.lock.lock()
    return isEqual
  }
}

// MARK: - The calls

extension Service {
  /// Makes the calls of a walk, without a lock. False when `limit` stopped it in the middle.
  private func run(
    _ walk: inout DeliveryWalk, on thread: UnsafeMutablePointer<ThreadRecord>, limit: Int, _ calls: inout Int
  ) -> Bool {
    if let replaced = walk.replaced {
      walk.replaced = nil
      replaced.release(on: thread)
    }
    thread.pointee.callbackDepth &+= 1
    defer { thread.pointee.callbackDepth &-= 1 }
    guard let state = walk.state else { return runEnd(&walk, on: thread, limit: limit, &calls) }
    var view = state.view(dropped: 0)
    if walk.index == DeliveryWalk.own {
      if gate.onState != nil {
        guard calls < limit else { return false }
        if callOwn(&view, on: thread) { calls &+= 1 }
      }
      walk.index = 0
    }
    return callObservers(state, &view, &walk, on: thread, limit: limit, &calls)
  }

  /// Calls the service's own `on_state`. True when it was run.
  @inline(__always)
  private func callOwn(_ view: inout svk_state, on thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    guard let onState = gate.onState else { return false }
    let isOpen = gate.enter(thread)
    if isOpen {
      view.dropped = lostSinceCall
      lostSinceCall = 0
      onState(&view, gate.userData)
      view.dropped = 0
    }
    if gate.leave() { callEnded() }
    return isOpen
  }

  /// Gives a state to all observers. Only where the light fence is one for the compiler alone.
  ///
  /// Which observer is being called stands in `called`, and not in its gate, so that each costs one mark only. It is
  /// left by marking the next, and whether it was closed meanwhile is looked up after that.
  @inline(__always)
  private func callEach(
    _ state: State, _ view: inout svk_state, _ observers: ObserverList.Walk,
    on thread: UnsafeMutablePointer<ThreadRecord>
  ) {
    guard var next = observers.entries, observers.count > 0 else { return }
    let end = next + observers.count
    var previous = next.pointee
    while next != end {
      let entry = next.pointee
      called.store(UInt(bitPattern: entry.toOpaque()), ordering: .releasing)
      AsymmetricFence.light(isFull: false)
      entry._withUnsafeGuaranteedRef { observer in
        let marks = observer.gate.allMarks | previous._withUnsafeGuaranteedRef { $0.gate.allMarks }
        if marks == 0 {
          observer.gate.onState.unsafelyUnwrapped(&view, observer.gate.userData)
        } else {
          previous._withUnsafeGuaranteedRef { if $0 !== observer { $0.wasCalled() } }
          _ = observer.receive(state, lost: 0, on: thread)
        }
      }
      previous = entry
      next += 1
    }
    endCalls(previous)
  }

  /// The last observer was called.
  @inline(__always)
  private func endCalls(_ last: Unmanaged<Subscription>) {
    called.store(0, ordering: .releasing)
    AsymmetricFence.light()
    last._withUnsafeGuaranteedRef { $0.wasCalled() }
  }

  /// Gives a state to the observers from `walk.index` on. False when `limit` stopped it before the end.
  private func callObservers(
    _ state: State, _ view: inout svk_state, _ walk: inout DeliveryWalk,
    on thread: UnsafeMutablePointer<ThreadRecord>, limit: Int, _ calls: inout Int
  ) -> Bool {
    var previous: Unmanaged<Subscription>?
    while walk.index < walk.observers.count {
      let entry = walk.observers[walk.index]
      guard calls < limit || !entry._withUnsafeGuaranteedRef({ $0.isCalledHere }) else { break }
      called.store(UInt(bitPattern: entry.toOpaque()), ordering: .releasing)
      AsymmetricFence.light()
      previous?._withUnsafeGuaranteedRef { $0.wasCalled() }
      previous = entry
      walk.index &+= 1
      entry._withUnsafeGuaranteedRef { observer in
        if walk.lost == 0, observer.gate.allMarks == 0 {
          calls &+= 1
          observer.gate.onState.unsafelyUnwrapped(&view, observer.gate.userData)
        } else {
          let lost = walk.lost > 0 ? observer.share(of: walk.lost, lostInAll: walk.lostInAll) : 0
          if observer.receive(state, lost: lost, on: thread) { calls &+= 1 }
        }
      }
    }
    if let previous { endCalls(previous) }
    return walk.index == walk.observers.count
  }

  private func runEnd(
    _ walk: inout DeliveryWalk, on thread: UnsafeMutablePointer<ThreadRecord>, limit: Int, _ calls: inout Int
  ) -> Bool {
    if walk.index == DeliveryWalk.own {
      if gate.onFinish != nil {
        guard calls < limit else { return false }
        if callFinish(on: thread) { calls &+= 1 }
      }
      walk.index = 0
    }
    while walk.index < walk.observers.count {
      let isDone = walk.observers[walk.index]._withUnsafeGuaranteedRef { observer in
        guard calls < limit || observer.delivery != .onSenders else { return false }
        if observer.receiveEnd(on: thread) { calls &+= 1 }
        return true
      }
      guard isDone else { return false }
      walk.index &+= 1
    }
    return true
  }
}
