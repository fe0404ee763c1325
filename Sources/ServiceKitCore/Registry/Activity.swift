import Synchronization

/// Counts what is at work in a container: resolves that look beyond the ready instances, factories and destructors.
///
/// When the container closes, nothing new may begin but destructors; and whoever ends the last of it, or closes while
/// there is none, gets to take the container down, once.
package struct Activity: ~Copyable {
  private let state = Atomic<Int>(0)
  private static var closing: Int { 1 << 60 }
  private static var takenDown: Int { 1 << 61 }

  var isGoingOn: Bool { state.load(ordering: .sequentiallyConsistent) & (Activity.closing - 1) != 0 }

  /// Whether nothing new may begin.
  var isClosing: Bool { state.load(ordering: .acquiring) & Activity.closing != 0 }

  func begin() { state.wrappingAdd(1, ordering: .sequentiallyConsistent) }

  /// True for the one caller that must now take the container down.
  func end() -> Bool {
    let now = state.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue
    return now == Activity.closing && claim()
  }

  /// True if nothing is at work, so that the caller must take the container down.
  func close() -> Bool {
    let now = state.bitwiseOr(Activity.closing, ordering: .sequentiallyConsistent).newValue
    return now == Activity.closing && claim()
  }

  private func claim() -> Bool {
    state.compareExchange(
      expected: Activity.closing, desired: Activity.closing | Activity.takenDown, ordering: .sequentiallyConsistent
    ).exchanged
  }
}
