import CPlatform
import CServiceKit
import Synchronization

/// One state of a service: its bytes and how many hold them. It does not change once it was sent.
///
/// The bytes follow the header in memory, or stand in a block of the program's own, which `freeData` takes back.
struct StateBlock: ~Copyable {
  let references: Atomic<Int>
  var version: UInt64
  var data: UnsafeMutableRawPointer?
  var size: Int
  var freeData: svk_free_fn?
  /// Where the memory goes back to; nil for the heap.
  var cache: UnsafeMutablePointer<BlockCache>?
  var sizeClass: Int
  var next: UnsafeMutablePointer<StateBlock>?

  /// What the header takes, so that the bytes behind it are aligned to 16.
  static var headerSize: Int { (MemoryLayout<StateBlock>.size + 15) & ~15 }

}

/// A reference to a ``StateBlock``. Whoever keeps one retains it, and releases it exactly once.
///
/// A release may run the program's `data_free`: never with a lock held.
package struct State {
  let block: UnsafeMutablePointer<StateBlock>

  /// More than any address space has: a size beyond it is a mistake, or an attack.
  package static var largestSize: Int { UInt.bitWidth == 64 ? 1 << 47 : 1 << 30 }

  /// A copy of `size` bytes, which must be at least 0 and no more than ``largestSize``.
  static func copy(
    _ bytes: UnsafeRawPointer?, _ size: Int, on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> State {
    let block = BlockCache.take(size, on: thread)
    let data = UnsafeMutableRawPointer(block) + StateBlock.headerSize
    block.pointee.version = 0
    block.pointee.data = data
    block.pointee.size = size
    if let bytes, size > 0 { memcpy(data, bytes, size) }
    return State(block: block)
  }

  /// The program's own block, taken over. One that is not aligned to 16 bytes stays where it is until the end, and
  /// its copy is what the observers see.
  static func own(
    _ data: UnsafeMutableRawPointer?, _ size: Int, _ free: svk_free_fn?,
    on thread: UnsafeMutablePointer<ThreadRecord>
  ) -> State {
    guard UInt(bitPattern: data) & 15 == 0 else {
      let state = copy(data, size, on: thread)
      if let free { Callback.run(on: thread) { free(data) } }
      return state
    }
    let state = copy(nil, 0, on: thread)
    state.block.pointee.data = data
    state.block.pointee.size = size
    state.block.pointee.freeData = free
    return state
  }

  /// Room for `size` bytes, aligned to 16, which the caller fills before the state is sent. `destroy` is called with
  /// them when nobody holds the state any more.
  package static func make(_ size: Int, destroy: svk_free_fn?) -> State {
    let state = copy(nil, size, on: ThreadRecord.current)
    state.block.pointee.freeData = destroy
    return state
  }

  package var version: UInt64 { block.pointee.version }
  var size: Int { block.pointee.size }
  package var data: UnsafeMutableRawPointer? { block.pointee.data }

  /// The state as callbacks and readers see it.
  @inline(__always)
  func view(dropped: UInt64) -> svk_state {
    svk_state(version: version, data: UnsafeRawPointer(data), size: size, dropped: dropped)
  }

  func hasSameBytes(as other: State) -> Bool {
    ByteView(start: data, count: size) == ByteView(start: other.data, count: other.size)
  }

  @inline(__always)
  func retain() { block.pointee.references.wrappingAdd(1, ordering: .relaxed) }

  package func release() { release(on: ThreadRecord.current) }

  /// The same for a caller that knows its thread.
  @inline(__always)
  func release(on thread: UnsafeMutablePointer<ThreadRecord>) {
    // Alone with it, nobody else can begin to hold it: then the count needs no locked instruction.
    if block.pointee.references.load(ordering: .acquiring) == 1
      || block.pointee.references.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
    {
      if let freeData = block.pointee.freeData { giveBackData(freeData) }
      BlockCache.giveBack(block, on: thread)
    }
  }

  /// The same, with the memory collected in `returned`.
  @inline(__always)
  func release(on thread: UnsafeMutablePointer<ThreadRecord>, into returned: inout BlockCache.Returned) {
    if block.pointee.references.load(ordering: .acquiring) == 1
      || block.pointee.references.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
    {
      if let freeData = block.pointee.freeData { giveBackData(freeData) }
      returned.giveBack(block, on: thread)
    }
  }

  @inline(never)
  private func giveBackData(_ freeData: svk_free_fn) {
    let data = block.pointee.data
    Callback.run { freeData(data) }
  }
}
