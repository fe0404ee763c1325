import CServiceKit

/// The right to publish. It has the buffer, and the lock that guards both the stream and its service's state.
package final class Stream: @unchecked Sendable {
  let lock = Lock()
  let role = DeliveryRole()
  // Guarded by `lock`, which is all the exclusivity it needs.
  @exclusivity(unchecked) var state: StreamState
  /// Attached, and held until it is closed and nobody delivers. Unmanaged, so that a send does not touch its count.
  private var service: Unmanaged<Service>?
  /// Where senders wait for room.
  private let room: WaitPoint?
  private let start: svk_start_fn?
  private let userData: UnsafeMutableRawPointer?
  private let userDataFree: svk_free_fn?
  /// Set when the token is made, before anybody else knows the stream.
  private var token = Token(word: 0)

  private init(
    policy: BufferPolicy, hasEnded: Bool, start: svk_start_fn?, userData: UnsafeMutableRawPointer?,
    userDataFree: svk_free_fn?
  ) {
    state = StreamState(policy: policy, hasEnded: hasEnded, hasStart: start != nil)
    room = policy.kind == .block ? WaitPoint() : nil
    self.start = start
    self.userData = userData
    self.userDataFree = userDataFree
  }

  deinit { state.buffer.releaseAll() }

  package static func create(
    policy: BufferPolicy, start: svk_start_fn?, userData: UnsafeMutableRawPointer?, userDataFree: svk_free_fn?
  ) -> Token {
    let stream = Stream(
      policy: policy, hasEnded: false, start: start, userData: userData, userDataFree: userDataFree)
    stream.token = TokenTable.add(.stream, stream)
    return stream.token
  }

  /// A stream that has ended before it began: its service never changes.
  static func ended() -> Stream {
    Stream(policy: BufferPolicy(unbounded: ()), hasEnded: true, start: nil, userData: nil, userDataFree: nil)
  }

  /// A stream without a token: who holds it sends, and calls ``abandon()`` in the end.
  package static func make(policy: BufferPolicy) -> Stream {
    Stream(policy: policy, hasEnded: false, start: nil, userData: nil, userDataFree: nil)
  }

  package static func createEnded() -> Token {
    let stream = Stream.ended()
    stream.token = TokenTable.add(.stream, stream)
    return stream.token
  }
}

// MARK: - Sending

extension Stream {
  /// A `timeout` without end, as in the C functions.
  package static var forEver: Int64 { -1 }

  /// Whether there is such a stream just now. To be asked before the bytes are looked at.
  @inline(__always)
  package static func exists(_ token: Token) -> Bool { TokenTable.isValid(token, .stream) }

  /// Sends a copy of `size` bytes. Waits at most `timeout` nanoseconds for room in the stream's own buffer. False when
  /// there is no such stream.
  @inline(__always)
  package static func send(
    _ token: Token, copying bytes: UnsafeRawPointer?, _ size: Int, timeout: Int64
  ) throws(Failure) -> Bool {
    let thread = ThreadRecord.current
    return try send(token, State.copy(bytes, size, on: thread), timeout: timeout, on: thread)
  }

  /// Sends the program's own block, which is freed exactly once, also when this fails.
  package static func send(
    _ token: Token, owned data: UnsafeMutableRawPointer?, _ size: Int, free: svk_free_fn?
  ) throws(Failure) -> Bool {
    let thread = ThreadRecord.current
    return try send(token, State.own(data, size, free, on: thread), timeout: Stream.forEver, on: thread)
  }

  /// Frees a block that could not even be tried to send.
  package static func discard(owned data: UnsafeMutableRawPointer?, free: svk_free_fn?) {
    if let free { Callback.run { free(data) } }
  }

