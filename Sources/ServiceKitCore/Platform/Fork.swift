import CPlatform
import Synchronization

/// Counts the forks between the first process and this one, so that what a child cannot share is made anew.
package enum Fork {
  private static let counter = Atomic<UInt64>(0)

  /// The handler runs in the child only, and does nothing but count.
  private static let isObserved: Bool =
    pthread_atfork(nil, nil) { _ = Fork.counter.wrappingAdd(1, ordering: .relaxed) } == 0

  /// How often this process's ancestors forked since somebody first asked. Whoever makes something that a child cannot
  /// share asks then, and so is sure to see the next fork; to ask again is safe in a signal handler.
  package static var count: UInt64 {
    _ = isObserved
    return counter.load(ordering: .relaxed)
  }
}
