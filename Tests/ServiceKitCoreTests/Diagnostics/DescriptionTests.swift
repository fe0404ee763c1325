import CServiceKit
import Foundation
import XCTest

@testable import ServiceKitCore

final class DescriptionTests: XCTestCase {
  private let container = Container.create(parent: nil)
  /// Keys as a hostile program may choose them.
  private let nasty = [
    "\"", "\\", "a\\", "\\\"", "<b>&amp;</b>", "é→😀", "{}[],:", "a b", "'", "%s%n", "//", "--", "]]>",
  ]

  override func tearDown() { container.destroy() }

  private func describe(_ format: Int32) throws -> String {
    try Description.write(container, format: format).view.string
  }

  private func json() throws -> [String: Any] {
    try XCTUnwrap(
      try JSONSerialization.jsonObject(with: Data(try describe(SVK_FORMAT_JSON).utf8)) as? [String: Any])
  }

  private func keys() throws -> [[String: Any]] { try XCTUnwrap(try json()["keys"] as? [[String: Any]]) }

  func testAnUnknownFormatIsRefused() {
    for format in [-1, 3, .max] as [Int32] {
      XCTAssertEqual(
        status { () throws(Failure) in _ = try Description.write(container, format: format) }, SVK_INVALID_ARGUMENT)
      XCTAssertTrue(lastWords.contains("\(format)"))
    }
  }

  func testAnEmptyContainerIsDescribed() throws {
    XCTAssertEqual(try describe(SVK_FORMAT_TEXT), "container: 0 keys, contexts live, default scope unique\n")
    XCTAssertEqual(try keys().count, 0)
    XCTAssertTrue(try describe(SVK_FORMAT_DOT).hasSuffix("}\n"))
  }

  func testJSONSaysWhatThereIs() throws {
    let leaf = Maker("leaf")
    container.register("leaf", leaf.registration(.cached, type: "org.example/1"))
    container.register("top", Maker { $0.require("leaf") }.registration(.shared))
    container.register("top", Maker().registration(.shared, context: "test"))
    container.register("none", Maker().registration(.default, context: "preview"))
    try container.setContexts(ByteView("preview,live"))
    try container.setStrict(true)
    try container.setDefaultScope(.graph)
    try container.push()
    let (first, second) = (try container.resolve("top"), try container.resolve("top"))
    let all = try json()
    XCTAssertEqual(all["contexts"] as? [String], ["preview", "live"])
    XCTAssertEqual(all["strict"] as? Bool, true)
    XCTAssertEqual(all["defaultScope"] as? String, "graph")
    XCTAssertEqual(all["pushes"] as? Int, 1)
    let keys = try keys()
    XCTAssertEqual(keys.map { $0["key"] as? String }, ["leaf", "none", "top"])
    XCTAssertEqual(keys[0]["type"] as? String, "org.example/1")
    XCTAssertEqual(keys[0]["scope"] as? String, "cached")
    XCTAssertEqual(keys[0]["liveInstances"] as? Int, 1)
    XCTAssertEqual(keys[0]["cached"] as? Bool, true)
    XCTAssertEqual(keys[0]["handles"] as? Int, 0)
    XCTAssertEqual(keys[0]["requiredBy"] as? Int, 1)
    XCTAssertEqual(keys[0]["requires"] as? [String], [])
    XCTAssertEqual(keys[0]["plain"] as? Bool, true)
    XCTAssertTrue(keys[1]["type"] is NSNull)
    XCTAssertEqual(keys[1]["scope"] as? String, "graph")
    XCTAssertEqual(keys[1]["plain"] as? Bool, false)
    XCTAssertEqual(keys[1]["contexts"] as? [String], ["preview"])
    XCTAssertEqual(keys[1]["liveInstances"] as? Int, 0)
    XCTAssertEqual(keys[1]["cached"] as? Bool, false)
    XCTAssertEqual(keys[2]["handles"] as? Int, 2)
    XCTAssertEqual(keys[2]["requires"] as? [String], ["leaf"])
    XCTAssertEqual(keys[2]["contexts"] as? [String], ["test"])
    first.release()
    second.release()
    XCTAssertEqual(try self.keys()[2]["liveInstances"] as? Int, 0)
    XCTAssertEqual(try self.keys()[2]["requires"] as? [String], ["leaf"], "the graph seen so far")
  }

