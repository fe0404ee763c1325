import ServiceKit

/// What a test's failure handler does after it has written the message down.
enum AfterFailure { case goOn, endThread }

/// Runs `body` with a failure handler that writes down what it is told. Gives the messages.
func collectingFailures(then: AfterFailure = .goOn, _ body: () throws -> Void) rethrows -> [String] {
  let before = ServiceFailure.handler
  defer { ServiceFailure.handler = before }
  let messages = Guarded<[String]>([])
  ServiceFailure.handler = { message, _, _ in
    messages.change { $0.append(message) }
    if then == .endThread { TestThread.exit() }
  }
  try body()
  return messages.value
}
