import CPlatform

/// A mutual-exclusion lock over `pthread_mutex_t`, which, unlike a futex of our own, stays usable in a forked child.
///
/// It is not recursive. No user code may run while one is held.
package struct Lock: ~Copyable {
  fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>

  package init() {
    // Not `allocate`, which takes several times as long: there is a lock in every subscription.
    guard let memory = malloc(MemoryLayout<pthread_mutex_t>.size) else { abort() }
    mutex = memory.initializeMemory(as: pthread_mutex_t.self, to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    free(mutex)
  }

  package func lock() { pthread_mutex_lock(mutex) }
  package func unlock() { pthread_mutex_unlock(mutex) }

  package func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }
}

/// A condition variable on the monotonic clock. Waits may end spuriously: check the predicate in a loop.
package struct Condition: ~Copyable {
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  package init() {
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    #if os(Linux)
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #else
      pthread_cond_init(condition, nil)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
  }

  package func signalAll() { pthread_cond_broadcast(condition) }

  /// Waits for a signal, with `lock` held by the caller.
  package func wait(_ lock: borrowing Lock) { pthread_cond_wait(condition, lock.mutex) }

  /// Waits for a signal, with `lock` held by the caller. Answers false when `deadline` has passed.
  package func wait(_ lock: borrowing Lock, until deadline: Deadline) -> Bool {
    guard case .at(let end) = deadline else {
      wait(lock)
      return true
    }
    let now = Clock.now()
    guard now < end else { return false }
    #if os(Linux)
      var time = Clock.timespec(nanoseconds: end)
      return pthread_cond_timedwait(condition, lock.mutex, &time) != ETIMEDOUT
    #else
      var time = Clock.timespec(nanoseconds: end - now)
      return pthread_cond_timedwait_relative_np(condition, lock.mutex, &time) != ETIMEDOUT
    #endif
  }
}
