import CServiceKit
import ServiceKitCore

/// How values of one type stand in the engine's states: in a state's own memory, to be destroyed with it, so that a send
/// allocates nothing. In front of the value stands its type, for the one function that the engine calls in the end.
///
/// Made once for each sender: looking up what a generic type is made of takes longer than the rest of a send.
struct StateLayout<Value>: Sendable {
  private let header: StateHeader
  private let size: Int
  private let destroy: svk_free_fn?

  init() {
    header = StateHeader(type: StateValue<Value>.self)
    size = StateHeader.size + (isInline(Value.self) ? MemoryLayout<Value>.size : MemoryLayout<Boxed<Value>>.size)
    destroy = _isPOD(Value.self) ? nil : StateHeader.destroy
  }

  /// A state that holds `value`, held once.
  @inline(__always)
  func make(_ value: Value) -> ServiceKitCore.State {
    let state = ServiceKitCore.State.make(size, destroy: destroy)
    let data = state.data.unsafelyUnwrapped
    data.initializeMemory(as: StateHeader.self, to: header)
    if isInline(Value.self) {
      (data + StateHeader.size).initializeMemory(as: Value.self, to: value)
    } else {
      (data + StateHeader.size).initializeMemory(as: Boxed<Value>.self, to: Boxed(value))
    }
    return state
  }
}

extension UnsafeRawPointer {
  /// The value in the bytes of a state that somebody holds meanwhile.
  @inline(__always)
  func readState<Value>(_ type: Value.Type) -> Value {
    let place = self + StateHeader.size
    guard isInline(type) else { return place.assumingMemoryBound(to: Boxed<Value>.self).pointee.value }
    return place.assumingMemoryBound(to: Value.self).pointee
  }
}

extension ServiceKitCore.State {
  /// The value, and an end of the caller's hold.
  @inline(__always)
  consuming func take<Value>(_ type: Value.Type) -> Value {
    defer { release() }
    return UnsafeRawPointer(data.unsafelyUnwrapped).readState(type)
  }
}

/// The engine aligns its states to 16 bytes. What wants more stands in a box.
@inline(__always)
private func isInline<Value>(_ type: Value.Type) -> Bool { MemoryLayout<Value>.alignment <= 16 }

private final class Boxed<Value> {
  let value: Value
  init(_ value: Value) { self.value = value }
}

private protocol DestroyableState: SendableMetatype {
  static func destroy(_ place: UnsafeMutableRawPointer)
}

private enum StateValue<Value>: DestroyableState {
  static func destroy(_ place: UnsafeMutableRawPointer) {
    if isInline(Value.self) {
      place.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
    } else {
      place.assumingMemoryBound(to: Boxed<Value>.self).deinitialize(count: 1)
    }
  }
}

private struct StateHeader: Sendable {
  let type: any DestroyableState.Type

  /// A multiple of 16, so that what follows is aligned.
  static var size: Int { (MemoryLayout<StateHeader>.size + 15) & ~15 }

  static var destroy: svk_free_fn {
    { data in
      guard let data else { return }
      data.assumingMemoryBound(to: StateHeader.self).pointee.type.destroy(data + StateHeader.size)
    }
  }
}
