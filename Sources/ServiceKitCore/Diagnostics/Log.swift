import CServiceKit
import Synchronization

/// The program's log function. Without one the library says nothing.
package enum Log {
  /// The most detailed level that is wanted, 0 for none: so that messages nobody reads are not made.
  private static let wanted = Atomic<Int32>(0)
  private nonisolated(unsafe) static let lock = Lock()
  /// Guarded by `lock`.
  private nonisolated(unsafe) static var target: Target?

  /// Where messages go. Freed after its last running call, because whoever calls it holds it.
  package final class Target {
    let function: svk_log_fn
    let level: Int32
    let userData: UserData

    package init(_ function: @escaping svk_log_fn, level: Int32, _ userData: UserData) {
      self.function = function
      self.level = level
      self.userData = userData
    }
  }

  package static func set(_ new: Target?) {
    new?.userData.keep()
    let old = lock.withLock {
      let old = target
      target = new
      wanted.store(new?.level ?? 0, ordering: .relaxed)
      return old
    }
    // The old one ends here, with the lock left.
    _ = consume old
  }

  static func wants(_ level: Int32) -> Bool { level <= wanted.load(ordering: .relaxed) }

  /// Writes a message, if somebody wants it. No lock is held by the caller.
  static func write(_ level: Int32, _ describe: (inout Text) -> Void) {
    guard wants(level), let target = lock.withLock({ target }), level <= target.level else { return }
    var text = Text()
    describe(&text)
    Callback.run { target.function(level, text.cString, target.userData.pointer) }
  }

  /// Writes a warning in these words, if somebody wants it. No lock is held by the caller.
  package static func warn(_ words: StaticString) { write(SVK_LOG_WARNING) { text in text.append(words) } }
}
