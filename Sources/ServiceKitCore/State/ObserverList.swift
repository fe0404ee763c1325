/// The subscriptions of a service in the order in which they came. A list that is being walked is not changed: whoever
/// changes it makes a copy, and the old one is then the walker's. So a walk needs neither a lock nor a count.
///
/// Holds each subscription once. Guarded by the stream's lock.
struct ObserverList: ~Copyable {
  private(set) var entries: UnsafeMutablePointer<Unmanaged<Subscription>>?
  private(set) var count = 0
  private var capacity = 0
  private var isWalked = false

  init() {}

  /// A walk over the list as it is now.
  struct Walk {
    fileprivate(set) var entries: UnsafeMutablePointer<Unmanaged<Subscription>>?
    fileprivate(set) var count = 0

    @inline(__always)
    subscript(index: Int) -> Unmanaged<Subscription> { (entries.unsafelyUnwrapped + index).pointee }

    func forEach(_ body: (Subscription) -> Void) {
      for index in 0..<count { (entries! + index).pointee._withUnsafeGuaranteedRef(body) }
    }

    /// Releases a list that is the walker's own. Not under a lock.
    func dispose() {
      for index in 0..<count { (entries! + index).pointee.release() }
      entries?.deallocate()
    }
  }

  @inline(__always)
  mutating func beginWalk() -> Walk {
    isWalked = true
    return Walk(entries: entries, count: count)
  }

  /// Nobody is walking, although a walk was begun: it was not worth the lock to say that it was over.
  mutating func forgetWalk() { isWalked = false }

  /// True when the list was changed meanwhile, so that the walk must be disposed of, outside the lock.
  @inline(__always)
  mutating func endWalk() -> Bool {
    let wasReplaced = !isWalked
    isWalked = false
    return wasReplaced
  }

  mutating func append(_ subscription: Subscription) {
    if isWalked || count == capacity { move(capacity: max(4, count &+ 1, count == capacity ? count * 2 : capacity)) }
    (entries! + count).initialize(to: Unmanaged.passRetained(subscription))
    count += 1
  }

  /// Takes one out. Its hold passes to the caller, to be released outside the lock. Nil when it is not there.
  mutating func remove(_ subscription: Subscription) -> Unmanaged<Subscription>? {
    let wanted = Unmanaged.passUnretained(subscription)
    // From the end: what was added last is often removed first.
    var index = count - 1
    while index >= 0, (entries! + index).pointee.toOpaque() != wanted.toOpaque() { index -= 1 }
    guard index >= 0 else { return nil }
    if isWalked { move(capacity: capacity) }
    count -= 1
    for moved in index..<count { (entries! + moved).pointee = (entries! + moved + 1).pointee }
    return wanted
  }

  /// Takes all out. What is not being walked any more must be disposed of, outside the lock.
  mutating func takeAll() -> Walk {
    if isWalked { move(capacity: capacity) }
    let all = Walk(entries: entries, count: count)
    entries = nil
    count = 0
    capacity = 0
    return all
  }

  /// Moves to other memory. The old is freed, or left to the walker with holds of its own.
  private mutating func move(capacity larger: Int) {
    let moved = UnsafeMutablePointer<Unmanaged<Subscription>>.allocate(capacity: larger)
    for index in 0..<count {
      let entry = (entries! + index).pointee
      if isWalked { _ = entry.retain() }
      (moved + index).initialize(to: entry)
    }
    if !isWalked { entries?.deallocate() }
    isWalked = false
    entries = moved
    capacity = larger
  }
}
