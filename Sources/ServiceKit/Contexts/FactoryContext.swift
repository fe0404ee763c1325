import CPlatform
import Synchronization

/// The situation that the process is in, which decides which factories' contexts match.
///
/// The contexts are asked in this order: the launch arguments in theirs, the runtime arguments in the order in which
/// they were set, preview, test, simulator, device, debug. May be read and changed on any thread.
public struct FactoryContext: Sendable {
  /// The arguments that the process was started with.
  public var arguments: [String]
  /// Arguments that were set since, by key. Where one is set that is there already, it keeps its place in the order.
  public var runtimeArguments: [String: String] {
    get { runtime.values }
    set { runtime.replace(with: newValue) }
  }
  /// Whether this process shows previews in Xcode.
  public var isPreview: Bool
  /// Whether this process runs tests, XCTest's or Swift Testing's.
  public var isTest: Bool
  /// Whether this process runs in a simulator.
  public var isSimulator: Bool
  /// Whether this process was built for debugging. `onDebug` follows it.
  public var isDebug: Bool

  private var runtime = RuntimeArguments()

  private init() {
    arguments = CommandLine.arguments
    isPreview = getenv("XCODE_RUNNING_FOR_PREVIEWS").map { String(cString: $0) } == "1"
    isTest = FactoryContext.runsTests
    isSimulator = getenv("SIMULATOR_UDID") != nil
    #if DEBUG
      isDebug = true
    #else
      isDebug = false
    #endif
  }

  /// The process's context.
  public static var current: FactoryContext {
    get { state.withLock { $0 } }
    set { change { $0 = newValue } }
  }

  /// Sets a runtime argument, for `onArg`.
  public static func setArg(_ arg: String, forKey key: String) { change { $0.runtime.set(arg, forKey: key) } }

  /// Takes a runtime argument back.
  public static func removeArg(forKey key: String) { change { $0.runtime.remove(key) } }

  var orderedRuntimeArguments: [String] { runtime.ordered }

  private static func change(_ body: (inout FactoryContext) -> Void) {
    // Published under the lock, so that what was set last is what holds. Nothing of the program's is called there.
    state.withLock { context in
      body(&context)
      ActiveContexts.publish(context)
    }
  }

  /// Before the first use.
  static func publish() { change { _ in } }

  private static let state = Guarded(FactoryContext())

  private static var runsTests: Bool {
    if getenv("XCTestConfigurationFilePath") != nil || getenv("XCTestBundlePath") != nil { return true }
    // On Linux the test runner is the test program itself.
    let program = CommandLine.arguments.first ?? ""
    return program.hasSuffix(".xctest") || program.hasSuffix("swiftpm-testing-helper")
  }
}

/// Values by key, in the order in which the keys were first set.
private struct RuntimeArguments: Sendable {
  private(set) var values: [String: String] = [:]
  private var keys: [String] = []

  var ordered: [String] { keys.compactMap { values[$0] } }

  mutating func set(_ value: String, forKey key: String) {
    if values.updateValue(value, forKey: key) == nil { keys.append(key) }
  }

  mutating func remove(_ key: String) {
    guard values.removeValue(forKey: key) != nil else { return }
    keys.removeAll { $0 == key }
  }

  mutating func replace(with new: [String: String]) {
    for key in keys where new[key] == nil { remove(key) }
    for key in new.keys.sorted() { set(new[key]!, forKey: key) }
  }
}
