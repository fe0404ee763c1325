import ServiceKit
import XCTest

final class UnimplementedTests: XCTestCase {
  private var isRecording = false
  private var recorded: [String] = []

  #if !canImport(Darwin)
    override func recordFailure(
      withDescription description: String, inFile filePath: String, atLine lineNumber: Int, expected: Bool
    ) {
      guard isRecording else {
        return super.recordFailure(
          withDescription: description, inFile: filePath, atLine: lineNumber, expected: expected)
      }
      recorded.append(description)
    }

    private func recording(_ body: () -> Void) -> [String] {
      recorded = []
      isRecording = true
      defer { isRecording = false }
      body()
      return recorded
    }

    func testACallIsAFailureOfTheTest() {
      let api = PlayerAPI(play: unimplemented("play"))
      let issues = recording { api.play("song", 3) }
      XCTAssertEqual(issues.count, 1)
      XCTAssertTrue(issues.first?.contains("\"play\"") == true, "\(issues)")
    }

    func testAPlaceholderIsEvaluatedAtEachCallAndReturned() {
      let asked = Tally()
      let position: @Sendable (Int) -> Int = unimplemented("position", placeholder: asked.add())
      XCTAssertEqual(asked.value, 0)
      XCTAssertEqual(recording { XCTAssertEqual([position(1), position(2)], [1, 2]) }.count, 2)
    }

    func testOneThatMayThrowDoes() {
      let load: @Sendable (String) throws -> Int = unimplemented("load")
      let issues = recording {
        do {
          XCTFail("\(try load("file"))")
        } catch { XCTAssertEqual((error as? UnimplementedError)?.name, "load") }
      }
      XCTAssertEqual(issues.count, 1)
    }

    func testItDoesNotFailTheProgramWhereATestRuns() {
      let nothing: @Sendable () -> Void = unimplemented("nothing")
      XCTAssertEqual(collectingFailures { XCTAssertEqual(recording { nothing() }.count, 1) }, [])
    }
  #endif

  func testOnesThatAreNotCalledSayNothing() {
    _ = PlayerAPI(play: unimplemented("play"))
  }

  func testEveryKindOfEndpoint() {
    struct API {
      var none: @Sendable () -> Void = unimplemented("none")
      var two: @Sendable (Int, String) -> Void = unimplemented("two")
      var value: @Sendable (Int) -> [String] = unimplemented("value", placeholder: [])
      var throwing: @Sendable () throws -> Int = unimplemented("throwing")
      var nothingThrowing: @Sendable (Int) throws -> Void = unimplemented("nothingThrowing")
      var async: @Sendable (Int) async -> Int = unimplemented("async", placeholder: 0)
      var asyncNone: @Sendable () async -> Void = unimplemented("asyncNone")
      var asyncThrowing: @Sendable (String) async throws -> String = unimplemented("asyncThrowing")
    }
    _ = API()
  }
}

private struct PlayerAPI: Sendable {
  var play: @Sendable (String, Int) -> Void
}
