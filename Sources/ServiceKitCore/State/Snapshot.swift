import CServiceKit

/// A hold on one state, for the program. It outlives the service and the stream.
package final class Snapshot {
  private let state: State

  private init(_ state: State) { self.state = state }

  // Runs where the token table lets the last hold go: without a lock, as `data_free` may run here.
  deinit { state.release() }

  /// Takes over the caller's hold on `state`.
  static func create(_ state: State) -> Token { TokenTable.add(.snapshot, Snapshot(state)) }

  /// False for a token that is no snapshot, or no longer.
  package static func release(_ token: Token) -> Bool { TokenTable.withdraw(token, .snapshot) }
}
