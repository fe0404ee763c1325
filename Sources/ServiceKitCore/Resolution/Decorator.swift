import CServiceKit

/// A function of the program that is called with each instance that is resolved. Freed after its last running call,
/// because whoever calls it holds it. The subclasses say whose function it is.
open class Decorator {
  public init() {}

  /// From now on what the decorator was given is the engine's to free.
  package func keep() {}

  /// With no lock held.
  func decorate(_ value: UnsafeMutableRawPointer, key: UnsafePointer<CChar>, isNew: Bool) {}
}

/// A C program's.
package final class CDecorator: Decorator {
  private let function: svk_decorator_fn
  private let userData: UserData

  package init(_ function: @escaping svk_decorator_fn, _ userData: UserData) {
    self.function = function
    self.userData = userData
  }

  package override func keep() { userData.keep() }

  override func decorate(_ value: UnsafeMutableRawPointer, key: UnsafePointer<CChar>, isNew: Bool) {
    Callback.run { function(value, key, isNew ? 1 : 0, userData.pointer) }
  }
}
