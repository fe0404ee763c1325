import Synchronization

/// Gives turns wherever the program has them given: on an actor, for example. When a turn has become due it asks for a
/// ``run()``, and does not ask again before that has come.
package final class HostExecutor: Executor, @unchecked Sendable {
  private let ask: (HostExecutor) -> Void
  private let isAsked = Atomic<Bool>(false)

  /// `ask` is called on any thread, without a lock, and sees to it that ``run()`` is called, by one thread at a time.
  package init(ask: @escaping (HostExecutor) -> Void) {
    self.ask = ask
    super.init()
  }

  override func workWasScheduled() {
    if !isAsked.exchange(true, ordering: .acquiringAndReleasing) { ask(self) }
  }

  /// Gives the turns that are due just now. True when others have become due meanwhile: then it is to be called again.
  package func run() -> Bool {
    let thread = ThreadRecord.current
    lock.lock()
    runner = UInt(bitPattern: thread)
    var turns = ready.count
    while turns > 0, !ready.isEmpty {
      turns -= 1
      _ = giveTurn(thread, limit: Int.max - 1)
    }
    runner = 0
    let hasMore = !ready.isEmpty
    // With the lock: who makes a turn due after this asks, and what was made due before this is seen here.
    if !hasMore { isAsked.store(false, ordering: .releasing) }
    lock.unlock()
    return hasMore
  }
}
