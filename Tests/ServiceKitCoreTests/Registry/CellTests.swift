import Synchronization
import XCTest

@testable import ServiceKitCore

final class CellTests: XCTestCase {
  private let bench = Bench()
  private lazy var cell = bench.cell()

  private func requirements() -> [String] {
    var found: [String] = []
    var each = cell.pointee.requirements.load(ordering: .acquiring)
    while let current = each {
      found.append(current.pointee.key.string)
      each = current.pointee.next
    }
    return found
  }

  func testAChangeSavesTheStateOnceForEachLevel() {
    let instances = (0..<3).map { _ in bench.instance() }
    for level in 0..<3 {
      cell.pointee.willChange(level: level)
      cell.pointee.state.cached = instances[level]
      cell.pointee.willChange(level: level)
    }
    XCTAssertEqual(cell.pointee.level, 2)
    XCTAssertEqual(cell.pointee.saved?.state.cached, instances[1])
    XCTAssertEqual(cell.pointee.saved?.level, 1)
    XCTAssertEqual(cell.pointee.saved?.before?.state.cached, instances[0])
    XCTAssertEqual(cell.pointee.saved?.before?.level, 0)
    XCTAssertNil(cell.pointee.saved?.before?.before)
    cell.pointee.saved = nil
    cell.pointee.state = CellState()
  }

  func testWhatAPopBringsBackIsSaved() {
    let (first, second, now) = (bench.instance(), bench.instance("p"), bench.instance())
    cell.pointee.state.cached = first
    cell.pointee.willChange(level: 1)
    cell.pointee.state.cached = nil
    cell.pointee.state.cache(second, byParameter: true)
    cell.pointee.willChange(level: 2)
    cell.pointee.state = CellState()
    cell.pointee.state.cached = now
    XCTAssertTrue(cell.pointee.isSaved(first))
    XCTAssertTrue(cell.pointee.isSaved(second))
    XCTAssertFalse(cell.pointee.isSaved(now))
    cell.pointee.forgetSaved(first)
    cell.pointee.forgetSaved(second)
    XCTAssertFalse(cell.pointee.isSaved(first))
    XCTAssertFalse(cell.pointee.isSaved(second))
    cell.pointee.saved = nil
    cell.pointee.state = CellState()
  }

  func testALivingInstanceKeepsACellInUse() {
    XCTAssertTrue(cell.pointee.isEmpty)
    let instance = bench.instance()
    XCTAssertEqual(cell.pointee.liveInstances.load(ordering: .relaxed), 1)
    XCTAssertFalse(cell.pointee.isEmpty)
    XCTAssertEqual(instance.pointee.cell, cell)
  }

  func testARequirementIsNotedOnce() {
    for name in ["a", "b", "a", "c", "b", "a"] { withView(name) { cell.noteRequirement(of: $0) } }
    XCTAssertEqual(requirements(), ["c", "b", "a"])
  }

  func testThreadsNoteARequirementOnce() {
    let cell = cell
    storm(4, rounds: 300) { thread, round in
      withView("shared.\(round)") { cell.noteRequirement(of: $0) }
      withView("own.\(thread).\(round % 10)") { cell.noteRequirement(of: $0) }
    }
    let found = requirements()
    XCTAssertEqual(found.count, 300 + 40)
    XCTAssertEqual(Set(found).count, found.count)
  }
}
