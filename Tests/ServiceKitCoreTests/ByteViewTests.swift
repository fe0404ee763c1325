import CServiceKit
import XCTest

@testable import ServiceKitCore

final class ByteViewTests: XCTestCase {
  func testX() { XCTAssertEqual(ByteView("ab").count, 2) }
}
