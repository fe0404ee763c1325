import ServiceKit
import ServiceKitTesting
import XCTest

/// Concurrent first reads of a singleton or cached factory build once.
final class Hazard01BuiltOnceTests: XCContainerTestCase {
  private struct Round {
    let container = Container()
    let made = Tally()
    let seen = Guarded<[Counted]>([])
  }

  private func storm(_ resolve: @escaping (Container) -> Counted, set: @escaping (Container, Tally) -> Void) {
    ServiceKitTests.storm(4, rounds: 300) { _ -> Round in
      let round = Round()
      set(round.container, round.made)
      return round
    } _: { round, _ in
      let counted = resolve(round.container)
      round.seen.change { $0.append(counted) }
    } check: { round in
      let seen = round.seen.value
      XCTAssertEqual(round.made.value, 1)
      XCTAssertTrue(seen.count == 4 && seen.allSatisfy { $0 === seen[0] })
    }
  }

  func testCached() {
    storm {
      $0.keptOnce()
    } set: { container, made in
      container.keptOnce.register { Counted(made) }
    }
  }

  func testSingleton() {
    storm {
      $0.onlyOnce()
    } set: { container, made in
      Scope.singleton.reset()
      container.onlyOnce.register { Counted(made) }
    }
  }

  func testSharedWhileItIsHeld() {
    storm {
      $0.sharedOnce()
    } set: { container, made in
      container.sharedOnce.register { Counted(made) }
    }
  }

  func testCustomScope() {
    storm {
      $0.customOnce()
    } set: { container, made in
      container.customOnce.register { Counted(made) }
    }
  }

  func testByParameter() {
    storm {
      $0.onceByNumber(7)
    } set: { container, made in
      container.onceByNumber.register { _ in Counted(made) }
    }
  }

  func testSeveralParametersAtOnce() {
    ServiceKitTests.storm(4, rounds: 200) { _ -> Round in
      let round = Round()
      let made = round.made
      round.container.onceByNumber.register { _ in Counted(made) }
      return round
    } _: { round, thread in
      for number in 0..<4 { _ = round.container.onceByNumber((number + thread) % 4) }
    } check: { round in
      XCTAssertEqual(round.made.value, 4)
    }
  }
}

extension Scope {
  fileprivate static let custom = Cached()
}

extension Container {
  fileprivate var keptOnce: Factory<Counted> { self { Counted(Tally()) }.cached }
  fileprivate var onlyOnce: Factory<Counted> { self { Counted(Tally()) }.singleton }
  fileprivate var sharedOnce: Factory<Counted> { self { Counted(Tally()) }.shared }
  fileprivate var customOnce: Factory<Counted> { self { Counted(Tally()) }.scope(.custom) }
  fileprivate var onceByNumber: ParameterFactory<Int, Counted> {
    self { _ in Counted(Tally()) }.cached.scopeOnParameters
  }
}
