import ServiceKit
import Synchronization

/// A Swift program with a plug-in in C. They share one container: the plug-in's clock writes to this program's logger and
/// follows its speed, and this program follows the plug-in's clock. Every promise is checked, and the program fails if one is not kept.
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
    step("The host exports its logger and its speed, and the plug-in registers a clock that needs them.")
    try prepare(container, path)
    promise(container.console().count == 0, "nothing is made yet")

    step("Swift resolves C's clock, and C, for it, what Swift has.")
    var clock = container.clock()
    promise(clock?.state == 0, "the clock is at its beginning")
    promise(container.console().count == 1, "it has written to the host's logger")

    step("Swift observes C's clock.")
    var states = clock?.states.makeAsyncIterator()
    clock?.api.tick()
    promise(clock?.state == 1, "its state has changed when the call returns")

    step("C observes Swift's speed.")
    container.speed().api.set(60)
    clock?.api.tick()
    let seen = [await states?.next(), await states?.next(), await states?.next()]
    promise(seen == [0, 1, 61], "the clock is faster, and who iterates over its states gets each of them")

    step("A logger that is registered is C's, too.")
    let lines = Lines()
    let other = Container()
    other.logger.register { lines }
    try prepare(other, path)
    other.clock()?.api.tick()
    promise(lines.texts.contains("the clock shows 1 s"), "the clock of another container writes to its logger")
    promise(LoggerForC.held == 1, "that clock is gone, and so is its logger for C")

    step("The clock is dropped.")
    clock = nil
    promise(container.console().count == 4, "nobody holds it, so it was destroyed, and could still write")
    promise(LoggerForC.held == 0, "its logger for C went after it")
  }

  private func prepare(_ container: Container, _ path: String) throws {
    container.exportLogger()
    container.exportSpeed()
    try Plugin.load(path, into: container)
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
