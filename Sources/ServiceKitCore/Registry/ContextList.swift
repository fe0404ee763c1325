import CPlatform
import CServiceKit

/// The active contexts, in the order in which they are asked. Immutable.
package final class ContextList: Sendable {
  package let names: [OwnedBytes]

  package init(_ names: [OwnedBytes]) { self.names = names }

  func contains(_ name: ByteView) -> Bool {
    for each in names where each.view == name { return true }
    return false
  }

  var hasTest: Bool { contains(ByteView("test")) }

  /// From a comma-separated list; nil for one of nothing but blanks, which means "inherit".
  package static func parse(_ list: ByteView) throws(Failure) -> ContextList? {
    var names: [OwnedBytes] = []
    var failure: Failure?
    split(list) { name in
      guard failure == nil else { return }
      do throws(Failure) {
        try KeyRules.check(name, "context name")
        names.append(OwnedBytes(name))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return names.isEmpty ? nil : ContextList(names)
  }

  /// The name of one context.
  package static func parseOne(_ name: ByteView) throws(Failure) -> OwnedBytes {
    let name = name.trimmed
    try KeyRules.check(name, "context name")
    for index in 0..<name.count where name[index] == UInt8(ascii: ",") {
      throw Failure(SVK_INVALID_ARGUMENT) { $0.append("a registration is for one context: no comma in its name") }
    }
    return OwnedBytes(name)
  }

  /// What a container without contexts and without a parent has: `SERVICEKIT_CONTEXT`, read once, else `live`.
  /// A process that runs with more rights than its caller does not listen to its caller's environment.
  static let ofProcess: ContextList = {
    var names: [OwnedBytes] = []
    if getuid() == geteuid(), getgid() == getegid(), let value = getenv("SERVICEKIT_CONTEXT") {
      split(ByteView(cString: value)) { name in
        if KeyRules.isGood(name) {
          names.append(OwnedBytes(name))
        } else {
          Log.write(SVK_LOG_WARNING) {
            $0.append("SERVICEKIT_CONTEXT has a name that is against the rules; it is passed over")
          }
        }
      }
    }
    return ContextList(names.isEmpty ? [OwnedBytes(ByteView("live"))] : names)
  }()

  /// The names of a list, trimmed; none for one of nothing but blanks.
  private static func split(_ list: ByteView, _ body: (ByteView) -> Void) {
    guard list.trimmed.count > 0 else { return }
    var start = 0
    for end in 0...list.count where end == list.count || list[end] == UInt8(ascii: ",") {
      body(ByteView(start: list.start.map { $0 + start }, count: end - start).trimmed)
      start = end + 1
    }
  }
}

extension ByteView {
  /// Without the blanks and tabs at both ends.
  package var trimmed: ByteView {
    var (from, to) = (0, count)
    while from < to, self[from] == 0x20 || self[from] == 0x09 { from += 1 }
    while to > from, self[to - 1] == 0x20 || self[to - 1] == 0x09 { to -= 1 }
    return ByteView(start: start.map { $0 + from }, count: to - from)
  }
}
