import CServiceKit

@testable import ServiceKitCore

/// A state of these bytes, held once.
func state(_ text: String) -> State {
  let bytes = owned(text)
  return withExtendedLifetime(bytes) { State.copy(bytes.view.start, bytes.count, on: ThreadRecord.current) }
}

extension State {
  var text: String { ByteView(start: data, count: size).string }
  var holds: Int { block.pointee.references.load(ordering: .relaxed) }
}

extension svk_state {
  var text: String { ByteView(start: data, count: size).string }
}

extension BufferPolicy {
  static func make(_ buffering: Int32, _ capacity: Int = 0) -> BufferPolicy {
    try! BufferPolicy(buffering: buffering, capacity: capacity)
  }

  static var unbounded: BufferPolicy { BufferPolicy(unbounded: ()) }
}
