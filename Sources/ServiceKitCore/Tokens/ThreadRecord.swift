import CPlatform
import Synchronization

/// What the engine knows of one thread.
///
/// Records are never freed, so that other threads may look at them at any time; one whose thread has ended is taken
/// over by the next new thread, with the leases that are still held in its slots.
struct ThreadRecord: ~Copyable {
  /// How many callbacks into the program this thread is inside of.
  /// Stands first because ThreadSanitizer takes a change of any field for one of the first bytes, which therefore must
  /// not be among those that other threads read without a lock.
  var callbackDepth = 0
  /// Odd while the thread is inside a ``ReadSection``. Written by its thread only, on a line of its own, so that
  /// threads which resolve do not disturb each other.
  let section = Atomic<UInt>(0)
  /// The next record of all. Set before the record is published, never changed.
  let next: UnsafeMutablePointer<ThreadRecord>?
  let isTaken = Atomic<Bool>(true)
  /// 1 for the first record, and so on.
  let number: UInt

  /// Free lease slots, of which only this thread takes.
  var freeLeases: UnsafeMutablePointer<LeaseSlot>?
  /// Where this thread's next run of slots is put.
  var leaseGroup: UnsafeMutablePointer<LeaseGroup>?
  /// Slots of this record that other threads have released.
  let returnedLeases = Atomic<UnsafeMutablePointer<LeaseSlot>?>(nil)

  /// Memory for the states that this thread sends. Made at first use, never freed.
  var blocks: UnsafeMutablePointer<BlockCache>?

  /// Its thread is about to end.
  var isEnding = false
  /// The factories that this thread is inside of, innermost first, and what belongs to the whole resolve.
  var resolution = Resolution()
  /// The build that this thread waits for. Guarded by ``BuildWait``'s lock.
  var wait = BuildWait.State()
  var lastError = LastError()

  private init(next: UnsafeMutablePointer<ThreadRecord>?) {
    self.next = next
    number = (next?.pointee.number ?? 0) + 1
  }

  // MARK: - Records of threads

  private nonisolated(unsafe) static let first = Atomic<UnsafeMutablePointer<ThreadRecord>?>(nil)

  private static let threadLocal: ThreadLocal = {
    AsymmetricFence.prepare()
    return ThreadLocal { pointer in
      guard let pointer else { return }
      let record = pointer.assumingMemoryBound(to: ThreadRecord.self)
      // Once more around: what a face has for its threads ends first, and is this record's business until then.
      if !record.pointee.isEnding {
        record.pointee.isEnding = true
        ThreadRecord.threadLocal.pointer = pointer
        return
      }
      record.pointee.isEnding = false
      record.pointee.lastError.forget()
      // A thread that was ended inside of a callback takes the frames on its stack with it.
      record.pointee.resolution.enter(nil, depth: 0)
      record.pointee.callbackDepth = 0
      record.pointee.isTaken.store(false, ordering: .releasing)
    }
  }()

  /// This thread's record.
  static var current: UnsafeMutablePointer<ThreadRecord> {
    @inline(__always) get {
      guard let pointer = threadLocal.pointer else { return join() }
      return pointer.assumingMemoryBound(to: ThreadRecord.self)
    }
  }

  /// Calls `body` with every record there is.
  static func forEach(_ body: (UnsafeMutablePointer<ThreadRecord>) -> Void) {
    var record = first.load(ordering: .sequentiallyConsistent)
    while let current = record {
      body(current)
      record = current.pointee.next
    }
  }

  @inline(never)
  private static func join() -> UnsafeMutablePointer<ThreadRecord> {
    let record = takeOver() ?? create()
    threadLocal.pointer = UnsafeMutableRawPointer(record)
    return record
  }

  private static func takeOver() -> UnsafeMutablePointer<ThreadRecord>? {
    var record = first.load(ordering: .acquiring)
    while let current = record {
      if current.pointee.isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
        .exchanged
      {
        return current
      }
      record = current.pointee.next
    }
    return nil
  }

  private static func create() -> UnsafeMutablePointer<ThreadRecord> {
    // Whole cache lines, two of them apart, since processors fetch lines in pairs.
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: (MemoryLayout<ThreadRecord>.size + 127) & ~127, alignment: 128)
    let record = memory.assumingMemoryBound(to: ThreadRecord.self)
    while true {
      let head = first.load(ordering: .acquiring)
      record.initialize(to: ThreadRecord(next: head))
      if first.compareExchange(expected: head, desired: record, ordering: .sequentiallyConsistent).exchanged {
        return record
      }
      record.deinitialize(count: 1)
    }
  }
}

/// Marks a stretch of user code on this thread, in which no call may wait for another callback to end.
enum Callback {
  @inline(__always)
  static func run<Result>(_ body: () -> Result) -> Result {
    let thread = ThreadRecord.current
    thread.pointee.callbackDepth &+= 1
    let result = body()
    thread.pointee.callbackDepth &-= 1
    return result
  }

  /// The same for a caller that knows its thread.
  @inline(__always)
  static func run<Result>(on thread: UnsafeMutablePointer<ThreadRecord>, _ body: () -> Result) -> Result {
    thread.pointee.callbackDepth &+= 1
    let result = body()
    thread.pointee.callbackDepth &-= 1
    return result
  }

  /// Whether this thread is inside a callback of the library.
  static var isRunning: Bool { ThreadRecord.current.pointee.callbackDepth > 0 }
}
