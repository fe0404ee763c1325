import CServiceKit
import XCTest

@testable import ServiceKitCore

final class RequireTests: XCTestCase {
  private let container = Container.create(parent: nil)

  override func tearDown() { container.destroy() }

  func testAResolverIsValidWhileItsFactoryRunsOnItsThread() throws {
    let seen = Shared<[Token]>([])
    let answers = Shared<[Int32]>([])
    func note(_ answer: Int32) { answers.change { $0.append(answer) } }
    let inner = Maker("inner") { building in
      note(building.require("leaf"))
      // The outer factory's resolver is valid, too: it is running.
      note(Building(resolver: seen.value[0]).require("leaf"))
      return SVK_OK
    }
    let outer = Maker("outer") { building in
      seen.change { $0.append(building.resolver) }
      note(building.require("inner"))
      runThreads(1) { _ in
        note(building.require("leaf"))
        note(Require.container(building.resolver) == nil ? SVK_INVALID_HANDLE : SVK_OK)
      }
      return SVK_OK
    }
    container.register("leaf", Maker("leaf").registration(.cached))
    container.register("inner", inner.registration(.unique))
    container.register("outer", outer.registration(.unique))
    let held = try container.resolve("outer")
    XCTAssertEqual(answers.value, [SVK_OK, SVK_OK, SVK_OK, SVK_INVALID_HANDLE, SVK_INVALID_HANDLE])
    XCTAssertEqual(Building(resolver: seen.value[0]).require("leaf"), SVK_INVALID_HANDLE)
    XCTAssertNil(Require.container(seen.value[0]))
    XCTAssertEqual(status { () throws(Failure) in _ = try Require.parameter(seen.value[0]) }, SVK_INVALID_HANDLE)
    held.release()
  }

  func testTheParameterIsTheResolves() throws {
    let seen = Shared<[String]>([])
    let leaf = Maker("leaf") { building in
      seen.change { $0.append(building.parameter) }
      return SVK_OK
    }
    let top = Maker("top") { building in
      seen.change { $0.append(building.parameter) }
      _ = building.require("leaf", parameter: "inner")
      _ = building.require("leaf")
      seen.change { $0.append(building.parameter) }
      return SVK_OK
    }
    container.register("leaf", leaf.registration(.unique))
    container.register("top", top.registration(.unique))
    try container.touch("top", parameter: "outer")
    XCTAssertEqual(seen.value, ["outer", "inner", "", "outer"])
  }

  func testWhatWasRequiredLivesAsLongAsItsDependent() throws {
    let (leaf, top) = (Maker("leaf"), Maker("top") { $0.require("leaf") })
    container.register("leaf", leaf.registration(.unique))
    container.register("top", top.registration(.unique))
    let held = try container.resolve("top")
    XCTAssertEqual(leaf.alive, 1)
    held.release()
    XCTAssertEqual(leaf.alive, 0)
    XCTAssertEqual(top.alive, 0)
  }

  func testAFailedFactoryReleasesWhatItRequired() throws {
    let leaf = Maker("leaf")
    let top = Maker("top") { building in
      for _ in 0..<3 { _ = building.require("leaf") }
      return SVK_FACTORY_ERROR_BASE + 7
    }
    container.register("leaf", leaf.registration(.unique))
    container.register("top", top.registration(.cached))
    for attempt in 1...2 {
      XCTAssertEqual(container.tryResolve("top").status, SVK_FACTORY_ERROR_BASE + 7)
      XCTAssertEqual(leaf.builds.value, 3 * attempt)
      XCTAssertEqual(leaf.alive, 0)
    }
    XCTAssertEqual(top.destroys.value, 0)
  }

  func testWhatAFactoryMayAnswer() throws {
    let passes: [Int32] = [SVK_FACTORY_ERROR_BASE, 1_001, .max, SVK_CYCLE, SVK_NOT_FOUND, SVK_SYSTEM_ERROR]
    let fails: [Int32] = [-1, .min, 17, 999, SVK_FACTORY_FAILED]
    for answer in passes {
      container.register("key", Maker { _ in answer }.registration(.cached))
      XCTAssertEqual(container.tryResolve("key").status, answer)
      XCTAssertTrue(lastWords.contains("\"key\""), lastWords)
    }
    for answer in fails {
      container.register("key", Maker { _ in answer }.registration(.cached))
      XCTAssertEqual(container.tryResolve("key").status, SVK_FACTORY_FAILED)
      XCTAssertTrue(lastWords.contains("\"key\""), lastWords)
    }
  }

  func testAFailureSaysWhoNeededIt() throws {
    container.register("top", Maker { $0.require("middle") }.registration(.unique))
    container.register("middle", Maker { $0.require("missing") }.registration(.unique))
    XCTAssertEqual(container.tryResolve("top").status, SVK_NOT_FOUND)
    for part in ["\"missing\"", "needed by \"middle\"", "needed by \"top\""] {
      XCTAssertTrue(lastWords.contains(part), "\(part) in \(lastWords)")
    }
  }

  /// The words survive destructors that fail at something of their own.
  func testAFailuresWordsOutliveTheTeardownAfterIt() throws {
    container.register("leaf", Maker().registration(.unique))
    container.register(
      "top",
      Maker { building in
        _ = building.require("leaf")
        return building.require("missing")
      }.registration(.unique))
    container.register(
      "leaf",
      CRegistration(
        create: { _, instance, _ in
          instance!.pointee = UnsafeMutableRawPointer(bitPattern: 8)
          return SVK_OK
        }, destroy: { _, _ in _ = Failure(SVK_BUSY) { $0.append("of the destructor") } },
        userData: UserData(nil, free: nil), scope: .unique, customScope: nil, timeToLive: 0, cachesByParameter: false,
        type: nil, requiredKeys: [], context: nil))
    XCTAssertEqual(container.tryResolve("top").status, SVK_NOT_FOUND)
    XCTAssertTrue(lastWords.contains("missing"), lastWords)
  }
}
