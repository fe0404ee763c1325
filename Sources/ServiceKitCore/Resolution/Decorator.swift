import CServiceKit

/// A function of the program that is called with each instance that is resolved. Freed after its last running call,
/// because whoever calls it holds it.
package final class Decorator {
  let function: svk_decorator_fn
  let userData: UserData

  package init(_ function: @escaping svk_decorator_fn, _ userData: UserData) {
    self.function = function
    self.userData = userData
  }
}
