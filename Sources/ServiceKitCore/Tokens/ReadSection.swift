import Synchronization

/// A stretch of a few instructions in which this thread follows pointers in structures that others change.
///
/// Whoever takes something out of such a structure calls ``waitForOthers()`` before freeing it: from then on no thread
/// is still on its way to it. Nothing inside a section waits, allocates or calls the program,
/// but for a send, which stays in its section until it has its stream's lock: nobody may call ``waitForOthers()`` with
/// a stream's lock held.
enum ReadSection {
  /// Between this mark and the section's loads stands the light side of an ``AsymmetricFence``, whose heavy side is in
  /// ``waitForOthers()``: either the loads see that something is gone, or `waitForOthers` sees the section.
  @inline(__always)
  static func enter(_ thread: UnsafeMutablePointer<ThreadRecord>) {
    let count = thread.pointee.section.load(ordering: .relaxed)
    thread.pointee.section.store(count &+ 1, ordering: .relaxed)
    AsymmetricFence.light()
  }

  @inline(__always)
  static func leave(_ thread: UnsafeMutablePointer<ThreadRecord>) {
    let count = thread.pointee.section.load(ordering: .relaxed)
    thread.pointee.section.store(count &+ 1, ordering: .releasing)
  }

  /// Returns when every section that was open at the call has been left.
  static func waitForOthers() {
    AsymmetricFence.heavy()
    ThreadRecord.forEach { record in
      let seen = record.pointee.section.load(ordering: .acquiring)
      guard seen & 1 == 1 else { return }
      while record.pointee.section.load(ordering: .acquiring) == seen { yieldProcessor() }
    }
  }
}
