import CServiceKit
import Foundation
import XCTest

@testable import ServiceKitCore

final class WorkerTests: XCTestCase {
  private var threads: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0 }

  private func sentTo(_ source: Source, _ watcher: Watcher) -> Bool {
    let deadline = Deadline(timeout: 30_000_000_000)
    while watcher.states.value.isEmpty, !deadline.hasPassed { yieldProcessor() }
    return !watcher.states.value.isEmpty
  }

  func testTheThreadIsStartedWhenFirstAskedForAndJoinedWhenLastUsed() throws {
    let before = threads
    try XCTSkipIf(before == 0, "there is no /proc here")
    let source = try Source()
    XCTAssertEqual(threads, before)
    for _ in 0..<3 {
      let first = try source.observe(Watcher(), .background)
      XCTAssertEqual(threads, before + 1)
      let second = try source.observe(Watcher(), .background)
      XCTAssertEqual(threads, before + 1)
      XCTAssertEqual(first.cancel(), SVK_OK)
      XCTAssertEqual(threads, before + 1)
      XCTAssertEqual(second.cancel(), SVK_OK)
      XCTAssertEqual(threads, before)
    }
    source.destroy()
  }

  func testAllCallbacksRunOnItAndNotOnTheSender() throws {
    let threads = Shared<Set<UInt>>([])
    let note: (svk_state) -> Void = { _ in threads.change { $0 = $0.union([ThreadRecord.current.pointee.number]) } }
    let source = try Source(.unbounded, .background, watcher: Watcher(note))
    let watchers = [Watcher(note), Watcher(note)]
    let subscriptions = [try source.observe(watchers[0], .background), try source.observe(watchers[1])]
    for number in 0..<100 { source.send("\(number)") }
    try source.stream.finish()
    let deadline = Deadline(timeout: 30_000_000_000)
    while (watchers + [source.watcher]).contains(where: { $0.finishes.value == 0 }), !deadline.hasPassed {
      yieldProcessor()
    }
    for watcher in watchers + [source.watcher] {
      XCTAssertEqual(watcher.versions.value, (1...100).map { $0 })
      XCTAssertEqual(watcher.finishes.value, 1)
    }
    XCTAssertEqual(threads.value.count, 1)
    XCTAssertFalse(threads.value.contains(ThreadRecord.current.pointee.number))
    for subscription in subscriptions { XCTAssertEqual(subscription.cancel(), SVK_OK) }
    source.destroy()
  }

  func testTheThreadDoesNotWaitForItself() throws {
    let before = threads
    let source = try Source()
    let box = Shared<Subscription?>(nil)
    let answers = Shared<[Int32]>([])
    let watcher = Watcher { _ in
      let answer = box.value!.cancel()
      answers.change { $0.append(answer) }
    }
    let subscription = try source.observe(watcher, .background)
    box.change { $0 = subscription }
    source.send("a")
    XCTAssertTrue(sentTo(source, watcher))
    let deadline = Deadline(timeout: 30_000_000_000)
    while watcher.frees.value == 0 || (before > 0 && threads > before), !deadline.hasPassed { yieldProcessor() }
    XCTAssertEqual(answers.value, [SVK_DEFERRED])
    XCTAssertEqual(watcher.frees.value, 1)
    XCTAssertEqual(threads, before)
    box.change { $0 = nil }
    source.destroy()
  }

  func testItComesAndGoesWhileManyAskForIt() throws {
    let source = try Source()
    let wrong = Tally()
    storm(4, rounds: 100) { thread, round in
      let watcher = Watcher()
      guard let subscription = try? source.observe(watcher, .background) else { return _ = wrong.add() }
      if thread == 0 { source.send("\(round)") }
      if subscription.cancel() != SVK_OK || watcher.frees.value != 1 || watcher.wrongCalls.value != 0 { wrong.add() }
    }
    XCTAssertEqual(wrong.value, 0)
    source.destroy()
  }
}
