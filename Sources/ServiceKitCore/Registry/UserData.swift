import CServiceKit

/// The program's `user_data` of callbacks that the engine keeps, freed once, when the last that may call them is gone.
///
/// Whoever is about to make a call holds what it calls, and with it this; so that its end needs no counting of its own.
/// No lock may be held where that end can come: it calls the program.
package final class UserData {
  package let pointer: UnsafeMutableRawPointer?
  private let free: svk_free_fn?
  private var isKept = false

  package init(_ pointer: UnsafeMutableRawPointer?, free: svk_free_fn?) {
    self.pointer = pointer
    self.free = free
  }

  deinit {
    guard isKept, let free else { return }
    let pointer = pointer
    Callback.run { free(pointer) }
  }

  /// From now on the pointer is the engine's to free. Where registering fails, this is never said: nothing was kept.
  package func keep() { isKept = true }
}
