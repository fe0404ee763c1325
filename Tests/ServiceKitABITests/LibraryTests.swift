import CServiceKit
import ServiceKitABI
import XCTest

final class LibraryTests: XCTestCase {
  func testTheVersionIsTheHeaders() {
    XCTAssertEqual(
      svk_version(), UInt32(SVK_VERSION_MAJOR) << 16 | UInt32(SVK_VERSION_MINOR) << 8 | UInt32(SVK_VERSION_PATCH))
    XCTAssertEqual(
      svk_version_string().map { String(cString: $0) },
      "\(SVK_VERSION_MAJOR).\(SVK_VERSION_MINOR).\(SVK_VERSION_PATCH)")
  }

  func testAConstantIsGivenByItsName() {
    var value: Int64 = -1
    XCTAssertEqual(svk_constant("SVK_SCOPE_CACHED", &value), SVK_OK)
    XCTAssertEqual(value, Int64(SVK_SCOPE_CACHED))
    XCTAssertEqual(svk_constant("SVK_NOTHING", &value), SVK_NOT_FOUND)
    XCTAssertEqual(value, 0)
    value = -1
    XCTAssertEqual(svk_constant(nil, &value), SVK_INVALID_ARGUMENT)
    XCTAssertEqual(value, 0)
    XCTAssertEqual(svk_constant("SVK_OK", nil), SVK_INVALID_ARGUMENT)
  }

  func testAStatusHasItsName() {
    XCTAssertEqual(String(cString: svk_status_name(SVK_CYCLE)), "SVK_CYCLE")
    XCTAssertEqual(String(cString: svk_status_name(SVK_FACTORY_ERROR_BASE + 5)), "SVK_FACTORY_ERROR_BASE")
    XCTAssertEqual(String(cString: svk_status_name(-3)), "unknown status")
  }

  func testTheLastErrorIsThisThreadsAndStays() {
    XCTAssertEqual(svk_release(nil), SVK_INVALID_HANDLE)
    let words = lastError
    XCTAssertTrue(words.contains("svk_release"))
    XCTAssertEqual(svk_singleton_reset(nil), SVK_OK)
    XCTAssertEqual(lastError, words)
    let other = Shared<String>("?")
    runThreads(1) { _ in other.change { $0 = lastError } }
    XCTAssertEqual(other.value, "")
  }
}
