import CPlatform
import Synchronization
import XCTest

@testable import ServiceKitCore

final class ThreadTests: XCTestCase {
  private final class Report: @unchecked Sendable {
    var blocked: [Int32] = []
    var identity = pthread_t()
  }

  func testALibrarysThreadHandlesNoSignal() throws {
    let report = Report()
    let pointer = Unmanaged.passUnretained(report).toOpaque()
    let thread = try XCTUnwrap(
      WorkerThread(pointer) { pointer in
        let report = Unmanaged<Report>.fromOpaque(pointer!).takeUnretainedValue()
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGPIPE]
        where sigismember(&mask, signal) == 1 { report.blocked.append(signal) }
        report.identity = pthread_self()
        return nil
      })
    XCTAssertFalse(thread.isCurrent)
    thread.join()
    XCTAssertEqual(report.blocked.count, 8)
    XCTAssertEqual(pthread_equal(report.identity, pthread_self()), 0)
  }

  func testStartingAThreadLeavesTheCallersSignalsAlone() throws {
    var before = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &before)
    let report = Report()
    try XCTUnwrap(WorkerThread(Unmanaged.passUnretained(report).toOpaque()) { _ in nil }).join()
    var after = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &after)
    for signal in Int32(1)...31 { XCTAssertEqual(sigismember(&before, signal), sigismember(&after, signal)) }
  }

  private static let ended = Atomic<Int>(0)

  func testAThreadsPointerIsItsOwnAndItsEndIsTold() {
    let local = ThreadLocal { pointer in
      _ = ThreadTests.ended.wrappingAdd(Int(bitPattern: pointer), ordering: .relaxed)
    }
    XCTAssertNil(local.pointer)
    let strangers = Tally()
    runThreads(4) { thread in
      if local.pointer != nil { strangers.add() }
      local.pointer = UnsafeMutableRawPointer(bitPattern: thread + 1)
      if local.pointer != UnsafeMutableRawPointer(bitPattern: thread + 1) { strangers.add() }
    }
    XCTAssertEqual(strangers.value, 0)
    XCTAssertEqual(ThreadTests.ended.load(ordering: .relaxed), 1 + 2 + 3 + 4)
    XCTAssertNil(local.pointer)
  }

  func testTheSystemsErrorIsThisThreads() {
    SystemError.current = 17
    runThreads(1) { _ in SystemError.current = 99 }
    XCTAssertEqual(SystemError.current, 17)
  }
}
