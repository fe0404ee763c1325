import XCTest

@testable import ServiceKitCore

final class TextTests: XCTestCase {
  func testATextIsAlwaysACString() {
    var text = Text()
    XCTAssertEqual(String(cString: text.cString), "")
    text.append("a")
    XCTAssertEqual(String(cString: text.cString), "a")
    text.append(byte: 0x62)
    XCTAssertEqual(String(cString: text.cString), "ab")
    text.append(ByteView.empty)
    text.append(owned(" → c"))
    XCTAssertEqual(String(cString: text.cString), "ab → c")
    XCTAssertEqual(text.count, "ab → c".utf8.count)
    text.clear()
    XCTAssertEqual(text.count, 0)
    XCTAssertEqual(String(cString: text.cString), "")
  }

  func testItGrowsByBytesAndByPieces() {
    for piece in [1, 7, 255, 256, 257, 1_000] {
      var text = Text()
      var expected: [UInt8] = []
      let bytes = owned((0..<piece).map { UInt8(97 + $0 % 26) })
      while expected.count < 3_000 {
        text.append(bytes)
        expected += bytes.bytes
        text.append(byte: 0x2E)
        expected.append(0x2E)
        XCTAssertEqual(text.cString[text.count], 0)
      }
      XCTAssertEqual(text.view.bytes, expected)
    }
  }

  func testNumbersAreInDecimal() {
    for number in [0, 1, 9, 10, 11, 99, 100, -1, -10, 1_234_567_890, .max, .min] as [Int64] {
      var text = Text()
      text.append(number)
      XCTAssertEqual(text.view.string, "\(number)")
    }
    for number in [0, 10, UInt64(Int64.max), .max] as [UInt64] {
      var text = Text()
      text.append(number)
      XCTAssertEqual(text.view.string, "\(number)")
    }
  }
}
