import CPlatform
import CServiceKit
import Synchronization

/// Gives turns on whichever thread of the program asks for them, and has a descriptor that says when to ask.
package final class Dispatcher: Executor {
  private let signal: EventSignal
  /// Also set in signal handlers.
  private let isWoken = Atomic<Bool>(false)
  /// The thread that dispatches waits for work. Guarded by `lock`.
  private var isWaiting = false
  /// Something has become due, or the end has come, since a dispatch last looked.
  private let isStirred = Atomic<Bool>(false)
  /// The last dispatch had something to do. Guarded by `lock`.
  private var wasBusy = false

  /// A dispatch without a limit gives this many rounds of turns, at most. What its callbacks send to themselves for
  /// ever is left for the next dispatch, so that the program's loop goes on.
  private static let mostRounds = 64

  private init(_ signal: EventSignal) { self.signal = signal }

  package static func create() throws(Failure) -> Token {
    guard let signal = EventSignal() else {
      throw Failure(SVK_SYSTEM_ERROR) { text in
        text.append("the system has no file descriptor for the dispatcher; close some, or raise the limit")
      }
    }
    return TokenTable.add(.dispatcher, Dispatcher(signal))
  }

  /// The descriptor to watch.
  package func descriptor() throws(Failure) -> Int32 {
    let descriptor = lock.withLock { signal.descriptor }
    guard descriptor >= 0 else {
      throw Failure(SVK_SYSTEM_ERROR) { text in
        text.append("the system has no file descriptor for this process's dispatcher; close some, or raise the limit")
      }
    }
    return descriptor
  }

  /// Wakes the dispatch that waits, or the next that would. False when there is no such dispatcher. May be called in a
  /// signal handler: takes no lock, makes no failure.
  package static func wake(_ token: Token) -> Bool {
    TokenTable.withFromSignalHandler(token, .dispatcher, Dispatcher.self) { dispatcher in
      dispatcher.isWoken.store(true, ordering: .sequentiallyConsistent)
      dispatcher.signal.set()
    }
  }

  override func workArrived() {
    isStirred.store(true, ordering: .relaxed)
    // While a dispatch is under way it looks by itself; at its end it signals what it leaves.
    if runner == 0 || isWaiting { signal.set() }
  }

  override func workWithdrawn() {
    if runner == 0 || isWaiting { clearSignal() }
  }

  /// Makes the descriptor unreadable unless a wake is to be told of. With the lock held.
  private func clearSignal() {
    // Who waits must see the end, too.
    guard !hasEnded, !isWoken.load(ordering: .sequentiallyConsistent) else { return }
    signal.clear()
    // A wake in between may have found the signal set, and relied on it.
    if isWoken.load(ordering: .sequentiallyConsistent) { signal.set() }
  }
}

// MARK: - Dispatching

extension Dispatcher {
  /// Runs what is ready, at most `most` callbacks (0 or less: no limit), and waits for the first. `count` is how many
  /// were run.
  package func dispatch(most: Int, timeout: Int64, count: inout Int) throws(Failure) {
    let thread = ThreadRecord.current
    let limit = most <= 0 ? Int.max - 1 : min(most, Int.max - 1)
    lock.lock()
    guard !hasEnded, runner == 0 else {
      let isBusy = !hasEnded
      lock.unlock()
      throw isBusy ? Dispatcher.busy() : Dispatcher.closed()
    }
    runner = UInt(bitPattern: thread)
    var deadline: Deadline?
    var outcome = Outcome.nothing
    while true {
      outcome = runReady(limit, on: thread, &count)
      guard outcome == .nothing, timeout != 0 else { break }
      if wasBusy, timeout < 0 || timeout > Dispatcher.shortTimeout, lingerForWork() { continue }
      let end = deadline ?? Deadline(timeout: timeout)
      deadline = end
      guard waitForWork(until: end) else { break }
    }
    runner = 0
    wasBusy = outcome == .done
    if hasEnded, count == 0 { outcome = .closed }
    if !ready.isEmpty { signal.setAgain() }
    lock.unlock()
    switch outcome {
    case .done: return
    case .closed: throw Dispatcher.closed()
    case .nothing: throw Failure(SVK_TIMEOUT) { text in text.append("nothing was ready, and no wake came") }
    }
  }

  private enum Outcome { case done, nothing, closed }

  /// Gives the turns that are due. The lock is held, and let go meanwhile.
  private func runReady(
    _ limit: Int, on thread: UnsafeMutablePointer<ThreadRecord>, _ count: inout Int
  ) -> Outcome {
    // First cleared, then looked: what comes in between is seen, and what comes after that signals anew or is seen.
    signal.clear()
    var didWork = isWoken.exchange(false, ordering: .sequentiallyConsistent)
    var rounds = 0
    while rounds < Dispatcher.mostRounds, !ready.isEmpty, count < limit {
      rounds += 1
      var turns = ready.count
      while turns > 0, !ready.isEmpty, count < limit, !hasEnded {
        turns -= 1
        let turn = giveTurn(thread, limit: limit - count)
        count += turn.calls
        didWork = didWork || turn.didWork
      }
      if hasEnded { return didWork ? .done : .closed }
    }
    return didWork ? .done : hasEnded ? .closed : .nothing
  }

  /// Below it, in nanoseconds, a dispatch does not linger.
  private static let shortTimeout: Int64 = 50_000

  /// Looks for work for two or three microseconds before it sleeps: while states come fast, neither their sender nor
  /// this thread then calls the system, and they are taken several at a time. The lock is held, and let go meanwhile.
  private func lingerForWork() -> Bool {
    wasBusy = false
    isStirred.store(false, ordering: .relaxed)
    lock.unlock()
    var looks = 8
    while looks > 0, !isStirred.load(ordering: .relaxed), !isWoken.load(ordering: .relaxed) {
      looks -= 1
      for _ in 0..<16 { platform_pause() }
    }
    lock.lock()
    return looks > 0 || !ready.isEmpty || hasEnded
  }

  /// False when the deadline has passed. The lock is held, and let go meanwhile.
  private func waitForWork(until deadline: Deadline) -> Bool {
    isWaiting = true
    let descriptor = signal.descriptor
    lock.unlock()
    let isInTime = poll(descriptor, until: deadline)
    lock.lock()
    isWaiting = false
    return isInTime || !ready.isEmpty || hasEnded
  }

  private static func busy() -> Failure {
    Failure(SVK_BUSY) { text in
      text.append("a dispatch of this dispatcher is under way already, on another thread or further up on this one")
    }
  }

  private static func closed() -> Failure {
    Failure(SVK_CLOSED) { text in text.append("the dispatcher was destroyed") }
  }

  // MARK: - The end

  /// After its token was withdrawn: wakes who waits, and ends what delivers here. SVK_OK when all is quiet, else
  /// SVK_DEFERRED.
  package func destroy() -> Int32 {
    let members = lock.withLock {
      hasEnded = true
      isStirred.store(true, ordering: .relaxed)
      signal.set()
      return self.members
    }
    var endings: [DeliveryTarget.Ending] = []
    for member in members { endings.append(contentsOf: member.closeWithDispatcher()) }
    return endings.settle(mayWait: !Callback.isRunning)
  }
}
