import CServiceKit
import Synchronization

/// One observer of a service: what it was sent, and how it is called.
package final class Subscription: DeliveryTarget {
  enum Delivery { case onSenders, elsewhere, pull }

  let service: Service
  let delivery: Delivery
  let lock = Lock()
  // Guarded by `lock`.
  var state: SubscriptionState
  /// For pull delivery, and only watched once its descriptor was asked for. Its calls are serialised by `lock`.
  let signal: EventSignal?
  var isWatched = false
  /// States taken together, to be called without the lock. Belongs to the drainer, or else to `lock`.
  var batch = StateBuffer()
  /// Where senders wait for room, and pulling threads for a state.
  let waitPoint: WaitPoint?

  // Guarded by the stream's lock.
  /// What the stream's buffer had lost before this came.
  private var lostBefore: UInt64 = 0
  /// It was cancelled: it does not enter the list any more.
  private var isGone = false
  /// It stands in the service's list of those that leave. Not changed any more once the gate is closed.
  private var isLeaving = false
  /// Set when the token is made, before anybody else knows the subscription.
  private(set) var token = Token(word: 0)

  private init(
    _ service: Service, delivery: Delivery, policy: BufferPolicy, callbacks: Callbacks, executor: Executor?,
    signal: EventSignal?
  ) {
    self.service = service
    self.delivery = delivery
    self.signal = signal
    state = SubscriptionState(policy: policy)
    waitPoint = delivery == .pull || policy.kind == .block ? WaitPoint() : nil
    let marks = delivery == .onSenders ? 0 : CallbackGate.Mark.indirect
    super.init(callbacks, marks: marks, executor: executor)
  }

  deinit {
    state.kept.releaseAll()
    batch.releaseAll()
  }

  /// Whether it is called by the thread that delivers for the service.
  var isCalledHere: Bool { delivery == .onSenders }

  override var isBeingCalled: Bool {
    isCalledHere
      && service.called.load(ordering: .acquiring) == UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
  }

  /// After the delivering thread has called it and marked another.
  @inline(__always)
  func wasCalled() {
    if gate.isClosedAndDirect { callEnded() }
  }

  override func takeTurn(_ thread: UnsafeMutablePointer<ThreadRecord>, limit: Int) -> Turn {
    drain(on: thread, limit: limit)
  }

  override func closeWithDispatcher() -> [Ending] {
    _ = TokenTable.withdraw(token, .subscription)
    return [beginCancel()]
  }

  override func becameQuiet() {
    // Set before it was closed, if at all.
    guard isLeaving else { return }
    service.stream.lock.withLock { service.state.stopWaiting(for: self) }
  }
}

// MARK: - Observing

extension Service {
  package struct Observation {
    package var delivery: Delivery
    package var policy: BufferPolicy
    package var callbacks: Callbacks
    package var beginsWithCurrent: Bool

    package init(delivery: Delivery, policy: BufferPolicy, callbacks: Callbacks, beginsWithCurrent: Bool) {
      self.delivery = delivery
      self.policy = policy
      self.callbacks = callbacks
      self.beginsWithCurrent = beginsWithCurrent
    }
  }

  /// Begins to observe. `publish` gets the token before any callback runs, and token 0 when this fails after that.
  package func observe(_ observation: Observation, publish: (Token) -> Void) throws(Failure) {
    let subscription = try Subscription.make(self, observation)
    try subscription.join()
    publish(subscription.token)
    switch subscription.enter(beginsWithCurrent: observation.beginsWithCurrent) {
    case .entered: break
    case .isBehind: subscription.catchUp()
    case .serviceIsClosed:
      // Unless its dispatcher's end, or a thread that read the token, has ended it as any other.
      guard subscription.gate.abandon() else { return }
      publish(Token(word: 0))
      _ = TokenTable.withdraw(subscription.token, .subscription)
      subscription.executor?.leave(subscription)
      throw Failure(SVK_INVALID_HANDLE) { text in text.append("the service was closed") }
    }
  }
}

extension Subscription {
  fileprivate static func make(_ service: Service, _ observation: Service.Observation) throws(Failure) -> Subscription {
    let executor = try Executor.choose(observation.delivery)
    var delivery = executor == nil ? Delivery.onSenders : .elsewhere
    var signal: EventSignal?
    if case .pull = observation.delivery {
      delivery = .pull
      signal = EventSignal()
      guard signal != nil else {
        throw Failure(SVK_SYSTEM_ERROR) { text in
          text.append("the system has no file descriptor for the subscription; close some, or raise the limit")
        }
      }
    }
    return Subscription(
      service, delivery: delivery, policy: observation.policy, callbacks: observation.callbacks, executor: executor,
      signal: signal)
  }

