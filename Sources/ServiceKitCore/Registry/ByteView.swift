import CPlatform

/// Bytes that somebody else keeps alive: a key, a name or a parameter on its way in.
package struct ByteView {
  package let start: UnsafeRawPointer?
  package let count: Int

  package init(start: UnsafeRawPointer?, count: Int) {
    self.start = start
    self.count = count
  }

  package init(cString: UnsafePointer<CChar>) {
    self.init(start: UnsafeRawPointer(cString), count: strlen(cString))
  }

  package init(_ text: StaticString) {
    self.init(start: UnsafeRawPointer(text.utf8Start), count: text.utf8CodeUnitCount)
  }

  package static var empty: ByteView { ByteView(start: nil, count: 0) }

  subscript(_ index: Int) -> UInt8 { start!.load(fromByteOffset: index, as: UInt8.self) }

  @inline(__always)
  package static func != (left: ByteView, right: ByteView) -> Bool { !(left == right) }

  @inline(__always)
  package static func == (left: ByteView, right: ByteView) -> Bool {
    left.count == right.count && (left.count == 0 || memcmp(left.start!, right.start!, left.count) == 0)
  }

  func contains(_ part: ByteView) -> Bool {
    guard part.count <= count else { return false }
    for offset in 0...(count - part.count)
    where ByteView(start: start.map { $0 + offset }, count: part.count) == part {
      return true
    }
    return false
  }

  /// A hash for tables inside this process. Equality is always decided by the bytes.
  ///
  /// Multiply-and-fold over words of 8 bytes, started from a number that differs from process to process, so that keys
  /// cannot be chosen beforehand to collide.
  @inline(__always)
  var hash: UInt64 {
    var state = ByteView.hashStart ^ UInt64(truncatingIfNeeded: count)
    guard let start, count > 0 else { return ByteView.fold(state, 0x9E37_79B9_7F4A_7C15) }
    var offset = 0
    while count &- offset >= 8 {
      state = ByteView.fold(state ^ start.loadUnaligned(fromByteOffset: offset, as: UInt64.self), 0x9E37_79B9_7F4A_7C15)
      offset &+= 8
    }
    var tail: UInt64 = 0
    if count &- offset >= 4 {
      tail = UInt64(start.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
      offset &+= 4
    }
    while offset < count {
      tail = tail << 8 ^ UInt64(start.load(fromByteOffset: offset, as: UInt8.self))
      offset &+= 1
    }
    return ByteView.fold(state ^ tail, 0xD6E8_FEB8_6659_FD93)
  }

  /// A hash of the length and of both ends, for names that the program's source has and nobody can choose to collide.
  @inline(__always)
  func shortHash(_ seed: UInt64) -> UInt64 {
    guard let start, count >= 8 else { return hash &+ seed &* 0x9E37_79B9_7F4A_7C15 }
    let first = start.loadUnaligned(as: UInt64.self)
    let last = start.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
    return ByteView.fold(first ^ seed &* 0x9E37_79B9_7F4A_7C15, last ^ UInt64(truncatingIfNeeded: count) << 56 ^ 0xD6E8)
  }

  @inline(__always)
  private static func fold(_ value: UInt64, _ by: UInt64) -> UInt64 {
    let product = value.multipliedFullWidth(by: by)
    return product.high ^ product.low
  }

  private static let hashStart: UInt64 = {
    var local = 0
    let address = withUnsafeMutablePointer(to: &local) { UInt64(UInt(bitPattern: $0)) }
    return fold(Clock.now() ^ address << 16, 0xA076_1D64_78BD_642F)
  }()
}

/// A copy of bytes that the engine keeps, followed by a NUL, so that it is a C string too.
///
/// A `view` does not keep it: never take one of a value that nothing holds.
public final class OwnedBytes: @unchecked Sendable {
  private let memory: UnsafeMutableRawPointer
  package let count: Int

  package init(_ view: ByteView) {
    count = view.count
    memory = .allocate(byteCount: view.count + 1, alignment: 1)
    if let start = view.start { memory.copyMemory(from: start, byteCount: view.count) }
    memory.storeBytes(of: 0, toByteOffset: view.count, as: UInt8.self)
  }

  convenience init?(unlessEmpty view: ByteView) {
    guard view.count > 0 else { return nil }
    self.init(view)
  }

  deinit { memory.deallocate() }

  package var view: ByteView { ByteView(start: memory, count: count) }
  package var cString: UnsafePointer<CChar> { UnsafePointer(memory.assumingMemoryBound(to: CChar.self)) }
}
