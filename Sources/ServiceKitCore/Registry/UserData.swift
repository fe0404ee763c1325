import CServiceKit

/// The program's `user_data` of callbacks that the engine keeps, freed once, when the last that may call them is gone.
///
/// Whoever is about to make a call holds what it calls, and with it this; so that its end needs no counting of its own.
/// No lock may be held where that end can come: it calls the program.
package final class UserData {
  package let pointer: UnsafeMutableRawPointer?
  private var free: svk_free_fn?

  package init(_ pointer: UnsafeMutableRawPointer?, free: svk_free_fn?) {
    self.pointer = pointer
    self.free = free
  }

  deinit {
    guard let free else { return }
    let pointer = pointer
    Callback.run { free(pointer) }
  }

  /// Where registering fails, nothing was kept, and so nothing is freed.
  package func disown() { free = nil }
}
