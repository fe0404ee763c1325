import ServiceKit
import ServiceKitTesting
import XCTest

/// A slow factory does not delay unrelated ones.
final class Hazard08SlowFactoryTests: XCContainerTestCase {
  func testAThousandOthersWhileOneIsAtWork() {
    let container = Container()
    let (begun, goOn) = (Event(), Event())
    container.slow.register {
      begun.signal()
      goOn.wait()
      return Speaker("slow")
    }
    let thread = TestThread { XCTAssertEqual(container.slow().text, "slow") }
    begun.wait()
    // If any of these waited for the slow one, this would not end.
    for number in 0..<1_000 {
      XCTAssertEqual(container.quick().text, "quick")
      XCTAssertEqual(container.quickByNumber(number), number)
      XCTAssertEqual(container.onlyQuick().text, "quick")
      container.quick.register { Speaker("quick") }
      if number % 100 == 0 { container.manager.reset(scope: .shared) }
    }
    let other = TestThread { XCTAssertEqual(container.quick().text, "quick") }
    other.join()
    goOn.signal()
    thread.join()
    XCTAssertEqual(container.slow().text, "slow")
  }

  func testAnotherParameterOfTheSameFactory() {
    let container = Container()
    let (begun, goOn) = (Event(), Event())
    container.quickByNumber.register { number in
      if number == 0 {
        begun.signal()
        goOn.wait()
      }
      return number
    }
    let thread = TestThread { XCTAssertEqual(container.quickByNumber(0), 0) }
    begun.wait()
    XCTAssertEqual(container.quickByNumber(1), 1)
    goOn.signal()
    thread.join()
  }

  func testTheSameKeyOfAnotherContainer() {
    let (one, two) = (Container(), Container())
    let (begun, goOn) = (Event(), Event())
    one.slow.register {
      begun.signal()
      goOn.wait()
      return Speaker("slow")
    }
    let thread = TestThread { XCTAssertEqual(one.slow().text, "slow") }
    begun.wait()
    XCTAssertEqual(two.slow().text, "defined")
    goOn.signal()
    thread.join()
  }
}

extension Container {
  fileprivate var slow: Factory<Speaker> { self { Speaker("defined") }.cached }
  fileprivate var quick: Factory<Speaker> { self { Speaker("quick") }.cached }
  fileprivate var onlyQuick: Factory<Speaker> { self { Speaker("quick") }.singleton }
  fileprivate var quickByNumber: ParameterFactory<Int, Int> { self { $0 }.cached.scopeOnParameters }
}
