/// Something that one thread is at work on, and that others may wait for.
package class Awaited {
  let thread: UnsafeMutablePointer<ThreadRecord>
  /// The factory in which that thread began it; nil if in none, or if it is a factory itself.
  let outer: UnsafeMutablePointer<Resolution.Frame>?
  /// What it is called on the path of a cycle if no factory stands for it.
  let name: OwnedBytes?

  // Guarded by BuildWait's lock.
  var isOver = false
  let changed = Condition()

  init(
    thread: UnsafeMutablePointer<ThreadRecord>, outer: UnsafeMutablePointer<Resolution.Frame>? = nil,
    name: OwnedBytes? = nil
  ) {
    self.thread = thread
    self.outer = outer
    self.name = name
  }
}

/// Work of a face of its own, which calls factories: so that cycles are found that go through both.
package final class HostWork: Awaited {
  package enum Answer {
    case over
    /// Waiting for it would have no end: the cycle in words.
    case cycle(OwnedBytes)
  }

  /// This thread begins.
  package init(name: OwnedBytes) {
    let thread = ThreadRecord.current
    super.init(thread: thread, outer: thread.pointee.resolution.innermost, name: name)
  }

  /// It is over, whoever says so: wakes those who wait. Once.
  package func end() { BuildWait.end(self) }

  /// Waits until it is over. Not for the thread that is at work on it.
  package func wait() -> Answer { BuildWait.wait(for: self) }
}