  /// The shortest way does not count itself in with the token, which would cost two locked instructions: the section
  /// keeps the stream until the role is taken, and the role keeps it, since it keeps the service.
  @inline(__always)
  private static func send(
    _ token: Token, _ state: State, timeout: Int64, on thread: UnsafeMutablePointer<ThreadRecord>
  ) throws(Failure) -> Bool {
    ReadSection.enter(thread)
    guard let stream = TokenTable.peek(token, .stream, Stream.self) else {
      ReadSection.leave(thread)
      state.release(on: thread)
      return false
    }
    if stream._withUnsafeGuaranteedRef({ $0.sendAtOnce(state, on: thread) }) { return true }
    // Retained in the section, for what may take longer.
    let outcome = stream.takeRetainedValue().queue(state, timeout: timeout, on: thread)
    if outcome != .taken { throw Stream.refusal(outcome) }
    return true
  }

  /// What has become of a state that was sent.
  package enum Outcome { case taken, full, late, closed }

  /// Sends a state for a caller that holds the stream itself, and takes over its hold on the state. Never waits for
  /// room.
  package func send(_ state: State) -> Outcome {
    let thread = ThreadRecord.current
    lock.lock()
    guard self.state.admitAtOnce(state, isFree: role.isFree), let service else {
      return queue(state, timeout: 0, on: thread)
    }
    role.take(thread)
    service._withUnsafeGuaranteedRef { $0.deliverAtOnce(state, on: thread) }?.release()
    return .taken
  }

  /// Sends when nobody delivers, and the service delivers on its senders' threads. False when not: then the stream was
  /// retained, and its lock is held. Leaves the section.
  @inline(__always)
  private func sendAtOnce(_ state: State, on thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    lock.lock()
    guard self.state.admitAtOnce(state, isFree: role.isFree), let service else {
      _ = Unmanaged.passRetained(self)
      ReadSection.leave(thread)
      return false
    }
    role.take(thread)
    ReadSection.leave(thread)
    service._withUnsafeGuaranteedRef { $0.deliverAtOnce(state, on: thread) }?.release()
    return true
  }

  /// Every other way than the shortest. The lock is held, and is not any more on return.
  @inline(never)
  private func queue(
    _ state: State, timeout: Int64, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> Outcome {
    var admission = admit(state, on: thread)
    if case .wait = admission {
      let deadline = Deadline(timeout: timeout)
      var isInTime = true
      while case .wait = admission, isInTime, let room {
        isInTime = room.wait(lock, until: deadline)
        admission = admit(state, on: thread)
      }
    }
    switch admission {
    case .deliver: deliver(first: state, on: thread)
    case .keep(let evicted):
      if role.isHeld(by: thread) { self.state.noteSentInside() }
      lock.unlock()
      evicted?.release()
    case .keepAndSchedule(let evicted):
      scheduleTurn()
      evicted?.release()
    case .closed, .full, .wait:
      lock.unlock()
      state.release()
      return Stream.outcome(admission)
    }
    return .taken
  }

  private func admit(_ state: State, on thread: UnsafeMutablePointer<ThreadRecord>) -> StreamState.Admission {
    self.state.admit(state, isFree: isRoleFree(), isDrainer: isDrainer(thread))
  }

  private static func outcome(_ admission: StreamState.Admission) -> Outcome {
    switch admission {
    case .full: .full
    case .wait: .late
    case .closed: .closed
    case .deliver, .keep, .keepAndSchedule: .taken
    }
  }

  private static func refusal(_ outcome: Outcome) -> Failure {
    switch outcome {
    case .full:
      Failure(SVK_BUFFER_FULL) { text in
        text.append("the stream's buffer is full and the state was not taken; let the service catch up,")
        text.append(" give the buffer more capacity, or choose another buffering")
      }
    case .late:
      Failure(SVK_TIMEOUT) { text in
        text.append("there was no room in the stream's buffer in time; the state was not taken")
      }
    default:
      Failure(SVK_CLOSED) { text in
        text.append("the stream has ended or its service is closed: nothing can be sent any more")
      }
    }
  }

  /// Whether nobody delivers. If somebody does, what the caller changes under the lock is seen before the end of it.
  private func isRoleFree() -> Bool {
    if case .nobody = role.holder() { return true }
    return false
  }

  /// Whether `thread` would have to make the room that it waits for. With the lock held.
  private func isDrainer(_ thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    if role.isHeld(by: thread) { return true }
    guard let service else { return false }
    return service._withUnsafeGuaranteedRef { $0.executor?.isRun(by: thread) ?? false }
  }

  /// Takes the free role for a turn, and makes the turn due. The lock is held, and is not any more on return.
  private func scheduleTurn() {
    role.takeForTurn()
    // Held here, since it may be closed and gone before it is scheduled.
    let service = service?.takeUnretainedValue()
    lock.unlock()
    service?.schedule()
  }

  /// Takes the free role and delivers on this thread. The lock is held, and is not any more on return.
  private func deliver(first: State?, on thread: UnsafeMutablePointer<ThreadRecord>) {
    guard let service else {
      lock.unlock()
      first?.release()
      return
    }
    role.take(thread)
    service._withUnsafeGuaranteedRef { $0.deliver(first: first, on: thread, limit: Int.max).closed }?.release()
  }

  /// With the lock held: there is room again.
  @inline(__always)
  func signalRoom() { room?.signal() }
}

// MARK: - The service and the end

extension Stream {
  /// Makes `service` the stream's one reader. With the lock held.
  func attach(_ service: Service, _ reader: StreamState.Reader) -> StreamState.Attachment {
    let attachment = state.attach(reader)
    if case .attached = attachment { self.service = Unmanaged.passRetained(service) }
    return attachment
  }

