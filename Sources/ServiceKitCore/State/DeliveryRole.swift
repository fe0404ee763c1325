import Synchronization

/// The right to deliver a service's states, held by one thread at a time, or by a turn that is due.
///
/// It is taken with the stream's lock held, and can be given up without: so a send to a quiet service takes the lock
/// once and not twice. Whoever, with the lock, relies on the role being held, calls ``holder()``: from then on it is
/// not given up without the lock.
struct DeliveryRole: ~Copyable {
  /// 0: free. Else the address of the thread's record, 0 for a turn that is due, with the marks in the low bits.
  private let word = Atomic<UInt>(0)

  private enum Mark {
    static let held: UInt = 1
    /// Something has come meanwhile: to be given up with the lock only.
    static let pinned: UInt = 2
  }

  enum Holder {
    case nobody
    case turn
    /// The address of the thread's record.
    case thread(UInt)

    var isThread: Bool {
      if case .thread = self { return true }
      return false
    }

    /// Whether another thread than `thread` is delivering.
    func isOther(than thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
      if case .thread(let holder) = self { return holder != UInt(bitPattern: thread) }
      return false
    }
  }

  // MARK: - With the lock held

  @inline(__always)
  var isFree: Bool { word.load(ordering: .acquiring) == 0 }

  /// Of a free role, or of one that a turn holds.
  @inline(__always)
  func take(_ thread: UnsafeMutablePointer<ThreadRecord>) {
    word.store(UInt(bitPattern: thread) | Mark.held, ordering: .relaxed)
  }

  /// Of a free role: a turn will be due.
  func takeForTurn() { word.store(Mark.held | Mark.pinned, ordering: .relaxed) }

  /// Who holds it. If anybody, then at least until the caller leaves the lock.
  func holder() -> Holder {
    let now = word.bitwiseOr(Mark.pinned, ordering: .acquiringAndReleasing).oldValue
    guard now & Mark.held != 0 else {
      word.store(0, ordering: .relaxed)
      return .nobody
    }
    let thread = now & ~(Mark.held | Mark.pinned)
    return thread == 0 ? .turn : .thread(thread)
  }

  func giveUp() { word.store(0, ordering: .releasing) }

  // MARK: - With or without

  /// Whether `thread` holds it.
  func isHeld(by thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    word.load(ordering: .relaxed) & ~(Mark.held | Mark.pinned) == UInt(bitPattern: thread)
  }

  /// By the holder, without the lock. False when something has come meanwhile: then the lock must be taken.
  @inline(__always)
  func giveUpUnpinned(_ thread: UnsafeMutablePointer<ThreadRecord>) -> Bool {
    word.compareExchange(
      expected: UInt(bitPattern: thread) | Mark.held, desired: 0, ordering: .acquiringAndReleasing
    ).exchanged
  }
}
