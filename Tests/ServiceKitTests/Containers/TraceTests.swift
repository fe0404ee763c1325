import ServiceKit
import XCTest

/// The lines of a trace, which are the whole process's.
final class TraceTests: XCTestCase {
  private let container = Container()

  private func traced(_ body: () -> Void) -> [String] {
    let lines = Guarded<[String]>([])
    let manager = Container().manager
    let before = manager.logger
    defer { manager.logger = before }
    manager.logger = { line in lines.change { $0.append(line) } }
    manager.trace = true
    body()
    manager.trace = false
    return lines.value
  }

  func testEachResolveIsALineUnderTheOneThatNeededIt() {
    container.registered.register { Speaker("registered") }
    let lines = traced { _ = (container.outer(), container.kept()) }
    XCTAssertEqual(lines.count, 5)
    let patterns = [
      #"^0: Container\.outer<Outer> = F:[0-9]+ Outer$"#,
      #"^1:     Container\.kept<(any )?Voice> = F:[0-9]+ Speaker$"#,
      #"^1:     Container\.registered<(any )?Voice> = R:[0-9]+ Speaker$"#,
      #"^1:     Container\.contextual<(any )?Voice> = O:[0-9]+ Speaker$"#,
      #"^0: Container\.kept<(any )?Voice> = C:[0-9]+ Speaker$"#,
    ]
    for (line, pattern) in zip(lines, patterns) {
      XCTAssertNotNil(line.range(of: pattern, options: .regularExpression), line)
    }
  }

  func testTheAddressIsTheInstances() {
    var kept: (any Voice)?
    let lines = traced { kept = container.kept() }
    XCTAssertTrue(lines[0].contains("F:\(Int(bitPattern: ObjectIdentifier(kept!))) Speaker"), lines[0])
  }

  func testIsOfAllContainersAndOffByDefault() {
    XCTAssertFalse(container.manager.trace)
    XCTAssertEqual(traced { _ = Container().kept() }.count, 1)
    XCTAssertFalse(container.manager.trace)
  }

  func testCircularDependencyTestingIsOfAllContainersAndOnByDefault() {
    XCTAssertTrue(container.manager.circularDependencyTesting)
    container.manager.circularDependencyTesting = false
    XCTAssertFalse(Container().manager.circularDependencyTesting)
    container.manager.circularDependencyTesting = true
  }

  func testThreadsLinesStayTogether() {
    let container = container
    let lines = traced {
      runThreads(4) { _ in
        for _ in 0..<50 { _ = container.plainOuter() }
      }
    }
    XCTAssertEqual(lines.count, 600)
    XCTAssertEqual(lines.filter { $0.hasPrefix("0: ") }.count, 200)
  }
}

private final class Outer: Sendable {
  init(_ inner: [any Voice]) {}
}

extension Container {
  fileprivate var kept: Factory<any Voice> { self { Speaker() }.cached }
  fileprivate var registered: Factory<any Voice> { self { Speaker() } }
  fileprivate var contextual: Factory<any Voice> { self { Speaker() }.onTest { Speaker("in a test") } }
  fileprivate var outer: Factory<Outer> { self { Outer([self.kept(), self.registered(), self.contextual()]) } }
  fileprivate var plain: Factory<any Voice> { self { Speaker() } }
  fileprivate var plainOuter: Factory<Outer> { self { Outer([self.plain(), self.plain()]) } }
}
