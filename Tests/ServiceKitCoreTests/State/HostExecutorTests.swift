import CServiceKit
import XCTest

@testable import ServiceKitCore

final class HostExecutorTests: XCTestCase {
  func testItAsksOnceForTheTurnsThatAreDue() throws {
    let asked = Tally()
    let executor = HostExecutor { _ in asked.add() }
    let (first, second) = (try Source(.unbounded, .host(executor)), try Source(.unbounded, .host(executor)))
    for number in 1...3 { first.send("\(number)") }
    second.send("a")
    XCTAssertEqual(asked.value, 1)
    XCTAssertEqual(first.read().text, "initial")
    XCTAssertFalse(executor.run())
    XCTAssertEqual(first.watcher.states.value, ["1", "2", "3"])
    XCTAssertEqual(second.watcher.states.value, ["a"])
    first.send("4")
    XCTAssertEqual(asked.value, 2)
    XCTAssertFalse(executor.run())
    XCTAssertFalse(executor.run(), "a run without need does nothing")
    XCTAssertEqual(first.watcher.states.value.last, "4")
    first.destroy()
    second.destroy()
  }

  func testARunThatLeavesATurnSaysSoAndDoesNotAsk() throws {
    let asked = Tally()
    let executor = HostExecutor { _ in asked.add() }
    let source = Shared<Source?>(nil)
    let watcher = Watcher { state in
      for _ in 0..<3 where state.text == "1" { source.value?.send("again") }
    }
    source.change { $0 = try? Source(.unbounded, .host(executor), watcher: watcher) }
    source.value?.send("1")
    var runs = 1
    while executor.run() { runs += 1 }
    XCTAssertGreaterThan(runs, 1)
    XCTAssertEqual(asked.value, 1)
    XCTAssertEqual(watcher.states.value, ["1", "again", "again", "again"])
    source.value?.destroy()
  }

  func testAClosedServiceTakesNoTurn() throws {
    let asked = Tally()
    let executor = HostExecutor { _ in asked.add() }
    let source = try Source(.unbounded, .host(executor))
    source.send("1")
    XCTAssertEqual(source.close(), SVK_OK)
    XCTAssertFalse(executor.run())
    XCTAssertEqual(source.watcher.states.value, [])
    XCTAssertEqual(source.watcher.frees.value, 1)
    source.destroy()
  }

  func testWhatIsSentWhileARunEndsIsNotForgotten() throws {
    let count = 5000
    let due = Shared(0)
    let executor = HostExecutor { _ in due.change { $0 += 1 } }
    let source = try Source(.unbounded, .host(executor))
    runThreads(3) { thread in
      if thread > 0 {
        for number in 0..<count { source.send("\(number)") }
        return
      }
      // The host: it runs whenever it was asked to, and only then.
      while source.watcher.states.value.count < 2 * count {
        guard
          due.change({ due in
            defer { due = max(0, due - 1) }
            return due > 0
          })
        else {
          yieldProcessor()
          continue
        }
        while executor.run() {}
      }
    }
    XCTAssertEqual(source.watcher.states.value.count, 2 * count)
    source.destroy()
  }
}
