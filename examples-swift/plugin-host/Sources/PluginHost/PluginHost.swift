import ServiceKit
import Synchronization

/// A Swift program with a plug-in in C. They share one container: the plug-in's clock writes to this program's logger,
/// and this program follows the plug-in's clock. Every promise is checked, and the program fails if one is not kept.
///
/// Usage: PluginHost [plugin_clock.so]
@main
struct PluginHost {
  private var broken = 0

  static func main() async throws {
    let path = CommandLine.arguments.dropFirst().first ?? "../../build/release/examples-c/plugin_clock.so"
    var host = PluginHost()
    try await host.run(path)
    print(host.broken == 0 ? "\nEverything was as promised." : "\nNot everything was as promised.")
    if host.broken > 0 { throw PluginError(description: "\(host.broken) promises were not kept") }
  }

  private mutating func run(_ path: String) async throws {
    let container = Container()
    step("The host exports its logger, and the plug-in registers a clock that needs it.")
    container.exportLogger()
    try Plugin.load(path, into: container)
    promise(container.console().count == 0, "nothing is made yet")

    step("Swift resolves C's clock, and C, for it, Swift's logger.")
    var clock = container.clock()
    promise(clock?.state == 0, "the clock is at its beginning")
    promise(container.console().count == 1, "it has written to the host's logger")

    step("Swift observes C's clock.")
    clock?.api.advance(by: 60)
    promise(clock?.state == 60, "its state has changed when the call returns")
    var states = clock?.states.makeAsyncIterator()
    clock?.api.advance(by: 5)
    let seen = [await states?.next(), await states?.next()]
    promise(seen == [60, 65], "who iterates gets each state, beginning with the current one")

    step("A logger that is registered is C's, too.")
    let lines = Lines()
    let other = Container()
    other.exportLogger()
    other.logger.register { lines }
    try Plugin.load(path, into: other)
    other.clock()?.api.advance(by: 1)
    promise(lines.texts.contains("the clock is advanced to 1"), "the clock of another container writes to its logger")
    promise(LoggerForC.held == 1, "that clock is gone, and so is its logger for C")

    step("The clock is dropped.")
    clock = nil
    promise(container.console().count == 4, "nobody holds it, so it was destroyed, and could still write")
    promise(LoggerForC.held == 0, "its logger for C went after it")
  }

  private func step(_ what: String) { print("\n\(what)") }

  private mutating func promise(_ isKept: Bool, _ what: String) {
    print("  \(isKept ? "ok  " : "FAIL")  \(what)")
    if !isKept { broken += 1 }
  }
}

/// A logger that keeps its lines.
private final class Lines: Logger {
  private let kept = Mutex<[String]>([])
  var texts: [String] { kept.withLock { $0 } }
  func write(_ text: String) { kept.withLock { $0.append(text) } }
}
