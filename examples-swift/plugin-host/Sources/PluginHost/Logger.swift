import CPluginClock
import ServiceKit
import Synchronization

protocol Logger: Sendable {
  func write(_ text: String)
}

/// Prints its lines, and counts them.
final class ConsoleLogger: Logger {
  private let lines = Atomic<Int>(0)
  var count: Int { lines.load(ordering: .relaxed) }

  func write(_ text: String) {
    lines.wrappingAdd(1, ordering: .relaxed)
    print("        logger: \(text)")
  }
}

extension Container {
  var console: Factory<ConsoleLogger> { self { ConsoleLogger() }.cached }
  var logger: Factory<any Logger> { self { self.console() } }
}

extension Container {
  /// Lets C resolve the logger.
  func exportLogger() {
    export(
      \.logger, as: PLUGIN_LOGGER_KEY, type: PLUGIN_LOGGER_TYPE,
      instance: { UnsafeMutableRawPointer(LoggerForC.make($0)) },
      destroy: { LoggerForC.destroy($0.assumingMemoryBound(to: LoggerForC.self)) })
  }
}

/// What C sees of a logger: `plugin_logger`, and behind it the logger itself.
struct LoggerForC {
  private let functions: plugin_logger
  private let logger: any Logger

  /// How many of them C holds.
  static var held: Int { count.load(ordering: .relaxed) }

  static func make(_ logger: any Logger) -> UnsafeMutablePointer<LoggerForC> {
    count.wrappingAdd(1, ordering: .relaxed)
    let functions = plugin_logger(write: { functions, text in
      guard let functions, let text else { return }
      // The functions are what a LoggerForC begins with.
      UnsafeRawPointer(functions).assumingMemoryBound(to: LoggerForC.self).pointee.logger.write(String(cString: text))
    })
    let made = UnsafeMutablePointer<LoggerForC>.allocate(capacity: 1)
    made.initialize(to: LoggerForC(functions: functions, logger: logger))
    return made
  }

  static func destroy(_ made: UnsafeMutablePointer<LoggerForC>) {
    made.deinitialize(count: 1)
    made.deallocate()
    count.wrappingSubtract(1, ordering: .relaxed)
  }

  private static let count = Atomic<Int>(0)
}
