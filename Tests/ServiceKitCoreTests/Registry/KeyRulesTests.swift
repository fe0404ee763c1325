import CServiceKit
import XCTest

@testable import ServiceKitCore

final class KeyRulesTests: XCTestCase {
  private func isGood(_ bytes: [UInt8]) -> Bool {
    let name = owned(bytes)
    return withExtendedLifetime(name) { KeyRules.isGood(name.view) }
  }

  /// What the contract says, by the standard library's knowledge of UTF-8.
  private func shouldBeGood(_ bytes: [UInt8]) -> Bool {
    guard (1...255).contains(bytes.count), let text = String(validating: bytes, as: UTF8.self) else { return false }
    return text.unicodeScalars.allSatisfy { scalar in
      scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value)
    }
  }

  private func compare(_ bytes: [UInt8], file: StaticString = #filePath, line: UInt = #line) {
    if isGood(bytes) != shouldBeGood(bytes) {
      XCTFail("\(bytes.map { String($0, radix: 16) })", file: file, line: line)
    }
  }

  func testAKeyHas1To255Bytes() {
    XCTAssertFalse(isGood([]))
    XCTAssertTrue(isGood([0x61]))
    XCTAssertTrue(isGood([UInt8](repeating: 0x61, count: 255)))
    XCTAssertFalse(isGood([UInt8](repeating: 0x61, count: 256)))
    // Bytes, not characters.
    XCTAssertTrue(isGood(Array(String(repeating: "é", count: 127).utf8)))
    XCTAssertFalse(isGood(Array(String(repeating: "é", count: 128).utf8)))
    XCTAssertTrue(isGood(Array(String(repeating: "→", count: 85).utf8)))
  }

  func testEveryByteAlone() {
    for byte in UInt8.min...UInt8.max { compare([byte]) }
  }

  func testEveryPairOfBytes() {
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max { compare([first, second]) }
    }
  }

  func testThreeBytesAtEveryEdge() {
    for first in [UInt8(0xC1), 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0] {
      for second in UInt8(0x70)...0xCF {
        for third in [UInt8(0x00), 0x20, 0x7F, 0x80, 0xBF, 0xC0, 0xFF] { compare([first, second, third]) }
      }
    }
  }

  func testFourBytesAtEveryEdge() {
    for first in [UInt8(0xEF), 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF] {
      for second in UInt8(0x7E)...0xC1 {
        for third in [UInt8(0x7F), 0x80, 0xBF, 0xC0] {
          for fourth in [UInt8(0x7F), 0x80, 0xBF, 0xC0] { compare([first, second, third, fourth]) }
        }
      }
    }
  }

  func testScalarsOfEveryLength() {
    let edges: [UInt32] = [
      0x00, 0x1F, 0x20, 0x7E, 0x7F, 0x80, 0x9F, 0xA0, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD7FF, 0xE000, 0xFFFF,
      0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF,
    ]
    for value in edges + Array(stride(from: 0, through: 0x10FFFF, by: 211)) {
      guard let scalar = Unicode.Scalar(value) else { continue }
      compare(Array(String(Character(scalar)).utf8))
    }
  }

  func testACharacterCutShortIsRefusedWhereverItStands() {
    for text in ["é", "→", "😀"] {
      let bytes = Array(text.utf8)
      for kept in 1..<bytes.count {
        let cut = Array(bytes[..<kept])
        compare(cut)
        compare([0x61] + cut)
        compare(cut + [0x61])
        compare(Array(bytes) + cut)
        XCTAssertFalse(isGood([0x61] + cut))
      }
    }
  }

  func testAControlCharacterIsRefusedWhereverItStands() {
    for control: [UInt8] in [[0x00], [0x0A], [0x1F], [0x7F], [0xC2, 0x80], [0xC2, 0x9F]] {
      for bytes in [control, [0x61] + control, control + [0x61], [0x61] + control + [0x61]] {
        XCTAssertFalse(isGood(bytes))
      }
    }
    XCTAssertTrue(isGood([0xC2, 0xA0]))
  }

  func testTheRefusalSaysWhatIsWrong() {
    func refusal(_ bytes: [UInt8]) -> String {
      let name = owned(bytes)
      let result = status { () throws(Failure) in try KeyRules.check(name.view, "context name") }
      withExtendedLifetime(name) {}
      XCTAssertEqual(result, SVK_INVALID_ARGUMENT)
      return lastWords
    }
    XCTAssertTrue(refusal([]).contains("none"))
    XCTAssertTrue(refusal([UInt8](repeating: 0x61, count: 256)).contains("more"))
    let words = refusal(Array("lo\ngger".utf8) + [0xFF])
    XCTAssertTrue(words.contains("context name"))
    // It is shown without the bytes that are wrong.
    XCTAssertTrue(words.contains("\"lo?gger?\""), words)
  }

  func testAGoodKeyMakesNoFailure() {
    let before = ThreadRecord.current.pointee.lastError.count
    XCTAssertEqual(status { () throws(Failure) in try KeyRules.check(ByteView("org.example/log"), "key") }, SVK_OK)
    XCTAssertEqual(ThreadRecord.current.pointee.lastError.count, before)
  }
}
