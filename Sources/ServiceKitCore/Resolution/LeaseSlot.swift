import Synchronization

/// Where a lease is held: handle, reference and hazard pointer at once.
///
/// A slot belongs to the thread that took it, which alone takes it again; any thread may release it. To lease a cached
/// instance a thread writes to its own slot only, so that threads which resolve the same key do not slow each other
/// down. The price is paid by whoever retires an instance: it looks through the slots in use (see ``Retirement``).
struct LeaseSlot: ~Copyable {
  /// The next free slot of the same thread, while this one is free.
  /// Stands first because ThreadSanitizer takes a change of any field for one of the first bytes, which therefore must
  /// not be among those that other threads read without a lock.
  var nextFree: UnsafeMutablePointer<LeaseSlot>?
  /// While held: kind and generation as in the token, and the marks. While free: the next generation, kind 0.
  let state: Atomic<UInt>
  let instance: Atomic<UnsafeMutablePointer<Instance>?>
  /// The instance's pointer as the program knows it, so that `svk_instance` reads nothing but the slot.
  let value: Atomic<UnsafeMutableRawPointer?>
  /// Which key of which container, for the descriptions. Valid as long as the lease is held.
  let container: Atomic<UnsafeRawPointer?>
  let cell: Atomic<UnsafeMutablePointer<Cell>?>
  var run: UnsafeMutablePointer<LeaseRun>
  var index: UInt

  /// The marks in the bits that hold the index in a token.
  enum Mark {
    /// The lease is counted in the instance, which must be told of its end.
    static let counted: UInt = 1
    /// The lease belongs to an instance that required it, not to the program.
    static let dependency: UInt = 2
  }
}
