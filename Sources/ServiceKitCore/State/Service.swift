import CServiceKit
import Synchronization

/// The right to read: the current state, and who observes it. Its state is guarded by its stream's lock.
package final class Service: DeliveryTarget, @unchecked Sendable {
  let stream: Stream
  package let api: UnsafeRawPointer?
  let skipsEqual: Bool
  @exclusivity(unchecked) var state: ServiceState
  /// How many states were lost since the last call of the service's own callback. The delivering role's.
  @exclusivity(unchecked) var lostSinceCall: UInt64 = 0
  /// The observer that the delivering thread is calling just now, as its address; 0: none.
  let called = Atomic<UInt>(0)
  /// Where `wait` waits.
  private let changed = WaitPoint()
  /// Set when the token is made, before anybody else knows the service.
  package private(set) var token = Token(word: 0)

  /// Where callbacks run, as the options say.
  package enum Delivery {
    case onSenders
    case dispatcher(Dispatcher)
    case background
    case host(HostExecutor)
    /// Observers only.
    case pull
  }

  package struct Options {
    package var api: UnsafeRawPointer?
    package var initial: UnsafeRawPointer?
    package var initialSize = 0
    /// Instead of the bytes: a state whose hold passes to the service, also when that cannot be created.
    package var initialState: State?
    /// Nil: a void stream.
    package var stream: Stream?
    package var skipsEqual = false

    package init() {}
  }

  private init(_ options: Options, stream: Stream, callbacks: Callbacks, executor: Executor?) {
    self.stream = stream
    api = options.api
    skipsEqual = options.skipsEqual
    state = ServiceState(
      current: options.initialState
        ?? State.copy(options.initial, options.initialSize, on: ThreadRecord.current))
    super.init(callbacks, marks: 0, executor: executor)
  }

  deinit { state.current.release() }

  /// Makes a service and attaches it. `publish` gets the token before any callback runs, and token 0 when this fails
  /// after that.
  package static func create(
    _ options: Options, _ delivery: Delivery, _ callbacks: Callbacks, publish: (Token) -> Void
  ) throws(Failure) {
    AsymmetricFence.prepare()
    let executor = try Executor.choose(delivery)
    let stream = options.stream ?? Stream.ended()
    let service = Service(options, stream: stream, callbacks: callbacks, executor: executor)
    try service.join()
    publish(service.token)

    stream.lock.lock()
    // Its dispatcher was destroyed meanwhile, and has closed it.
    let isClosed = service.state.isClosed
    if isClosed {
      stream.lock.unlock()
      return
    }
    switch stream.attach(service, executor == nil ? .onSenders : .elsewhere) {
    case .attached(let hasWork, let runsStart):
      stream.begin(hasWork: hasWork, runsStart: runsStart, on: ThreadRecord.current)
    case .hasReader:
      stream.lock.unlock()
      try service.abandon(publish, because: SVK_ALREADY_EXISTS)
    case .destroyed:
      stream.lock.unlock()
      try service.abandon(publish, because: SVK_INVALID_HANDLE)
    }
  }

  /// Gets its token, and then becomes known to its executor, which may end it from then on.
  private func join() throws(Failure) {
    token = TokenTable.add(.service, self)
    do {
      try executor?.join(self)
    } catch {
      _ = TokenTable.withdraw(token, .service)
      throw error
    }
  }

  /// Undoes a creation that failed: nothing of the program's was kept.
  private func abandon(_ publish: (Token) -> Void, because status: Int32) throws(Failure) {
    // Unless its dispatcher's end, or a thread that read the token, has ended it as any other.
    guard gate.abandon() else { return }
    publish(Token(word: 0))
    _ = TokenTable.withdraw(token, .service)
    executor?.leave(self)
    throw Failure(status) { text in
      if status == SVK_ALREADY_EXISTS {
        text.append("the stream has, or had, a service, and can have only one; observe that one instead")
      } else {
        text.append("the stream was destroyed")
      }
    }
  }

  func schedule() { executor?.schedule(self) }

  /// With the stream's lock held: there is a newer state, or the end.
  @inline(__always)
  func signalChange() { changed.signal() }

  override func takeTurn(_ thread: UnsafeMutablePointer<ThreadRecord>, limit: Int) -> Turn {
    stream.lock.lock()
    stream.role.take(thread)
    let turn = deliver(first: nil, on: thread, limit: limit)
    // The executor has a hold of its own.
    turn.closed?.release()
    return turn
  }

  override func closeWithDispatcher() -> [Ending] {
    _ = TokenTable.withdraw(token, .service)
    return beginClose()
  }
}

