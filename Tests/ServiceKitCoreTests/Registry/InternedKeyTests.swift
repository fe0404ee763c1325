import CServiceKit
import XCTest

@testable import ServiceKitCore

final class InternedKeyTests: XCTestCase {
  private func intern(_ name: String) throws -> Token {
    let bytes = owned(name)
    return try withExtendedLifetime(bytes) { try InternedKeys.intern(bytes.view) }
  }

  func testANameHasOneToken() throws {
    let token = try intern("interned.a")
    XCTAssertEqual(try intern("interned.a"), token)
    XCTAssertNotEqual(try intern("interned.b"), token)
    XCTAssertTrue(token.isKind(.key))
    let key = try XCTUnwrap(InternedKeys.key(token))
    XCTAssertEqual(key.bytes.string, "interned.a")
    XCTAssertEqual(key.hash, ByteView("interned.a").hash)
  }

  func testTokensStayWhileTheTableGrows() throws {
    let tokens = try (0..<500).map { try intern("interned.\($0)") }
    XCTAssertEqual(Set(tokens.map { $0.word }).count, 500)
    for (number, token) in tokens.enumerated() {
      XCTAssertEqual(try intern("interned.\(number)"), token)
      XCTAssertEqual(InternedKeys.key(token)?.bytes.string, "interned.\(number)")
    }
  }

  func testABadNameIsRefused() {
    for name in ["", "a\u{1}", String(repeating: "a", count: 256)] {
      XCTAssertThrowsError(try intern(name)) { XCTAssertEqual(($0 as? Failure)?.status, SVK_INVALID_ARGUMENT) }
    }
  }

  func testAnythingElseIsNoKey() throws {
    let token = try intern("interned.c")
    let one = UInt(1) << UInt(Token.indexBits)
    for word in [
      0, UInt.max, token.word &+ one, token.word &- one, token.word | Token.indexMask,
      token.word & ~Token.indexMask, token.word ^ (1 << UInt(Token.kindShift)),
    ] {
      XCTAssertNil(InternedKeys.key(Token(word: word)), "\(word)")
    }
  }

  func testThreadsAgreeOnTheTokens() {
    let seen = Shared<[[UInt]]>(Array(repeating: [], count: 200))
    storm(4, rounds: 200) { _, round in
      guard let token = try? self.intern("interned.together.\(round)") else { return }
      seen.change { $0[round].append(token.word) }
    }
    XCTAssertTrue(seen.value.allSatisfy { $0.count == 4 && Set($0).count == 1 })
    XCTAssertEqual(Set(seen.value.map { $0[0] }).count, 200)
  }
}
