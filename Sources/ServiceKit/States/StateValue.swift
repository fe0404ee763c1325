import ServiceKitCore

/// A Swift value as one of the engine's states: it lives in the state's own memory, and is destroyed with it, so that a
/// send allocates nothing.
///
/// In front of the value stands its type, for the one function that the engine calls in the end.
enum StateValue<Value>: DestroyableState {
  /// A state that holds `value`, once.
  @inline(__always)
  static func make(_ value: Value) -> ServiceKitCore.State {
    let destroy = StateHeader.destroy
    let size = StateHeader.size + (isInline ? MemoryLayout<Value>.size : MemoryLayout<Boxed<Value>>.size)
    let state = ServiceKitCore.State.make(size, destroy: _isPOD(Value.self) && isInline ? nil : destroy)
    let data = state.data.unsafelyUnwrapped
    data.initializeMemory(as: StateHeader.self, to: StateHeader(type: self))
    if isInline {
      (data + StateHeader.size).initializeMemory(as: Value.self, to: value)
    } else {
      (data + StateHeader.size).initializeMemory(as: Boxed<Value>.self, to: Boxed(value))
    }
    return state
  }

  /// The value, from the bytes of a state that somebody holds meanwhile.
  @inline(__always)
  static func read(_ data: UnsafeRawPointer) -> Value {
    let place = data + StateHeader.size
    guard isInline else { return place.assumingMemoryBound(to: Boxed<Value>.self).pointee.value }
    return place.assumingMemoryBound(to: Value.self).pointee
  }

  static func destroy(_ place: UnsafeMutableRawPointer) {
    if isInline {
      place.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
    } else {
      place.assumingMemoryBound(to: Boxed<Value>.self).deinitialize(count: 1)
    }
  }

  /// The engine aligns its states to 16 bytes. What wants more stands in a box.
  private static var isInline: Bool { MemoryLayout<Value>.alignment <= 16 }
}

private final class Boxed<Value> {
  let value: Value
  init(_ value: Value) { self.value = value }
}

private protocol DestroyableState {
  static func destroy(_ place: UnsafeMutableRawPointer)
}

private struct StateHeader {
  let type: any DestroyableState.Type

  /// A multiple of 16, so that what follows is aligned.
  static var size: Int { (MemoryLayout<StateHeader>.size + 15) & ~15 }

  static var destroy: @convention(c) (UnsafeMutableRawPointer?) -> Void {
    { data in
      guard let data else { return }
      data.assumingMemoryBound(to: StateHeader.self).pointee.type.destroy(data + StateHeader.size)
    }
  }
}
