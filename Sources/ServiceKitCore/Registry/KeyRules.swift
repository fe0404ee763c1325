import CServiceKit

/// What may be a key or a context name.
package enum KeyRules {
  package static let longest = 255

  /// 1 to 255 bytes of valid UTF-8 without control characters, C1 ones included.
  package static func check(_ name: ByteView, _ what: StaticString) throws(Failure) {
    guard name.count > 0, name.count <= longest else {
      throw Failure(SVK_INVALID_ARGUMENT) { text in
        text.append("a ")
        text.append(what)
        text.append(" has 1 to 255 bytes, and this one has ")
        if name.count > longest { text.append("more") } else { text.append("none") }
      }
    }
    guard isPrintable(name) else {
      throw Failure(SVK_INVALID_ARGUMENT) { text in
        text.append("a ")
        text.append(what)
        text.append(" is UTF-8 without control characters, and this one has bytes that are not: \"")
        for index in 0..<name.count {
          let byte = name[index]
          text.append(byte: byte < 0x20 || byte > 0x7E ? UInt8(ascii: "?") : byte)
        }
        text.append("\"")
      }
    }
  }

  static func isGood(_ name: ByteView) -> Bool { name.count > 0 && name.count <= longest && isPrintable(name) }

  /// UTF-8 as in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
  private static func isPrintable(_ name: ByteView) -> Bool {
    var index = 0
    while index < name.count {
      let lead = name[index]
      var more = 0
      var (low, high): (UInt8, UInt8) = (0x80, 0xBF)
      switch lead {
      case 0x20...0x7E: more = 0
      case 0xC2:
        (more, low) = (1, 0xA0)  // U+0080 to U+009F are the C1 control characters.
      case 0xC3...0xDF: more = 1
      case 0xE0: (more, low) = (2, 0xA0)
      case 0xED: (more, high) = (2, 0x9F)
      case 0xE1...0xEF: more = 2
      case 0xF0: (more, low) = (3, 0x90)
      case 0xF4: (more, high) = (3, 0x8F)
      case 0xF1...0xF3: more = 3
      default: return false
      }
      guard index + more < name.count else { return false }
      for offset in 0..<more {
        let byte = name[index + 1 + offset]
        let (first, last): (UInt8, UInt8) = offset == 0 ? (low, high) : (0x80, 0xBF)
        guard byte >= first, byte <= last else { return false }
      }
      index += 1 + more
    }
    return true
  }
}
