/// A condition and how many wait for it, so that nobody signals when nobody waits. Made only where somebody may.
final class WaitPoint {
  private let condition = Condition()
  /// Guarded by the lock that the waiters hold.
  private var waiters = 0

  /// Waits for a signal with `lock` held. False when the deadline has passed. Check the predicate in a loop.
  func wait(_ lock: borrowing Lock, until deadline: Deadline) -> Bool {
    waiters += 1
    defer { waiters -= 1 }
    return condition.wait(lock, until: deadline)
  }

  /// With the lock held.
  @inline(__always)
  func signal() {
    if waiters > 0 { condition.signalAll() }
  }
}
