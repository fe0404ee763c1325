import ServiceKitCore
import Synchronization

/// What happens when a program has asked for something that cannot be: a promise that nobody has kept, a cycle, a
/// second service on one stream.
///
/// Such faults are the program's, so the default ends it, with a message that says what went wrong and where. A test
/// replaces the handler to see the message and go on.
public enum ServiceFailure {
  /// Called on the failing thread, with no lock held and after the engine has undone what that thread had begun: it may
  /// return, end the thread, or resolve something else.
  ///
  /// - Parameters:
  ///   - message: What went wrong, with which key, and what to do.
  ///   - file: Where the faulty declaration is, as far as known.
  ///   - line: The line there.
  public typealias Handler = @Sendable (_ message: String, _ file: StaticString, _ line: UInt) -> Void

  /// The process's one handler. May be read and replaced on any thread; a call that is under way ends with the old one.
  public static var handler: Handler {
    get { current.withLock { $0 } }
    set { _ = current.exchange(newValue) }
  }

  private static let current = Guarded<Handler> { message, file, line in fatalError(message, file: file, line: line) }

  /// Calls the handler, outside of its lock and of all that this thread has in progress.
  static func report(_ message: String, file: StaticString = #fileID, line: UInt = #line) {
    ThunkBuild.whileGivenUp { Interruption.during { handler(message, file, line) } }
  }
}
