/// A situation in which a factory is replaced by another one.
public enum FactoryContextType: Hashable, Sendable {
  /// An argument of the process, or a runtime argument, has this value.
  case arg(String)
  /// One of the arguments has one of these values.
  case args([String])
  /// The process shows previews in Xcode.
  case preview
  /// The process runs tests.
  case test
  /// The process runs in a simulator.
  case simulator
  /// The process runs on a device.
  case device
  /// The process was built for debugging.
  case debug
}

extension FactoryContextType {
  /// How the engine knows it. Arguments have a prefix that no other context begins with.
  var names: [String] {
    switch self {
    case .arg(let argument): [FactoryContextType.name(argument)]
    case .args(let arguments): arguments.map(FactoryContextType.name)
    case .preview: ["preview"]
    case .test: ["test"]
    case .simulator: ["simulator"]
    case .device: ["device"]
    case .debug: ["debug"]
    }
  }

  static func name(_ argument: String) -> String { "arg:\(argument)" }
}
