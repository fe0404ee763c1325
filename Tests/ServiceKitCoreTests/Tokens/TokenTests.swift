import XCTest

@testable import ServiceKitCore

final class TokenTests: XCTestCase {
  private let kinds: [Token.Kind] = [
    .container, .resolver, .handle, .key, .scope, .stream, .service, .snapshot, .subscription, .dispatcher,
  ]

  func testKindIndexAndGenerationFillTheWord() {
    for kind in kinds {
      for generation in [0, 1, Token.lastGeneration] {
        for index in [0, 1, Token.indexMask] {
          let token = Token(kind: kind, generation: generation, index: index)
          XCTAssertTrue(token.isKind(kind))
          XCTAssertEqual(token.index, Int(index))
          XCTAssertEqual(token.word >> UInt(Token.indexBits) & Token.lastGeneration, generation)
          XCTAssertEqual(token.kindBits, UInt(kind.rawValue))
        }
      }
    }
  }

  func testATokenIsOfOneKindOnly() {
    for kind in kinds {
      let token = Token(kind: kind, generation: Token.lastGeneration, index: Token.indexMask)
      for other in kinds where other != kind { XCTAssertFalse(token.isKind(other)) }
    }
  }

  func testNoTokenIsNull() {
    for kind in kinds { XCTAssertNotEqual(Token(kind: kind, generation: 0, index: 0).word, 0) }
    for kind in kinds { XCTAssertFalse(Token(word: 0).isKind(kind)) }
  }

  func testEveryKindFitsItsBitsAndLeavesTheLastToDependencies() {
    for kind in kinds {
      XCTAssertGreaterThan(kind.rawValue, 0)
      XCTAssertLessThan(kind.rawValue, 15)
    }
    XCTAssertEqual(Set(kinds.map { $0.rawValue }).count, kinds.count)
  }
}
