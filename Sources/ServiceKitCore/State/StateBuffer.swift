import CServiceKit

/// What happens to a new state when the consumer lags.
package struct BufferPolicy {
  package enum Kind { case unbounded, newest, oldest, block }

  package let kind: Kind
  package let capacity: Int

  /// From the fields of an options struct. `capacity` is a `size_t`: what is negative here is very large there.
  package init(buffering: Int32, capacity: Int) throws(Failure) {
    switch buffering {
    case SVK_BUFFER_UNBOUNDED: kind = .unbounded
    case SVK_BUFFER_NEWEST: kind = .newest
    case SVK_BUFFER_OLDEST: kind = .oldest
    case SVK_BUFFER_BLOCK: kind = .block
    default:
      throw Failure(SVK_INVALID_ARGUMENT) { text in
        text.append("`buffering` is ")
        text.append(Int64(buffering))
        text.append(", which is none of the SVK_BUFFER_... constants")
      }
    }
    guard kind == .unbounded || capacity != 0 else {
      throw Failure(SVK_INVALID_ARGUMENT) { text in
        text.append("a bounded buffer needs a `capacity` of at least 1; set it, or use SVK_BUFFER_UNBOUNDED")
      }
    }
    self.capacity = kind == .unbounded || capacity < 0 ? Int.max : capacity
  }

  /// `capacity`: at least 1.
  package init(kind: Kind, capacity: Int) {
    self.kind = kind
    self.capacity = capacity
  }

  package init(unbounded: Void) {
    kind = .unbounded
    capacity = Int.max
  }
}

/// States on their way to a consumer, oldest first, each held once. Guarded by its owner's lock.
struct StateBuffer: ~Copyable {
  struct Entry {
    let state: State
    /// How many states were lost between the one before and this one.
    var lostBefore: UInt64
  }

  private var ring: UnsafeMutablePointer<Entry>?
  /// 0 or a power of two.
  private var ringSize = 0
  private var first = 0
  private(set) var count = 0

  /// What an emptied buffer keeps of its memory, at most: a single burst is no reason to keep it for ever.
  private static let keptRingSize = 4096

  init() {}

  deinit {
    // Owners release what they kept, where user code may run; this is for none.
    ring?.deallocate()
  }

  var isEmpty: Bool { count == 0 }

  @inline(__always)
  mutating func append(_ state: State, lostBefore: UInt64 = 0) {
    if count == ringSize { grow() }
    let place = ring.unsafelyUnwrapped + ((first &+ count) & (ringSize &- 1))
    place.initialize(to: Entry(state: state, lostBefore: lostBefore))
    count &+= 1
  }

  @inline(__always)
  mutating func popFirst() -> Entry? {
    guard count > 0, let ring else { return nil }
    let entry = (ring + first).pointee
    first = (first &+ 1) & (ringSize &- 1)
    count &-= 1
    if count == 0, ringSize > StateBuffer.keptRingSize { shrink() }
    return entry
  }

  /// The oldest, which stays.
  var peek: State? { count > 0 ? (ring! + first).pointee.state : nil }

  /// States were lost before the oldest. False when there is none.
  mutating func addLostBeforeFirst(_ lost: UInt64) -> Bool {
    guard count > 0, let ring else { return false }
    (ring + first).pointee.lostBefore &+= lost
    return true
  }

  /// Releases all. Not under a lock.
  mutating func releaseAll() {
    while let entry = popFirst() { entry.state.release() }
  }

  /// Moves all out, to be released outside the owner's lock.
  mutating func takeAll() -> StateBuffer {
    var taken = StateBuffer()
    swap(&taken, &self)
    return taken
  }

  @inline(never)
  private mutating func grow() {
    let larger = max(8, ringSize * 2)
    let moved = UnsafeMutablePointer<Entry>.allocate(capacity: larger)
    for index in 0..<count { (moved + index).initialize(to: (ring! + ((first &+ index) & (ringSize &- 1))).pointee) }
    ring?.deallocate()
    ring = moved
    ringSize = larger
    first = 0
  }

  @inline(never)
  private mutating func shrink() {
    ring?.deallocate()
    ring = nil
    ringSize = 0
    first = 0
  }
}
