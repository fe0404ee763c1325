import ServiceKitCore

/// What a factory is known by in its container: its type, compared by identity, and its name, compared by content.
@usableFromInline
struct FactoryKey {
  private let start: UnsafePointer<UInt8>
  private let count: Int
  /// Stands for the type: the address of its metadata, which is unique in the process.
  private let type: ObjectIdentifier

  @usableFromInline
  init(start: UnsafePointer<UInt8>, count: Int, type: ObjectIdentifier) {
    self.start = start
    self.count = count
    self.type = type
  }

  var name: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }

  @inline(__always)
  var view: KeyView { KeyView(ByteView(start: start, count: count), space: UInt(bitPattern: type)) }
}
