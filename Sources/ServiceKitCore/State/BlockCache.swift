import CPlatform
import Synchronization

/// Memory for states, recycled. Each thread has one cache, from which it alone takes; any thread gives back.
///
/// Sender and observer are often two threads, and a heap pays for memory that one takes and the other frees. Records of
/// threads live as long as the process, and so do their caches; what they keep is bounded.
struct BlockCache: ~Copyable {
  /// Blocks that other threads gave back, of every size.
  private let returned = Atomic<UnsafeMutablePointer<StateBlock>?>(nil)
  /// About how many. Two threads may miss each other's count: it only has to keep the list from growing for ever.
  private let returnedCount = Atomic<Int>(0)
  /// One for each size. Only the owning thread's.
  private let lists: UnsafeMutablePointer<FreeList>

  private struct FreeList {
    var first: UnsafeMutablePointer<StateBlock>?
    var count = 0
  }

  private static let classCount = 4
  /// Keeps one list of one thread below half a megabyte.
  @inline(__always)
  private static func limit(_ sizeClass: Int) -> Int { 4096 &>> sizeClass }
  private static func byteCount(_ sizeClass: Int) -> Int { 128 &<< sizeClass }

  /// A block with room for `size` bytes, held once. Its data, size and version are the caller's to set.
  @inline(__always)
  static func take(
    _ size: Int, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> UnsafeMutablePointer<StateBlock> {
    let needed = StateBlock.headerSize + size
    guard needed <= byteCount(classCount - 1) else { return allocate(needed, classCount, nil) }
    let sizeClass = needed <= 128 ? 0 : Int.bitWidth - (needed - 1).leadingZeroBitCount - 7
    let cache = thread.pointee.blocks ?? create(on: thread)
    guard let block = cache.pointee.pop(sizeClass) else { return refill(cache, sizeClass) }
    block.pointee.references.store(1, ordering: .relaxed)
    block.pointee.freeData = nil
    return block
  }

  /// Takes back a block that nobody holds.
  @inline(__always)
  static func giveBack(
    _ block: UnsafeMutablePointer<StateBlock>, on thread: UnsafeMutablePointer<ThreadRecord>
  ) {
    guard let cache = block.pointee.cache else {
      free(block)
      return
    }
    if cache == thread.pointee.blocks {
      cache.pointee.push(block)
    } else {
      giveBack(block, toOther: cache)
    }
  }

  @inline(never)
  private static func giveBack(
    _ block: UnsafeMutablePointer<StateBlock>, toOther cache: UnsafeMutablePointer<BlockCache>
  ) {
    var blocks = Returned()
    blocks.add(block, of: cache)
    blocks.flush()
  }

  /// Blocks of another thread on their way back, together: each return costs a line that two processors write.
  struct Returned {
    private var cache: UnsafeMutablePointer<BlockCache>?
    private var first: UnsafeMutablePointer<StateBlock>?
    private var last: UnsafeMutablePointer<StateBlock>?
    private var count = 0

    private static let most = 64

    /// Takes back a block that nobody holds.
    @inline(__always)
    mutating func giveBack(
      _ block: UnsafeMutablePointer<StateBlock>, on thread: UnsafeMutablePointer<ThreadRecord>
    ) {
      guard let cache = block.pointee.cache, cache != thread.pointee.blocks else {
        BlockCache.giveBack(block, on: thread)
        return
      }
      add(block, of: cache)
    }

    @inline(__always)
    fileprivate mutating func add(
      _ block: UnsafeMutablePointer<StateBlock>, of owner: UnsafeMutablePointer<BlockCache>
    ) {
      if cache != owner || count >= Returned.most { flush() }
      cache = owner
      block.pointee.next = first
      if first == nil { last = block }
      first = block
      count &+= 1
    }

    @inline(never)
    mutating func flush() {
      guard let cache, let first, let last else { return }
      cache.pointee.take(first, last, count)
      self.first = nil
      count = 0
    }
  }

  /// Puts a chain of blocks in front of those that other threads gave back before.
  private func take(
    _ first: UnsafeMutablePointer<StateBlock>, _ last: UnsafeMutablePointer<StateBlock>, _ added: Int
  ) {
    let count = returnedCount.load(ordering: .relaxed)
    last.pointee.next = nil
    guard count < BlockCache.limit(0) else {
      BlockCache.freeChain(first)
      return
    }
    returnedCount.store(count &+ added, ordering: .relaxed)
    var head = returned.load(ordering: .relaxed)
    while true {
      last.pointee.next = head
      let (exchanged, now) = returned.compareExchange(expected: head, desired: first, ordering: .releasing)
      if exchanged { return }
      head = now
    }
  }

  private static func freeChain(_ chain: UnsafeMutablePointer<StateBlock>) {
    var next: UnsafeMutablePointer<StateBlock>? = chain
    while let block = next {
      next = block.pointee.next
      free(block)
    }
  }

  @inline(never)
  private static func refill(
    _ cache: UnsafeMutablePointer<BlockCache>, _ sizeClass: Int
  ) -> UnsafeMutablePointer<StateBlock> {
    var block = cache.pointee.returned.exchange(nil, ordering: .acquiring)
    cache.pointee.returnedCount.store(0, ordering: .relaxed)
    while let current = block {
      block = current.pointee.next
      cache.pointee.push(current)
    }
    guard let block = cache.pointee.pop(sizeClass) else { return allocate(byteCount(sizeClass), sizeClass, cache) }
    block.pointee.references.store(1, ordering: .relaxed)
    block.pointee.freeData = nil
    return block
  }

  @inline(never)
  private static func allocate(
    _ byteCount: Int, _ sizeClass: Int, _ cache: UnsafeMutablePointer<BlockCache>?
  ) -> UnsafeMutablePointer<StateBlock> {
    guard let memory = malloc(byteCount) else { abort() }
    let block = memory.assumingMemoryBound(to: StateBlock.self)
    block.initialize(
      to: StateBlock(
        references: Atomic(1), version: 0, data: nil, size: 0, freeData: nil, cache: cache, sizeClass: sizeClass,
        next: nil))
    return block
  }

  @inline(never)
  private static func create(on thread: UnsafeMutablePointer<ThreadRecord>) -> UnsafeMutablePointer<BlockCache> {
    let cache = UnsafeMutablePointer<BlockCache>.allocate(capacity: 1)
    cache.initialize(to: BlockCache())
    thread.pointee.blocks = cache
    return cache
  }

  private init() {
    lists = .allocate(capacity: BlockCache.classCount)
    lists.initialize(repeating: FreeList(), count: BlockCache.classCount)
  }

  @inline(__always)
  private func pop(_ sizeClass: Int) -> UnsafeMutablePointer<StateBlock>? {
    let list = lists + sizeClass
    guard let block = list.pointee.first else { return nil }
    list.pointee.first = block.pointee.next
    list.pointee.count &-= 1
    return block
  }

  @inline(__always)
  private func push(_ block: UnsafeMutablePointer<StateBlock>) {
    let list = lists + block.pointee.sizeClass
    guard list.pointee.count < BlockCache.limit(block.pointee.sizeClass) else {
      free(block)
      return
    }
    block.pointee.next = list.pointee.first
    list.pointee.first = block
    list.pointee.count &+= 1
  }
}
