import CServiceKit
import Foundation
import XCTest

@testable import ServiceKitCore

final class ConstantsTests: XCTestCase {
  /// The plain numbers that the header defines, read from its text.
  private func header() throws -> [String: Int64] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("include/servicekit.h"), encoding: .utf8)
    var constants: [String: Int64] = [:]
    for line in text.split(separator: "\n") where line.hasPrefix("#define SVK_") {
      let words = line.split(separator: " ")
      guard words.count == 3 else { continue }
      let number = words[2].hasSuffix("u") ? words[2].dropLast() : words[2]
      if let value = Int64(number) { constants[String(words[1])] = value }
    }
    return constants
  }

  func testEveryConstantOfTheHeaderIsKnownByItsName() throws {
    let constants = try header()
    XCTAssertGreaterThan(constants.count, 50)
    for (name, value) in constants { XCTAssertEqual(withView(name) { Constants.value($0) }, value, name) }
  }

  func testNothingElseIsKnown() {
    for name in ["", "SVK_", "SVK_O", "SVK_OK ", "svk_ok", "OK", "SVK_API", "SVK_NULLABLE", "SVK_FACTORY_OPTIONS_INIT"]
    {
      XCTAssertNil(withView(name) { Constants.value($0) }, name)
    }
  }

  func testEveryStatusHasItsNameAndAText() throws {
    let statuses = try header().filter { name, value in
      (0...SVK_SYSTEM_ERROR).contains(Int32(value))
        && ![
          "_SCOPE_", "_RESET_", "_FORMAT_", "_DELIVER_", "_BUFFER_U", "_BUFFER_N", "_BUFFER_O", "_BUFFER_B", "_LOG_",
          "_TRACE_", "_VERSION_", "_SKIP_", "_OBSERVE_", "_CACHE_",
        ]
        .contains { name.contains($0) }
    }
    XCTAssertEqual(statuses.count, 17)
    var texts = Set<String>()
    for (name, value) in statuses {
      XCTAssertEqual(String(cString: Constants.statusName(Int32(value))), name)
      XCTAssertTrue(texts.insert("\(Constants.statusText(Int32(value)))").inserted, "\(name)'s text is another's")
    }
  }

  func testWhatIsNoStatusIsSaidToBeNone() {
    for status in [-1, .min, 17, 999] as [Int32] {
      XCTAssertEqual(String(cString: Constants.statusName(status)), "unknown status")
    }
    for status in [1_000, 1_001, .max] as [Int32] {
      XCTAssertEqual(String(cString: Constants.statusName(status)), "SVK_FACTORY_ERROR_BASE")
    }
  }
}
