import CPlatform
import Synchronization

/// A growing array whose elements never move and are never freed, so that it may be read without a lock.
///
/// Chunk k holds `firstChunk << k` elements. `Element` must be valid as all zero bytes.
struct SlotDirectory<Element: ~Copyable>: ~Copyable {
  private let chunks: UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>>
  private static var chunkCount: Int { 24 }
  private static var firstChunkBits: Int { 6 }
  static var firstChunk: Int { 1 << firstChunkBits }

  init() {
    chunks = .allocate(capacity: SlotDirectory.chunkCount)
    for index in 0..<SlotDirectory.chunkCount { (chunks + index).initialize(to: Atomic(nil)) }
  }

  /// The element at `index`, or nil when no chunk reaches so far. Safe for any index, from any thread.
  @inline(__always)
  func element(_ index: Int) -> UnsafeMutablePointer<Element>? {
    let position = UInt(bitPattern: index) &+ UInt(SlotDirectory.firstChunk)
    let chunk = UInt.bitWidth &- 1 &- position.leadingZeroBitCount &- SlotDirectory.firstChunkBits
    guard chunk < SlotDirectory.chunkCount,
      let start = (chunks + chunk).pointee.load(ordering: .acquiring)
    else { return nil }
    let first = UInt(SlotDirectory.firstChunk) << UInt(chunk)
    return start.assumingMemoryBound(to: Element.self) + Int(bitPattern: position &- first)
  }

  /// Makes `index` available. Calls are serialised by the owner's lock.
  func grow(toHold index: Int) {
    let position = UInt(bitPattern: index) &+ UInt(SlotDirectory.firstChunk)
    let chunk = UInt.bitWidth - 1 - position.leadingZeroBitCount - SlotDirectory.firstChunkBits
    // Past the last chunk the process holds more tokens than a token can name: out of memory, in effect.
    guard chunk < SlotDirectory.chunkCount, UInt(bitPattern: index) < Token.indexMask else { abort() }
    guard (chunks + chunk).pointee.load(ordering: .relaxed) == nil else { return }
    guard let memory = calloc(SlotDirectory.firstChunk << chunk, MemoryLayout<Element>.stride) else { abort() }
    (chunks + chunk).pointee.store(memory, ordering: .releasing)
  }
}
