import CPlatform

/// A joinable thread of the library's own, all signals blocked, so that a host's handlers never run on it.
package struct WorkerThread {
  private var identity: pthread_t

  /// Starts `body` with `context`. Nil when the system refuses a thread.
  package init?(
    _ context: UnsafeMutableRawPointer,
    body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  ) {
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

/// Waits until `descriptor` is readable. False when the deadline has passed before. It may also come back too early.
func poll(_ descriptor: Int32, until deadline: Deadline) -> Bool {
  var timeout: Int32 = -1
  if case .at(let end) = deadline {
    let now = Clock.now()
    guard now < end else { return false }
    // Rounded up: a wait that ends too early would be a busy one.
    timeout = Int32(truncatingIfNeeded: min((end - now + 999_999) / 1_000_000, UInt64(Int32.max)))
  }
  var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return CPlatform.poll(&watched, 1, timeout) != 0 || !deadline.hasPassed
}
