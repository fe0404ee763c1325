import CServiceKit
import ServiceKitCore

/// What the engine calls, for a service or for an observer: the Swift side of its callbacks. It is kept by the engine
/// until no callback runs or will run any more.
class StateReceiver {
  /// A state: its bytes are valid until this returns. Calls of one receiver never overlap.
  func receive(_ state: svk_state) {}

  /// The stream's end, after the last state.
  func finish() {}

  /// The engine lets go: no call comes any more.
  func wasReleased() {}

  /// Runs `body` with callbacks that come here. When it throws, the engine has kept nothing.
  final func attach(_ body: (Callbacks) throws(Failure) -> Void) throws(Failure) {
    let kept = Unmanaged.passRetained(self)
    let callbacks = Callbacks(
      onState: { state, receiver in
        guard let state else { return }
        StateReceiver.of(receiver)._withUnsafeGuaranteedRef { $0.receive(state.pointee) }
      },
      onFinish: { receiver in StateReceiver.of(receiver)._withUnsafeGuaranteedRef { $0.finish() } },
      userData: kept.toOpaque(),
      userDataFree: { receiver in StateReceiver.of(receiver).takeRetainedValue().wasReleased() })
    do {
      try body(callbacks)
    } catch {
      kept.release()
      throw error
    }
  }

  private static func of(_ pointer: UnsafeMutableRawPointer?) -> Unmanaged<StateReceiver> {
    Unmanaged.fromOpaque(pointer.unsafelyUnwrapped)
  }
}

extension Callbacks {
  /// For an engine's service that calls nobody.
  static var none: Callbacks { Callbacks(onState: nil, onFinish: nil, userData: nil, userDataFree: nil) }
}
