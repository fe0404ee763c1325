import CServiceKit
import ServiceKitCore

/// A Swift factory, as the engine keeps and calls it.
final class TypedRegistration<P, T>: Registration {
  let factory: (P) -> T

  /// - Parameter isDefinition: it is not registered, but comes along with a resolve.
  init(_ factory: @escaping (P) -> T, context: String? = nil, isDefinition: Bool = false) {
    self.factory = factory
    super.init(
      scope: ScopeChoice(.default), context: context.map { OwnedBytes.copy(of: $0) }, isDefinition: isDefinition)
  }

  override func make(_ call: inout Call) -> (status: Int32, instance: UnsafeMutableRawPointer?) {
    let value = factory(parameter(call))
    if isNil(value) { call.isNotToBeKept = true }
    let kept: Kept<T>
    if let made = Kept.make(value, isWeak: call.scope.isWeak) {
      kept = made
    } else {
      // Only objects can be shared.
      call.isNotToBeKept = true
      kept = StrongKept(value)
    }
    return (SVK_OK, Unmanaged.passRetained(kept).toOpaque())
  }

  override func end(_ instance: UnsafeMutableRawPointer) { Unmanaged<Kept<T>>.fromOpaque(instance).release() }

  override func copy(_ instance: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    Unmanaged<Kept<T>>.fromOpaque(instance).retain().toOpaque()
  }

  private func parameter(_ call: Call) -> P {
    // A key has one parameter type, so that it is this one. `Void` is not brought along.
    guard let parameter = call.parameter else { return unsafeBitCast((), to: P.self) }
    return unsafeDowncast(parameter, to: TypedParameter<P>.self).value
  }
}
