import CPlatform
import Synchronization

/// A growing array whose elements never move and are never freed, so that it may be read without a lock.
///
/// It has a place for every index that a token can hold. Memory comes in chunks, zeroed, as the system gives it: a page
/// counts only once it is used. `Element` must be valid as all zero bytes.
struct SlotDirectory<Element: ~Copyable>: ~Copyable {
  private let chunks: UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>>
  private static var chunkBits: Int { 12 }
  private static var chunkCount: Int { 1 << (Token.indexBits - chunkBits) }

  init() {
    guard let memory = calloc(SlotDirectory.chunkCount, MemoryLayout<UnsafeMutableRawPointer?>.size) else { abort() }
    chunks = memory.assumingMemoryBound(to: Atomic<UnsafeMutableRawPointer?>.self)
  }

  /// The element at `index`, or nil when no chunk reaches so far. Safe for any index, from any thread.
  @inline(__always)
  func element(_ index: Int) -> UnsafeMutablePointer<Element>? {
    let chunk = Int(bitPattern: UInt(bitPattern: index) >> UInt(SlotDirectory.chunkBits))
    guard UInt(bitPattern: chunk) < UInt(bitPattern: SlotDirectory.chunkCount),
      let start = (chunks + chunk).pointee.load(ordering: .acquiring)
    else { return nil }
    return start.assumingMemoryBound(to: Element.self) + (index & (1 << SlotDirectory.chunkBits &- 1))
  }

  /// Makes `index` available. Calls are serialised by the owner's lock.
  func grow(toHold index: Int) {
    let chunk = index >> SlotDirectory.chunkBits
    // The process holds more than a token can name: out of memory, in effect.
    guard chunk < SlotDirectory.chunkCount else { abort() }
    guard (chunks + chunk).pointee.load(ordering: .relaxed) == nil else { return }
    guard let memory = calloc(1 << SlotDirectory.chunkBits, MemoryLayout<Element>.stride) else { abort() }
    (chunks + chunk).pointee.store(memory, ordering: .releasing)
  }
}
