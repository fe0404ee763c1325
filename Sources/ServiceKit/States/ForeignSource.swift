import ServiceKitCore

/// The subscription through which a service takes its states from a service that is not Swift's. It ends with it.
final class ForeignSource: @unchecked Sendable {
  private let token: Token

  init(_ token: Token) { self.token = token }

  deinit { cancel() }

  /// Never waits: a state that is on its way finds the service closed.
  func cancel() { _ = TokenTable.take(token, .subscription, Subscription.self)?.cancel(mayWait: false) }
}
