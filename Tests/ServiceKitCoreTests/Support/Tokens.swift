@testable import ServiceKitCore

extension Token {
  /// The same place and generation, as another kind; 0 for none.
  func with(kind: UInt) -> Token {
    Token(word: word & ((1 << UInt(Token.kindShift)) - 1) | kind << UInt(Token.kindShift))
  }
}
