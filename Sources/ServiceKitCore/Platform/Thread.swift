import CPlatform

/// A joinable thread of the library's own, all signals blocked, so that a host's handlers never run on it.
package struct WorkerThread {
  private var identity: pthread_t

  /// Starts `body` with `context`. Nil when the system refuses a thread.
  package init?(_ context: UnsafeMutableRawPointer, body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?) {
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    #if os(Linux)
      var started = pthread_t()
      guard pthread_create(&started, nil, body, context) == 0 else { return nil }
      identity = started
    #else
      var started: pthread_t?
      guard pthread_create(&started, nil, { body($0) }, context) == 0, let started else { return nil }
      identity = started
    #endif
  }

  package func join() { pthread_join(identity, nil) }
  package func detach() { pthread_detach(identity) }
  package var isCurrent: Bool { pthread_equal(identity, pthread_self()) != 0 }
}

/// Gives the processor away for a moment: in a wait for another thread that is known to be inside a few instructions.
package func yieldProcessor() { sched_yield() }