  /// After `attach`: delivers what was sent before the service came, and starts the producer. The lock is held, and is
  /// not any more on return.
  func begin(hasWork: Bool, runsStart: Bool, on thread: UnsafeMutablePointer<ThreadRecord>) {
    if !hasWork {
      lock.unlock()
    } else if state.reader == .onSenders {
      deliver(first: nil, on: thread)
    } else {
      scheduleTurn()
    }
    guard runsStart, let start else { return }
    Callback.run(on: thread) { start(OpaquePointer(bitPattern: token.word), userData) }
    let isDestroyed = lock.withLock { state.startReturned() }
    if isDestroyed { freeUserData() }
  }

  /// Whether `service` is attached. With the lock held.
  func hasService(_ service: Service) -> Bool {
    guard let attached = self.service else { return false }
    return attached.toOpaque() == Unmanaged.passUnretained(service).toOpaque()
  }

  /// The service is closed: sends fail from now on. Gives the states that it had not taken. With the lock held.
  func detachService() -> StateBuffer {
    signalRoom()
    return state.detach()
  }

  /// Takes the closed service out, when nobody delivers any more. With the lock held; the stream's hold passes to the
  /// caller, who releases it without.
  func takeService() -> Unmanaged<Service>? {
    let taken = service
    service = nil
    return taken
  }

  package func finish() throws(Failure) {
    guard finishIfOpen() else {
      throw Failure(SVK_CLOSED) { text in text.append("the stream has ended already, or is a void stream") }
    }
  }

  /// After its token was withdrawn: ends it, and frees its user data.
  package func destroy() {
    abandon()
    // Senders on their way here have not counted themselves in. The caller still holds the stream.
    ReadSection.waitForOthers()
  }

  /// Nobody will send any more, nor attach a service: ends it, and frees its user data.
  package func abandon() {
    finishIfOpen()
    lock.lock()
    let isFree = state.destroy()
    // Without a service nobody will ever want it.
    var unread = state.reader == .none ? state.buffer.takeAll() : StateBuffer()
    lock.unlock()
    unread.releaseAll()
    if isFree { freeUserData() }
  }

  /// Ends it. False when it had ended already.
  @discardableResult
  package func finishIfOpen() -> Bool {
    lock.lock()
    let end = state.end(isFree: isRoleFree())
    if case .already = end {
      lock.unlock()
      return false
    }
    signalRoom()
    guard case .deliver = end else {
      lock.unlock()
      return true
    }
    if state.reader == .onSenders {
      deliver(first: nil, on: ThreadRecord.current)
    } else {
      scheduleTurn()
    }
    return true
  }

  private func freeUserData() {
    if let userDataFree { Callback.run { userDataFree(userData) } }
  }
}
