import XCTest

@testable import ServiceKitCore

final class ByteViewTests: XCTestCase {
  func testViewsAreEqualWhereTheirBytesAre() {
    let (a, b, c, longer) = (owned("abcdefghi"), owned("abcdefghi"), owned("abcdefghX"), owned("abcdefghij"))
    XCTAssertTrue(a.view == b.view)
    XCTAssertFalse(a.view != b.view)
    XCTAssertTrue(a.view != c.view)
    XCTAssertTrue(a.view != longer.view)
    XCTAssertTrue(a.view != .empty)
    XCTAssertTrue(ByteView("") == .empty)
    withExtendedLifetime((a, b, c, longer)) {}
  }

  func testAllBytesAreComparedNulIncluded() {
    let (a, b) = (owned([1, 0, 2]), owned([1, 0, 3]))
    XCTAssertTrue(a.view != b.view)
    XCTAssertEqual(a.bytes, [1, 0, 2])
    withExtendedLifetime((a, b)) {}
  }

  func testEqualBytesHashEquallyWhereverTheyStand() {
    for length in 1...70 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
      let expected = owned(bytes)
      for shift in 0..<16 {
        let moved = UnsafeMutableRawPointer.allocate(byteCount: length + 32, alignment: 16)
        defer { moved.deallocate() }
        (moved + shift).copyMemory(from: bytes, byteCount: length)
        // What stands around it must not matter.
        if shift > 0 { moved.storeBytes(of: 0xEE, toByteOffset: shift - 1, as: UInt8.self) }
        moved.storeBytes(of: 0xEE, toByteOffset: shift + length, as: UInt8.self)
        XCTAssertEqual(ByteView(start: moved + shift, count: length).hash, expected.view.hash)
      }
      withExtendedLifetime(expected) {}
    }
  }

  func testEveryByteCountsInTheHash() {
    for length in 1...40 {
      let bytes = [UInt8](repeating: 0x61, count: length)
      let same = owned(bytes)
      for position in 0..<length {
        var other = bytes
        other[position] ^= 1
        let changed = owned(other)
        XCTAssertNotEqual(changed.view.hash, same.view.hash, "byte \(position) of \(length)")
      }
      let longer = owned(bytes + [0])
      XCTAssertNotEqual(longer.view.hash, same.view.hash)
      withExtendedLifetime((same, longer)) {}
    }
  }

  /// Tables take the hash's low bits.
  func testSimilarKeysSpreadOverATable() {
    var buckets = [Int](repeating: 0, count: 1024)
    for number in 0..<8_192 {
      let key = owned("service.\(number)")
      buckets[Int(truncatingIfNeeded: key.view.hash & 1023)] += 1
    }
    XCTAssertLessThan(buckets.max()!, 40)
    XCTAssertLessThan(buckets.filter { $0 == 0 }.count, 40)
  }

  func testAPartIsFoundAnywhere() {
    let text = owned("a → b → c")
    for part in ["a", "a →", " → b", "b → c", "c", "a → b → c", ""] {
      XCTAssertTrue(withView(part) { text.view.contains($0) }, part)
    }
    for part in ["d", "a → b → c ", "b→", "c → a"] {
      XCTAssertFalse(withView(part) { text.view.contains($0) }, part)
    }
    XCTAssertFalse(ByteView.empty.contains(text.view))
    XCTAssertTrue(ByteView.empty.contains(.empty))
  }

  func testBlanksAndTabsAreTrimmedAtBothEnds() {
    for (text, trimmed) in [
      ("", ""), (" ", ""), ("\t \t", ""), ("a", "a"), ("  a b\t", "a b"), ("\ta", "a"), ("a ", "a"), ("\na", "\na"),
    ] {
      XCTAssertEqual(withView(text) { $0.trimmed.string }, trimmed)
    }
    XCTAssertEqual(ByteView.empty.trimmed.count, 0)
  }

  func testACopyIsItsOwnAndACString() {
    var source: [UInt8] = Array("key".utf8)
    let copy = source.withUnsafeBytes { OwnedBytes(ByteView(start: $0.baseAddress, count: 3)) }
    source[0] = 0x58
    XCTAssertEqual(copy.string, "key")
    XCTAssertEqual(String(cString: copy.cString), "key")
    XCTAssertNil(OwnedBytes(unlessEmpty: .empty))
    XCTAssertEqual(OwnedBytes(unlessEmpty: ByteView("x"))?.count, 1)
    let empty = OwnedBytes(ByteView.empty)
    XCTAssertEqual(String(cString: empty.cString), "")
  }

  func testACStringsViewEndsBeforeItsNul() {
    XCTAssertEqual("abc".withCString { ByteView(cString: $0).count }, 3)
    XCTAssertEqual("".withCString { ByteView(cString: $0).count }, 0)
  }
}
