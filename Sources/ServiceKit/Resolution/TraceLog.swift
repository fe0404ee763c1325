import ServiceKitCore
import Synchronization

/// The lines that are written when tracing is on: one for each resolve, those of its dependencies under it, all of them
/// when the outermost resolve ends.
final class TraceLog {
  private var lines: [String] = []

  /// A resolve that is being traced.
  struct Entry {
    let log: TraceLog
    let index: Int
    let level: Int
    let name: String

    func end<T>(_ value: T?, _ source: TypedResolve.Source) {
      log.lines[index] =
        "\(level): \(String(repeating: "    ", count: level))\(name) = \(TraceLog.words(value, source))"
      TraceLog.leave(log, level: level)
    }
  }

  static func begin<P, T>(_ asked: FactoryRegistration<P, T>) -> Entry? {
    guard ProcessTrace.isOn else { return nil }
    let (known, level) = (TraceNotes.ofThread.log as? TraceLog, TraceNotes.ofThread.level)
    let log = known ?? TraceLog()
    TraceNotes.ofThread.log = log
    TraceNotes.ofThread.level = level + 1
    log.lines.append("")
    return Entry(
      log: log, index: log.lines.count - 1, level: level,
      name: "\(type(of: asked.container)).\(asked.key.name)<\(T.self)>")
  }

  private static func leave(_ log: TraceLog, level: Int) {
    TraceNotes.ofThread.level = level
    guard level == 0 else { return }
    TraceNotes.ofThread.log = nil
    let logger = ContainerManager.processLogger
    for line in log.lines { logger(line) }
  }

  /// `C:4321 Service`: the letter tells where the instance is from.
  private static func words<T>(_ value: T?, _ source: TypedResolve.Source) -> String {
    let letter =
      switch source {
      case .context: "O"
      case .registration: "R"
      case .definition: "F"
      case .cache: "C"
      }
    guard let value, !isNil(value) else { return "\(letter):nil" }
    let object = object(in: value)
    let address = object.map { UInt(bitPattern: ObjectIdentifier($0)) } ?? 0
    let type = object.map { "\(Swift.type(of: $0))" } ?? "\(Swift.type(of: value as Any))"
    return "\(letter):\(address) \(type)"
  }
}
