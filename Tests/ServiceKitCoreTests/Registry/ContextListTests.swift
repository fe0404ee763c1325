import CServiceKit
import Foundation
import XCTest

@testable import ServiceKitCore

final class ContextListTests: XCTestCase {
  /// The names of a list, nil for one that means "inherit"; SVK_INVALID_ARGUMENT for one that is refused.
  private func parse(_ list: String) throws -> [String]? {
    let bytes = owned(list)
    return try withExtendedLifetime(bytes) { try ContextList.parse(bytes.view)?.names.map { $0.string } }
  }

  func testNamesComeInTheirOrderTrimmed() throws {
    XCTAssertEqual(try parse("test"), ["test"])
    XCTAssertEqual(try parse("preview,live"), ["preview", "live"])
    XCTAssertEqual(try parse("  preview\t, live ,a b"), ["preview", "live", "a b"])
    XCTAssertEqual(try parse("é,→"), ["é", "→"])
    XCTAssertEqual(try parse("a,a"), ["a", "a"])
  }

  func testNothingButBlanksMeansInherit() throws {
    for list in ["", " ", "\t", "  \t "] { XCTAssertNil(try parse(list)) }
    XCTAssertNil(try ContextList.parse(.empty))
  }

  func testAnEmptyOrBadNameIsRefused() {
    let long = String(repeating: "a", count: 256)
    for list in [",", "a,", ",a", "a,,b", "a, ,b", " ,", "a\u{1}", "a,\u{7F}", "a,b\u{80}", long, "a,\(long)"] {
      XCTAssertThrowsError(try parse(list), list) { XCTAssertEqual(($0 as? Failure)?.status, SVK_INVALID_ARGUMENT) }
    }
    XCTAssertEqual(try parse(String(repeating: "a", count: 255))?.count, 1)
    let bytes = owned([0x61, 0x2C, 0xFF])
    XCTAssertEqual(status { () throws(Failure) in _ = try ContextList.parse(bytes.view) }, SVK_INVALID_ARGUMENT)
    withExtendedLifetime(bytes) {}
  }

  func testOneNameIsTrimmedAndHasNoComma() throws {
    func parseOne(_ name: String) throws -> String {
      let bytes = owned(name)
      return try withExtendedLifetime(bytes) { try ContextList.parseOne(bytes.view).string }
    }
    XCTAssertEqual(try parseOne(" test\t"), "test")
    for name in ["", "  ", "a,b", ",", "a,", "\u{9F}"] {
      XCTAssertThrowsError(try parseOne(name), name) { XCTAssertEqual(($0 as? Failure)?.status, SVK_INVALID_ARGUMENT) }
    }
  }

  func testNamesAreComparedWhole() {
    let list = ContextList([owned("tests"), owned("Test"), owned("tes")])
    XCTAssertFalse(list.hasTest)
    XCTAssertTrue(list.contains(ByteView("tests")))
    XCTAssertFalse(list.contains(ByteView("te")))
    XCTAssertTrue(ContextList([owned("live"), owned("test")]).hasTest)
  }

  func testWithoutTheEnvironmentAProcessIsLive() throws {
    guard ProcessInfo.processInfo.environment["SERVICEKIT_CONTEXT"] == nil else { throw XCTSkip("it is set here") }
    XCTAssertEqual(ContextList.ofProcess.names.map { $0.string }, ["live"])
  }
}
