import CServiceKit

/// A container described for people (text), for programs (JSON), or as a graph (DOT, the language of Graphviz).
package enum Description {
  package static func write(_ container: Container, format: Int32) throws(Failure) -> Text {
    let inventory = Inventory(of: container)
    var text = Text()
    switch format {
    case SVK_FORMAT_TEXT: writeText(inventory, &text)
    case SVK_FORMAT_JSON: writeJSON(inventory, &text)
    case SVK_FORMAT_DOT: writeDOT(inventory, &text)
    default:
      throw Failure(SVK_INVALID_ARGUMENT) { message in
        message.append("the format is one of the SVK_FORMAT_ constants, not ")
        message.append(Int64(format))
      }
    }
    return text
  }

  // MARK: - Text

  private static func writeText(_ inventory: Inventory, _ text: inout Text) {
    text.append("container: ")
    text.append(Int64(inventory.keys.count))
    text.append(inventory.keys.count == 1 ? " key, contexts " : " keys, contexts ")
    append(inventory.contexts, separator: ",", to: &text)
    text.append(inventory.isStrict ? ", strict, default scope " : ", default scope ")
    text.append(inventory.defaultScope.name)
    if inventory.pushes > 0 {
      text.append(", pushed ")
      text.append(Int64(inventory.pushes))
    }
    text.append("\n")
    for key in inventory.keys { writeText(key, &text) }
  }

  private static func writeText(_ key: Inventory.Key, _ text: inout Text) {
    text.append("  ")
    text.append(key.name)
    text.append(": ")
    text.append(key.scope.name)
    if let type = key.type {
      text.append(", type ")
      text.append(type)
    }
    text.append(", registered for ")
    append(registrationNames(key), separator: ",", to: &text)
    text.append(", ")
    text.append(Int64(key.liveInstances))
    text.append(" live (")
    text.append(key.isCached ? "cached), " : "none cached), ")
    text.append(Int64(key.handles))
    text.append(" handles, required by ")
    text.append(Int64(key.dependencies))
    if !key.requirements.isEmpty {
      text.append(", requires ")
      append(key.requirements, separator: ",", to: &text)
    }
    text.append("\n")
  }

  /// "plain", and the contexts.
  private static func registrationNames(_ key: Inventory.Key) -> [OwnedBytes] {
    var names = key.plain == nil ? [] : [OwnedBytes(ByteView("plain"))]
    for each in key.contextual { names.append(each.context!) }
    if names.isEmpty { names.append(OwnedBytes(ByteView("nothing now"))) }
    return names
  }

  private static func append(_ contexts: ContextList, separator: StaticString, to text: inout Text) {
    append(contexts.names, separator: separator, to: &text)
  }

  private static func append(_ names: [OwnedBytes], separator: StaticString, to text: inout Text) {
    for index in names.indices {
      if index > 0 { text.append(separator) }
      text.append(names[index])
    }
  }

  // MARK: - JSON (RFC 8259)

  private static func writeJSON(_ inventory: Inventory, _ text: inout Text) {
    text.append("{\"contexts\":")
    appendJSON(inventory.contexts.names, to: &text)
    text.append(inventory.isStrict ? ",\"strict\":true" : ",\"strict\":false")
    text.append(",\"defaultScope\":\"")
    text.append(inventory.defaultScope.name)
    text.append("\",\"pushes\":")
    text.append(Int64(inventory.pushes))
    text.append(",\"keys\":[")
    for index in inventory.keys.indices {
      if index > 0 { text.append(",") }
      writeJSON(inventory.keys[index], &text)
    }
    text.append("]}\n")
  }

  private static func writeJSON(_ key: Inventory.Key, _ text: inout Text) {
    text.append("{\"key\":")
    appendQuoted(key.name.view, to: &text)
    text.append(",\"type\":")
    if let type = key.type { appendQuoted(type.view, to: &text) } else { text.append("null") }
    text.append(",\"scope\":\"")
    text.append(key.scope.name)
    text.append(key.plain == nil ? "\",\"plain\":false" : "\",\"plain\":true")
    text.append(",\"contexts\":")
    appendJSON(key.contextual.map { $0.context! }, to: &text)
    text.append(",\"liveInstances\":")
    text.append(Int64(key.liveInstances))
    text.append(key.isCached ? ",\"cached\":true" : ",\"cached\":false")
    text.append(",\"handles\":")
    text.append(Int64(key.handles))
    text.append(",\"requiredBy\":")
    text.append(Int64(key.dependencies))
    text.append(",\"requires\":")
    appendJSON(key.requirements, to: &text)
    text.append("}")
  }

  private static func appendJSON(_ names: [OwnedBytes], to text: inout Text) {
    text.append("[")
    for index in names.indices {
      if index > 0 { text.append(",") }
      appendQuoted(names[index].view, to: &text)
    }
    text.append("]")
  }

  /// Names have no control characters, so that quotes and backslashes are all there is to escape, in DOT as in JSON.
  private static func appendQuoted(_ name: ByteView, to text: inout Text) {
    text.append("\"")
    appendEscaped(name, to: &text)
    text.append("\"")
  }

  private static func appendEscaped(_ names: [OwnedBytes], to text: inout Text) {
    for index in names.indices {
      if index > 0 { text.append(", ") }
      appendEscaped(names[index].view, to: &text)
    }
  }

  private static func appendEscaped(_ name: ByteView, to text: inout Text) {
    for index in 0..<name.count {
      if name[index] == UInt8(ascii: "\"") || name[index] == UInt8(ascii: "\\") {
        text.append(byte: UInt8(ascii: "\\"))
      }
      text.append(byte: name[index])
    }
  }

  // MARK: - DOT

  private static func writeDOT(_ inventory: Inventory, _ text: inout Text) {
    text.append("digraph container {\n  label=\"contexts: ")
    appendEscaped(inventory.contexts.names, to: &text)
    text.append("\";\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n")
    for key in inventory.keys {
      text.append("  ")
      appendQuoted(key.name.view, to: &text)
      text.append(" [label=<")
      appendHTML(key.name.view, to: &text)
      writeDOTDetails(key, &text)
      text.append(key.isCached ? ">, penwidth=2];\n" : ">];\n")
    }
    for key in inventory.keys {
      for requirement in key.requirements {
        text.append("  ")
        appendQuoted(key.name.view, to: &text)
        text.append(" -> ")
        appendQuoted(requirement.view, to: &text)
        text.append(";\n")
      }
    }
    text.append("}\n")
  }

  /// The lines under a key's name.
  private static func writeDOTDetails(_ key: Inventory.Key, _ text: inout Text) {
    text.append("<br/><font point-size=\"10\">")
    if let type = key.type {
      appendHTML(type.view, to: &text)
      text.append("<br/>")
    }
    text.append(key.scope.name)
    for context in key.contextual {
      text.append(", ")
      appendHTML(context.context!.view, to: &text)
    }
    text.append("<br/>")
    text.append(Int64(key.liveInstances))
    text.append(" live, ")
    text.append(Int64(key.handles + key.dependencies))
    text.append(key.handles + key.dependencies == 1 ? " lease</font>" : " leases</font>")
  }

  private static func appendHTML(_ name: ByteView, to text: inout Text) {
    for index in 0..<name.count {
      switch name[index] {
      case UInt8(ascii: "<"): text.append("&lt;")
      case UInt8(ascii: ">"): text.append("&gt;")
      case UInt8(ascii: "&"): text.append("&amp;")
      default: text.append(byte: name[index])
      }
    }
  }
}
