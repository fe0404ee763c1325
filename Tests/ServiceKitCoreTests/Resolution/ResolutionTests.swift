import XCTest

@testable import ServiceKitCore

final class ResolutionTests: XCTestCase {
  private let bench = Bench()
  private let other = Container.create(parent: nil)

  override func tearDown() { other.destroy() }

  /// Calls `body` inside of factories of these keys, the first one outermost.
  private func inside(
    _ keys: [String], parameters: [String] = [], _ body: (inout Resolution, [Token]) -> Void
  ) {
    var resolution = Resolution()
    let parameters = keys.indices.map { owned($0 < parameters.count ? parameters[$0] : "") }
    var frames: [UnsafeMutablePointer<Resolution.Frame>] = []
    for index in keys.indices {
      let frame = UnsafeMutablePointer<Resolution.Frame>.allocate(capacity: 1)
      frame.initialize(
        to: Resolution.Frame(
          outer: resolution.innermost, token: resolution.nextToken(threadNumber: 1), container: bench.container,
          cell: bench.cell(keys[index]), parameter: ByteParameter.make(parameters[index].view), build: nil,
          work: Resolution.Work(asked: bench.container, owner: bench.container, store: nil)))
      resolution.push(frame)
      frames.append(frame)
    }
    body(&resolution, frames.map { $0.pointee.token })
    for frame in frames.reversed() {
      resolution.pop(frame)
      frame.deinitialize(count: 1)
      frame.deallocate()
    }
    XCTAssertNil(resolution.innermost)
    withExtendedLifetime(parameters) {}
  }

  private func words(_ path: CyclePath?) -> String? { path?.words.string }

  func testAFrameIsFoundByItsTokenOnly() {
    inside(["a", "b", "c"]) { resolution, tokens in
      for (token, key) in zip(tokens, ["a", "b", "c"]) {
        XCTAssertEqual(resolution.frame(token)?.pointee.cell.key.string, key)
      }
      XCTAssertNil(resolution.frame(Token(word: 0)))
      XCTAssertNil(resolution.frame(resolution.nextToken(threadNumber: 1)))
      XCTAssertNil(resolution.frame(Token(word: tokens[0].word ^ (1 << UInt(Token.kindShift)))))
    }
  }

  func testNoTwoFactoriesHaveOneToken() {
    var seen = Set<UInt>()
    for number in [UInt(1), 2, 3, 1_000, 100_000] {
      var resolution = Resolution()
      for _ in 0..<1_000 {
        let token = resolution.nextToken(threadNumber: number)
        XCTAssertTrue(token.isKind(.resolver))
        XCTAssertTrue(seen.insert(token.word).inserted)
      }
    }
  }

  func testAPathGoesFromTheFactoryOfTheSameKeyToHere() {
    inside(["a", "b", "c"]) { resolution, _ in
      let container = bench.container
      XCTAssertTrue(words(resolution.path(to: bench.cell("c"), container, nil))!.contains(": c → c;"))
      XCTAssertTrue(words(resolution.path(to: bench.cell("b"), container, nil))!.contains(": b → c → b;"))
      XCTAssertTrue(words(resolution.path(to: bench.cell("a"), container, nil))!.contains(": a → b → c → a;"))
      XCTAssertNil(resolution.path(to: bench.cell("d"), container, nil))
    }
  }

  func testAnotherContainerOrParameterIsNoCycle() {
    inside(["a"], parameters: ["1"]) { resolution, _ in
      XCTAssertNil(resolution.path(to: bench.cell("a"), other, ByteParameter.make(ByteView("1"))))
      XCTAssertNil(resolution.path(to: bench.cell("a"), bench.container, ByteParameter.make(ByteView("2"))))
      XCTAssertNil(resolution.path(to: bench.cell("a"), bench.container, nil))
      XCTAssertNotNil(resolution.path(to: bench.cell("a"), bench.container, ByteParameter.make(ByteView("1"))))
    }
  }

  func testAPathsWordsEndWhereTheyBegin() {
    var path = CyclePath()
    path.close()
    XCTAssertTrue(path.words.string.contains("circle: ;"))
    path.add([ByteView("a")])
    path.add([ByteView("b"), ByteView("c")])
    path.close()
    XCTAssertTrue(path.words.string.contains("circle: a → b → c → a;"))
  }
}
