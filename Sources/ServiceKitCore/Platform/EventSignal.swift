import CPlatform
import Synchronization

/// A file descriptor that is readable from `set()` until `clear()`: an eventfd on Linux, a pipe elsewhere.
///
/// After a fork the child's first use opens a descriptor of its own, since parent and child would otherwise share one
/// kernel object and take each other's signals. All calls but `set()` are serialised by the caller; `set()` may be
/// called from a signal handler, as long as the signal lives.
package final class EventSignal {
  private let readEnd = Atomic<Int32>(-1)
  private let writeEnd = Atomic<Int32>(-1)
  private let isSet = Atomic<Bool>(false)
  private let forkCount: Atomic<UInt64>

  /// Nil when the system has no descriptor left.
  package init?() {
    forkCount = Atomic(Fork.count)
    guard open() else { return nil }
  }

  deinit { close() }

  /// The descriptor to watch, or -1 when a forked child could not open its own.
  package var descriptor: Int32 {
    followFork()
    return readEnd.load(ordering: .relaxed)
  }

  /// Makes the descriptor readable. A signal that is already set costs one atomic exchange and no system call.
  package func set() {
    followFork()
    guard !isSet.exchange(true, ordering: .sequentiallyConsistent) else { return }
    writeOne()
  }

  /// Makes the descriptor readable again although it may be so already, for edge-triggered watchers.
  package func setAgain() {
    isSet.store(true, ordering: .sequentiallyConsistent)
    writeOne()
  }

  /// Makes the descriptor unreadable. What became ready before this call must be looked for after it.
  ///
  /// The flag falls first, so that a set() from then on writes. If one did so before the read, the read took its signal
  /// along, and it is given anew. A set() whose write is still to come makes the descriptor readable a little late, and
  /// at worst once for nothing.
  package func clear() {
    followFork()
    isSet.store(false, ordering: .sequentiallyConsistent)
    var buffer: UInt64 = 0
    #if os(Linux)
      _ = read(readEnd.load(ordering: .relaxed), &buffer, 8)
    #else
      while read(readEnd.load(ordering: .relaxed), &buffer, 8) > 0 {}
    #endif
    if isSet.load(ordering: .sequentiallyConsistent) { writeOne() }
  }

  private func writeOne() {
    var one: UInt64 = 1
    // May run in a signal handler, which must leave errno as it was.
    let saved = SystemError.current
    while write(writeEnd.load(ordering: .relaxed), &one, 8) < 0, SystemError.current == EINTR {}
    SystemError.current = saved
  }

  private func open() -> Bool {
    #if os(Linux)
      let descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
      guard descriptor >= 0 else { return false }
      readEnd.store(descriptor, ordering: .relaxed)
      writeEnd.store(descriptor, ordering: .relaxed)
    #else
      var ends: (Int32, Int32) = (-1, -1)
      guard withUnsafeMutableBytes(of: &ends, { pipe($0.baseAddress!.assumingMemoryBound(to: Int32.self)) }) == 0 else {
        return false
      }
      _ = fcntl(ends.0, F_SETFL, O_NONBLOCK)
      _ = fcntl(ends.1, F_SETFL, O_NONBLOCK)
      _ = fcntl(ends.0, F_SETFD, FD_CLOEXEC)
      _ = fcntl(ends.1, F_SETFD, FD_CLOEXEC)
      readEnd.store(ends.0, ordering: .relaxed)
      writeEnd.store(ends.1, ordering: .relaxed)
    #endif
    return true
  }

  private func close() {
    let (read, write) = (readEnd.load(ordering: .relaxed), writeEnd.load(ordering: .relaxed))
    if read >= 0 { _ = CPlatform.close(read) }
    if write >= 0, write != read { _ = CPlatform.close(write) }
    readEnd.store(-1, ordering: .relaxed)
    writeEnd.store(-1, ordering: .relaxed)
  }

  private func followFork() {
    let now = Fork.count
    let before = forkCount.load(ordering: .relaxed)
    guard before != now,
      forkCount.compareExchange(expected: before, desired: now, ordering: .sequentiallyConsistent).exchanged
    else { return }
    close()
    // A set() that came between wrote nowhere, but raised the flag first.
    if open(), isSet.load(ordering: .sequentiallyConsistent) { writeOne() }
  }
}
