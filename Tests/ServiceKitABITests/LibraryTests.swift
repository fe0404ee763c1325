import CServiceKit
import ServiceKitABI
import XCTest

final class LibraryTests: XCTestCase {
  func testX() { XCTAssertEqual(svk_version(), 0x10000) }
}
