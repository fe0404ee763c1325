import CPlatform

/// Text under construction: UTF-8 bytes that grow, always followed by a NUL.
///
/// The engine has its own rather than `String`, some of whose operations bring Unicode tables with them.
package struct Text: ~Copyable {
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  package private(set) var count = 0

  package init() {
    capacity = 256
    memory = .allocate(byteCount: capacity, alignment: 1)
    memory.storeBytes(of: 0, as: UInt8.self)
  }

  deinit { memory.deallocate() }

  package var view: ByteView { ByteView(start: memory, count: count) }
  package var cString: UnsafePointer<CChar> { UnsafePointer(memory.assumingMemoryBound(to: CChar.self)) }

  package mutating func clear() {
    count = 0
    memory.storeBytes(of: 0, as: UInt8.self)
  }

  package mutating func append(_ text: StaticString) { append(ByteView(text)) }

  package mutating func append(_ bytes: ByteView) {
    guard let start = bytes.start else { return }
    reserve(bytes.count)
    (memory + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
    memory.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
  }

  package mutating func append(_ bytes: OwnedBytes) { withExtendedLifetime(bytes) { append(bytes.view) } }

  package mutating func append(byte: UInt8) {
    reserve(1)
    memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
    memory.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
  }

  package mutating func append(_ number: Int64) {
    if number < 0 { append(byte: UInt8(ascii: "-")) }
    append(number.magnitude)
  }

  package mutating func append(_ number: UInt64) {
    if number >= 10 { append(number / 10) }
    append(byte: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
  }

  private mutating func reserve(_ more: Int) {
    let needed = count + more + 1
    guard needed > capacity else { return }
    let larger = max(needed, capacity * 2)
    let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 1)
    moved.copyMemory(from: memory, byteCount: count + 1)
    memory.deallocate()
    memory = moved
    capacity = larger
  }
}