// MARK: - Reading

extension Service {
  package struct Reading {
    package let size: Int
    package let version: UInt64
  }

  /// Copies the current state. With too little room: the size alone, as `needed`.
  package func read(
    into buffer: UnsafeMutableRawPointer?, capacity: Int, needed: inout Int
  ) throws(Failure) -> Reading {
    let current = holdCurrent()
    defer { current.release() }
    let size = current.size
    guard size <= capacity else {
      needed = size
      throw Failure.bufferTooSmall(needed: size, capacity: capacity)
    }
    if let buffer, let data = current.data, size > 0 { buffer.copyMemory(from: data, byteCount: size) }
    return Reading(size: size, version: current.version)
  }

  /// The version of the current state.
  package var version: UInt64 { stream.lock.withLock { state.current.version } }

  /// Whether no newer state comes: the stream's end has come here, or the service was closed.
  package var isOver: Bool { stream.lock.withLock { state.isFinished || state.isClosed } }

  /// A snapshot of the current state, and the state itself.
  package func acquire() -> (Token, svk_state) {
    let current = holdCurrent()
    return (Snapshot.create(current), current.view(dropped: 0))
  }

  /// Waits for a state newer than `version`, and gives its version.
  package func wait(after version: UInt64, timeout: Int64) throws(Failure) -> UInt64 {
    stream.lock.lock()
    var now = state.current.version
    if now > version, !state.isClosed {
      stream.lock.unlock()
      return now
    }
    let deadline = Deadline(timeout: timeout)
    var isInTime = true
    while now <= version, !state.isClosed, !state.isFinished, isInTime {
      isInTime = changed.wait(stream.lock, until: deadline)
      now = state.current.version
    }
    let isOver = state.isClosed || state.isFinished
    let isClosed = state.isClosed
    stream.lock.unlock()
    if now > version, !isClosed { return now }
    guard isOver else {
      throw Failure(SVK_TIMEOUT) { text in text.append("no newer state came in time") }
    }
    throw Failure(SVK_CLOSED) { text in
      text.append("no newer state comes: the stream has ended, or the service was closed")
    }
  }

  /// The current state, to be released by the caller.
  package func holdCurrent() -> State {
    stream.lock.lock()
    let current = state.current
    current.retain()
    stream.lock.unlock()
    return current
  }
}

// MARK: - The end

extension Service {
  /// After its token was withdrawn: closes it and cancels its observers. SVK_OK when all is quiet, else SVK_DEFERRED.
  package func close() -> Int32 {
    beginClose().settle(mayWait: !Callback.isRunning)
  }

  /// Sees to it that no callback begins any more. May be called more than once.
  fileprivate func beginClose() -> [Ending] {
    let thread = ThreadRecord.current
    stream.lock.lock()
    state.isClosed = true
    gate.mark(CallbackGate.Mark.closed)
    let isAttached = stream.hasService(self)
    let delivery = isAttached ? stream.role.holder() : .nobody
    let isWalked = delivery.isOther(than: thread)
    let isIdle = !delivery.isThread
    // A delivery under way ends its own walk.
    let suspended = isIdle && state.isSuspended ? state.suspended : nil
    if isIdle { state.isSuspended = false }
    prepareListChange(delivery, isSuspended: suspended != nil)
    let observers = state.observers.takeAll()
    let leaving = state.leaving
    var unread = isAttached ? stream.detachService() : StateBuffer()
    // A delivery under way lets it go when it ends.
    let closed = isAttached && isIdle ? stream.takeService() : nil
    changed.signal()
    let settled = takeSettled()
    stream.lock.unlock()

    executor?.bar(self)
    settled.notify()
    unread.releaseAll()
    var endings = [Ending(target: self, needsFence: isWalked)]
    observers.forEach { subscription in
      _ = TokenTable.withdraw(subscription.token, .subscription)
      endings.append(subscription.beginEnd(isWalked: isWalked, on: thread))
    }
    for subscription in leaving { endings.append(subscription.beginEnd(isWalked: isWalked, on: thread)) }
    observers.dispose()
    suspended?.observers.dispose()
    closed?.release()
    return endings
  }

  /// Before the list of observers is changed, with the stream's lock held: finds out whether it is being walked.
  func prepareListChange(_ delivery: DeliveryRole.Holder, isSuspended: Bool) {
    if !delivery.isThread, !isSuspended { state.observers.forgetWalk() }
  }
}