  func testJSONTakesEveryKey() throws {
    for key in nasty {
      container.register(
        key, Maker().registration(.cached, type: key, context: key.replacingOccurrences(of: ",", with: ";")))
    }
    let keys = try keys()
    XCTAssertEqual(Set(keys.compactMap { $0["key"] as? String }), Set(nasty))
    XCTAssertEqual(Set(keys.compactMap { $0["type"] as? String }), Set(nasty))
  }

  func testDOTQuotesEveryKey() throws {
    for key in nasty {
      container.register("of " + key, Maker { $0.require(key) }.registration(.cached))
      container.register(key, Maker().registration(.cached))
      try container.touch("of " + key)
    }
    let lines = try describe(SVK_FORMAT_DOT).split(separator: "\n").map(String.init)
    for key in nasty {
      let quoted =
        "\"" + key.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"") + "\""
      XCTAssertTrue(lines.contains("  \"of \(quoted.dropFirst()) -> \(quoted);"), key)
      let label = key.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        .replacingOccurrences(of: ">", with: "&gt;")
      XCTAssertTrue(lines.contains { $0.hasPrefix("  \(quoted) [label=<\(label)<br/><font point-size=\"10\">") }, key)
    }
    XCTAssertEqual(lines.first, "digraph container {")
    XCTAssertEqual(lines.last, "}")
  }

  func testTextHasALineForEachKeyInOrder() throws {
    container.register("b", Maker { $0.require("a") }.registration(.cached, type: "t"))
    container.register("a", Maker().registration(.unique, context: "live"))
    let held = try container.resolve("b")
    XCTAssertEqual(
      try describe(SVK_FORMAT_TEXT),
      """
      container: 2 keys, contexts live, default scope unique
        a: unique, registered for live, 1 live (none cached), 0 handles, required by 1
        b: cached, type t, registered for plain, 1 live (cached), 1 handles, required by 0, requires a

      """)
    held.release()
  }

  func testAnInstanceThatOutlivedItsRegistrationIsShown() throws {
    container.register("gone", Maker().registration(.cached))
    let held = try container.resolve("gone")
    XCTAssertEqual(container.unregister("gone"), SVK_OK)
    XCTAssertEqual(try keys().first?["liveInstances"] as? Int, 1)
    XCTAssertTrue(try describe(SVK_FORMAT_TEXT).contains("nothing now"))
    held.release()
    XCTAssertEqual(try keys().count, 0)
  }

  func testASingletonIsShownWithItsRegistration() throws {
    container.register("singleton.described", Maker().registration(.singleton))
    let held = try container.resolve("singleton.described")
    let key = try XCTUnwrap(try keys().first)
    XCTAssertEqual(key["liveInstances"] as? Int, 1)
    XCTAssertEqual(key["handles"] as? Int, 1)
    XCTAssertEqual(key["cached"] as? Bool, true)
    held.release()
    try Singletons.reset(ByteView("singleton.described"))
  }

  func testItMayBeAskedWhileOthersResolve() {
    let container = container
    for number in 0..<10 { container.register("\(number)", Maker { $0.require("leaf") }.registration(.shared)) }
    container.register("leaf", Maker().registration(.cached))
    let bad = Tally()
    storm(4, rounds: 200) { thread, round in
      if thread == 0 {
        let bytes = (try? Description.write(container, format: SVK_FORMAT_JSON).view.bytes) ?? []
        if (try? JSONSerialization.jsonObject(with: Data(bytes))) == nil { bad.add() }
      } else {
        container.tryResolve("\(round % 10)").held?.release()
        if thread == 1 { _ = container.reset("leaf", scopes: true) }
      }
    }
    XCTAssertEqual(bad.value, 0)
  }
}
