import CServiceKit
import XCTest

@testable import ServiceKitCore

final class BufferPolicyTests: XCTestCase {
  func testEveryBufferingWithEveryCapacity() throws {
    let kinds: [(Int32, BufferPolicy.Kind)] = [
      (SVK_BUFFER_UNBOUNDED, .unbounded), (SVK_BUFFER_NEWEST, .newest), (SVK_BUFFER_OLDEST, .oldest),
      (SVK_BUFFER_BLOCK, .block),
    ]
    for (buffering, kind) in kinds {
      for capacity in [1, 2, 1_000, Int.max] {
        let policy = try BufferPolicy(buffering: buffering, capacity: capacity)
        XCTAssertEqual(policy.kind, kind)
        XCTAssertEqual(policy.capacity, kind == .unbounded ? Int.max : capacity)
      }
      // A size_t beyond half of the memory is negative here, and a very large capacity.
      for capacity in [-1, Int.min] {
        XCTAssertEqual(try BufferPolicy(buffering: buffering, capacity: capacity).capacity, Int.max)
      }
      let result = status { () throws(Failure) in _ = try BufferPolicy(buffering: buffering, capacity: 0) }
      XCTAssertEqual(result, kind == .unbounded ? SVK_OK : SVK_INVALID_ARGUMENT)
    }
  }

  func testAnUnknownBufferingIsRefused() {
    for buffering in [-1, 4, .max, .min] as [Int32] {
      let result = status { () throws(Failure) in _ = try BufferPolicy(buffering: buffering, capacity: 1) }
      XCTAssertEqual(result, SVK_INVALID_ARGUMENT)
      XCTAssertTrue(lastWords.contains("\(buffering)"))
    }
  }
}
