import CServiceKit
import XCTest

@testable import ServiceKitCore

/// Factories that wait for each other across threads.
final class BuildWaitTests: XCTestCase {
  private let rounds = 60

  /// Registers key number n as requiring the keys that `requirements` names for it. Each factory's first call waits
  /// until all are inside.
  private func ring(
    _ container: Container, _ requirements: [[Int]], barrier: Barrier, scope: ScopeKind = .cached,
    afterwards: @escaping (Int, Int32) -> Int32 = { _, status in status }
  ) -> [Maker] {
    requirements.indices.map { number in
      let calls = Tally()
      let maker = Maker("\(number)") { building in
        if calls.add() == 1 { barrier.wait() }
        for required in requirements[number] {
          let status = building.require("\(required)")
          if status != SVK_OK { return afterwards(number, status) }
        }
        return SVK_OK
      }
      container.register("\(number)", maker.registration(scope))
      return maker
    }
  }

  func testEveryThreadOfACycleIsToldItsPath() {
    for size in 2...4 {
      for _ in 0..<rounds {
        let container = Container.create(parent: nil)
        let barrier = Barrier(size)
        let makers = ring(container, (0..<size).map { [($0 + 1) % size] }, barrier: barrier)
        let answers = Shared<[(Int32, String)]>([])
        runThreads(size) { thread in
          let status = container.tryResolve("\(thread)").status
          let words = lastWords
          answers.change { $0.append((status, words)) }
        }
        let paths = (0..<size).map { start in
          (0...size).map { "\((start + $0) % size)" }.joined(separator: " → ")
        }
        for (status, words) in answers.value {
          XCTAssertEqual(status, SVK_CYCLE)
          XCTAssertTrue(paths.contains { words.contains(": \($0);") }, words)
        }
        XCTAssertEqual(answers.value.count, size)
        XCTAssertTrue(makers.allSatisfy { $0.builds.value == 0 })
        XCTAssertTrue(container.destroy())
      }
    }
  }

  /// Everybody waits for somebody, but the last one only works: no circle.
  func testAChainOfWaitingThreadsIsNoCycle() {
    for _ in 0..<rounds {
      let container = Container.create(parent: nil)
      let makers = ring(container, [[1, 2, 3], [2, 3], [3], []], barrier: Barrier(4))
      let failed = Tally()
      runThreads(4) { thread in
        guard let held = container.tryResolve("\(thread)").held else { return _ = failed.add() }
        held.release()
      }
      XCTAssertEqual(failed.value, 0)
      XCTAssertEqual(makers.map { $0.builds.value }, [1, 1, 1, 1])
      XCTAssertTrue(container.destroy())
      XCTAssertEqual(makers.map { $0.alive }, [0, 0, 0, 0])
    }
  }

  /// One of a circle goes on without what it cannot have: then it is built, and the other has failed.
  func testAFactoryMayGoOnWithoutWhatItCannotHave() {
    for _ in 0..<rounds {
      let container = Container.create(parent: nil)
      let makers = ring(container, [[1], [0]], barrier: Barrier(2)) { number, status in
        number == 0 ? SVK_OK : status
      }
      let answers = Shared<[Int32]>([-1, -1])
      runThreads(2) { thread in
        let (status, held) = container.tryResolve("\(thread)")
        held?.release()
        answers.change { $0[thread] = status }
      }
      XCTAssertEqual(answers.value, [SVK_OK, SVK_CYCLE])
      XCTAssertEqual(makers.map { $0.builds.value }, [1, 0])
      XCTAssertTrue(container.destroy())
    }
  }

  /// Who asks from outside of the circle gets the failure too: of the factory that it waits for, or its own.
  func testAThreadOutsideTheCircleGetsTheFailureToo() {
    for _ in 0..<rounds {
      let container = Container.create(parent: nil)
      _ = ring(container, [[1], [0], [0]], barrier: Barrier(3))
      let answers = Shared<[Int32]>([])
      runThreads(3) { thread in
        let status = container.tryResolve("\(thread)").status
        answers.change { $0.append(status) }
      }
      XCTAssertEqual(answers.value, [SVK_CYCLE, SVK_CYCLE, SVK_CYCLE])
      XCTAssertTrue(container.destroy())
    }
  }

  /// The same name in two containers is two keys.
  func testTheSameNameInTwoContainersIsNoCycle() throws {
    let (parent, leaf) = (Container.create(parent: nil), Maker("leaf"))
    let child = Container.create(parent: parent)
    parent.register("key", leaf.registration(.cached))
    let asked = parent.token
    child.register(
      "key",
      Maker("top") { _ in
        status { () throws(Failure) in _ = try Resolve.handle(asked, KeyView(ByteView("key"))) }
      }.registration(.cached))
    XCTAssertEqual(try child.touch("key").name, "top")
    XCTAssertEqual(leaf.builds.value, 1)
    child.destroy()
    parent.destroy()
  }

  /// With a parameter of its own each time, a factory may recurse.
  func testAFactoryThatRecursesWithAnotherParameterIsNoCycle() throws {
    for byParameter in [true, false] {
      for scope in [ScopeKind.unique, .cached, .shared, .singleton] {
        let container = Container.create(parent: nil)
        let maker = Maker("countdown") { building in
          let left = Int(building.parameter) ?? 0
          return left == 0 ? SVK_OK : building.require("down", parameter: "\(left - 1)")
        }
        container.register("down", maker.registration(scope, byParameter: byParameter))
        let held = try container.resolve("down", parameter: "5")
        XCTAssertEqual(maker.builds.value, 6, "\(scope), by parameter: \(byParameter)")
        held.release()
        XCTAssertTrue(container.destroy())
        if scope == .singleton { try Singletons.reset(ByteView("down")) }
        XCTAssertEqual(maker.alive, 0, "\(scope), by parameter: \(byParameter)")
      }
    }
  }

  func testTheSameParameterIsACycle() {
    let container = Container.create(parent: nil)
    let maker = Maker { $0.require("key", parameter: $0.parameter) }
    for scope in [ScopeKind.unique, .cached, .shared, .graph] {
      container.register("key", maker.registration(scope, byParameter: true))
      XCTAssertEqual(container.tryResolve("key", parameter: "p").status, SVK_CYCLE)
      XCTAssertTrue(lastWords.contains("key → key"), lastWords)
      XCTAssertEqual(container.tryResolve("key").status, SVK_CYCLE)
    }
    XCTAssertTrue(container.destroy())
  }
}
