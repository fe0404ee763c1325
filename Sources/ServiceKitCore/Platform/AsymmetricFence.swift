import CPlatform
import Synchronization

/// A pair of fences for two threads that each write a mark and then read the other's: at least one of them sees it.
///
/// Every callback writes such a mark, and a cancellation reads it. As a full fence costs three times what the rest of
/// a callback does, the frequent side has a fence for the compiler only, and the rare side has the kernel run a full
/// fence on each processor that runs this process. Where the kernel refuses, both sides have an ordinary full fence.
enum AsymmetricFence {
  private static let isLightFull = Atomic<Bool>(true)
  private static let registerCommand: Int32 = 1 << 4
  private static let fenceCommand: Int32 = 1 << 3

  #if os(Linux)
    private static let isRegistered: Bool = {
      guard platform_membarrier(registerCommand) == 0 else { return false }
      isLightFull.store(false, ordering: .sequentiallyConsistent)
      return true
    }()
  #else
    private static let isRegistered = false
  #endif

  /// To be called once, before the marks are first used: makes ``light()`` light where that is possible.
  static func prepare() { _ = isRegistered }

  /// The frequent side, between its write and its read.
  @inline(__always)
  static func light() { light(isFull: isLightFull.load(ordering: .relaxed)) }

  /// To be asked once before many calls of ``light(isFull:)``.
  @inline(__always)
  static var isFull: Bool { isLightFull.load(ordering: .relaxed) }

  @inline(__always)
  static func light(isFull: Bool) {
    platform_compiler_fence()
    if isFull { atomicMemoryFence(ordering: .sequentiallyConsistent) }
  }

  /// The rare side, between its write and its read. Does not wait for other threads.
  static func heavy() {
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    #if os(Linux)
      guard isRegistered, platform_membarrier(fenceCommand) != 0 else { return }
      // A registration is inherited by forked children; should a system not do so, it is made again.
      if platform_membarrier(registerCommand) == 0 { _ = platform_membarrier(fenceCommand) }
    #endif
  }
}
