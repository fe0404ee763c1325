import ServiceKit
import Synchronization
import XCTest

final class ServiceFailureTests: XCTestCase {
  func testTheHandlerCanBeReplacedAndPutBack() {
    let before = ServiceFailure.handler
    defer { ServiceFailure.handler = before }
    let heard = Mutex<[String]>([])
    ServiceFailure.handler = { message, _, line in heard.withLock { $0.append("\(line): \(message)") } }
    ServiceFailure.handler("no such thing", #fileID, 7)
    XCTAssertEqual(heard.withLock { $0 }, ["7: no such thing"])
  }
}