  /// Gets its token, and then becomes known to its executor, which may end it from then on.
  fileprivate func join() throws(Failure) {
    token = TokenTable.add(.subscription, self)
    do {
      try executor?.join(self)
    } catch {
      _ = TokenTable.withdraw(token, .subscription)
      throw error
    }
  }

  fileprivate enum Entry {
    case entered
    /// There is something to be given before the service's own thread may call this observer.
    case isBehind
    case serviceIsClosed
  }

  /// Enters the service's list, together with the state that is current at that moment.
  fileprivate func enter(beginsWithCurrent: Bool) -> Entry {
    let stream = service.stream
    stream.lock.lock()
    guard !service.state.isClosed else {
      stream.lock.unlock()
      return .serviceIsClosed
    }
    // By its dispatcher's end, or by a thread that read the token.
    guard !isGone else {
      stream.lock.unlock()
      return .entered
    }
    lostBefore = stream.state.lost
    let hasFirst = beginsWithCurrent || service.state.isFinished
    if hasFirst { prepareFirst(withCurrent: beginsWithCurrent) }
    service.prepareListChange(stream.role.holder(), isSuspended: service.state.isSuspended)
    service.state.observers.append(self)
    stream.lock.unlock()
    return hasFirst ? .isBehind : .entered
  }

  /// With the stream's lock held.
  private func prepareFirst(withCurrent: Bool) {
    lock.withLock {
      if withCurrent {
        service.state.current.retain()
        state.kept.append(service.state.current)
      }
      state.hasEnded = service.state.isFinished
      // This thread asks for the first turn before `observe` returns. A sender that did might not have come to it yet.
      state.isScheduled = delivery == .elsewhere
      guard delivery == .onSenders else { return }
      gate.mark(CallbackGate.Mark.catchingUp)
      state.drainer = UInt(bitPattern: ThreadRecord.current)
    }
  }
}

// MARK: - What was lost

extension Subscription {
  /// How many states this observer lost to buffers, its own and the stream's, in all.
  package var dropped: UInt64 {
    let stream = service.stream
    let lostByStream = stream.lock.withLock { stream.state.lost &- lostBefore }
    return lock.withLock { state.lostInAll } &+ lostByStream
  }

  /// How many of the last `lost` states that the stream's buffer lost came after this observer.
  func share(of lost: UInt64, lostInAll: UInt64) -> UInt64 { min(lost, lostInAll &- lostBefore) }
}

// MARK: - The end

extension Subscription {
  /// After its token was withdrawn: no callback begins any more. SVK_OK when all is quiet, else SVK_DEFERRED.
  package func cancel(mayWait: Bool) -> Int32 {
    beginCancel().settle(mayWait: mayWait && !Callback.isRunning)
  }

  fileprivate func beginCancel() -> Ending {
    let thread = ThreadRecord.current
    let stream = service.stream
    stream.lock.lock()
    let delivery = stream.hasService(service) ? stream.role.holder() : .nobody
    isGone = true
    service.prepareListChange(delivery, isSuspended: service.state.isSuspended)
    let listed = service.state.observers.remove(self)
    // Whoever closes the service meanwhile has to wait for a callback that may still be running.
    let mayBeInside = delivery.isThread || executor != nil || gate.isMarked(CallbackGate.Mark.catchingUp)
    if listed != nil, mayBeInside {
      isLeaving = true
      service.state.leaving.append(self)
    }
    stream.lock.unlock()
    let ending = beginEnd(isWalked: delivery.isOther(than: thread), on: thread)
    listed?.release()
    return ending
  }

  /// Sees to it that no callback begins any more. May be called more than once. `isWalked`: another thread may be
  /// delivering to this observer just now, or may be about to.
  func beginEnd(isWalked: Bool, on thread: UnsafeMutablePointer<ThreadRecord>) -> Ending {
    if delivery == .onSenders, !gate.isMarked(CallbackGate.Mark.catchingUp) {
      // Nothing is in a buffer, nor will be: there is nobody to agree with but who delivers.
      gate.mark(CallbackGate.Mark.closed)
      return Ending(target: self, needsFence: isWalked)
    }
    lock.lock()
    var kept = state.cancel()
    gate.mark(CallbackGate.Mark.closed)
    let drainer = state.drainer
    var taken = drainer == 0 ? batch.takeAll() : StateBuffer()
    waitPoint?.signal()
    lock.unlock()
    executor?.bar(self)
    kept.releaseAll()
    taken.releaseAll()
    return Ending(target: self, needsFence: isWalked || (drainer != 0 && drainer != UInt(bitPattern: thread)))
  }
}
