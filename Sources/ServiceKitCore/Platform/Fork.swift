import CPlatform
import Synchronization

/// Counts the forks between the first process and this one, so that what a child cannot share is made anew.
package enum Fork {
  private static let counter = Atomic<UInt64>(0)

  /// How often this process's ancestors forked since the library was first used.
  package static var count: UInt64 { counter.load(ordering: .relaxed) }

  /// Called once, when the engine starts. The handler runs in the child only and does nothing but count.
  static func observe() {
    pthread_atfork(nil, nil) { _ = Fork.counter.wrappingAdd(1, ordering: .relaxed) }
  }
}
