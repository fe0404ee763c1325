import Observation
import ServiceKit
import ServiceKitTesting
import XCTest

#if !canImport(SwiftUI)
  final class InjectedObservableTests: XCContainerTestCase {
    private struct Screen: Sendable {
      @InjectedObservable(\.counter) var counter
      @InjectedObservable(\OtherContainer.counter) var other
    }

    private let made = Tally()

    override func setUp() {
      let made = made
      Container.shared.counter.register {
        made.add()
        return Counter()
      }
    }

    func testAsksOnceAtFirstUse() {
      let screen = Screen()
      XCTAssertEqual(made.value, 0)
      XCTAssertTrue(screen.counter === screen.counter)
      XCTAssertEqual(made.value, 1)
    }

    func testOneThatIsThrownAwayUnreadAsksForNothing() {
      for _ in 0..<100 { _ = Screen() }
      XCTAssertEqual(made.value, 0)
    }

    func testCopiesMadeBeforeTheFirstUseShareIt() {
      let one = Screen()
      let two = one
      XCTAssertTrue(one.counter === two.counter)
      XCTAssertEqual(made.value, 1)
    }

    func testTakesAModelThatIsPassedIn() {
      let tally = made
      func make() -> Counter {
        tally.add()
        return Counter()
      }
      @InjectedObservable(make()) var counter
      XCTAssertEqual(tally.value, 0)
      XCTAssertTrue(counter === counter)
      XCTAssertEqual(tally.value, 1)
    }

    func testOtherContainers() {
      OtherContainer.$shared.withValue(OtherContainer()) {
        OtherContainer.shared.counter.register {
          let counter = Counter()
          counter.count = 5
          return counter
        }
        XCTAssertEqual(Screen().other.count, 5)
      }
    }

    func testAccessorGoesBothWays() {
      let screen = Screen()
      screen.$counter.count.wrappedValue += 2
      XCTAssertEqual(screen.counter.count, 2)
      let count = screen.$counter.count
      screen.counter.count = 7
      XCTAssertEqual(count.wrappedValue, 7)
      count.wrappedValue = 8
      XCTAssertEqual(screen.counter.count, 8)
      XCTAssertEqual(made.value, 1)
    }

    func testAccessorReachesIntoParts() {
      let screen = Screen()
      screen.$counter.place.x.wrappedValue = 3
      screen.$counter.place.names.wrappedValue.append("a")
      screen.$counter.place.names[0].wrappedValue = "b"
      XCTAssertEqual(screen.counter.place.x, 3)
      XCTAssertEqual(screen.counter.place.names, ["b"])
    }

    func testAccessorByItselfAsksForNothing() {
      let screen = Screen()
      let accessor = screen.$counter
      _ = accessor.count
      XCTAssertEqual(made.value, 0)
      XCTAssertTrue(accessor.wrappedValue === screen.counter)
    }

    func testAnotherModelCanBePutInItsPlace() {
      let screen = Screen()
      let copy = screen
      let first = screen.counter
      let (second, third) = (Counter(), Counter())
      screen.$counter.wrappedValue = second
      XCTAssertTrue(screen.counter === second)
      XCTAssertTrue(copy.counter === second)
      copy.$counter.wrappedValue = third
      XCTAssertTrue(screen.counter === third)
      XCTAssertFalse(screen.counter === first)
      let unread = Screen()
      unread.$counter.wrappedValue = second
      XCTAssertTrue(unread.counter === second)
      XCTAssertEqual(made.value, 1)
    }

    func testChangesThroughTheAccessorAreObserved() {
      let screen = Screen()
      let changes = Tally()
      withObservationTracking {
        _ = screen.counter.count
      } onChange: {
        changes.add()
      }
      screen.$counter.count.wrappedValue = 1
      XCTAssertEqual(changes.value, 1)
    }

    func testManyThreadsUseItFirstAndOneAsks() {
      storm(4, rounds: 300) { _ in
        (Screen(), Guarded<[Counter]>([]), self.made.value)
      } _: { round, _ in
        let counter = round.0.counter
        round.1.change { $0.append(counter) }
      } check: { round in
        let seen = round.1.value
        XCTAssertTrue(seen.count == 4 && seen.allSatisfy { $0 === seen[0] })
        XCTAssertEqual(self.made.value, round.2 + 1)
      }
    }

    func testReadersSeeOneOfTheModelsWhileOthersArePutInItsPlace() {
      storm(3, rounds: 200) { _ in
        (Screen(), Counter(), Counter())
      } _: { round, thread in
        if thread == 0 {
          round.0.$counter.wrappedValue = round.1
          round.0.$counter.wrappedValue = round.2
        } else {
          XCTAssertGreaterThanOrEqual(round.0.counter.count, 0)
        }
      } check: { round in
        XCTAssertTrue(round.0.counter === round.2)
      }
    }

    func testItsModelGoesWithIt() {
      let living = Tally()
      Container.shared.counter.register { Counter(living: living) }
      var screen: Screen? = Screen()
      _ = screen?.counter
      XCTAssertEqual(living.value, 1)
      screen = nil
      XCTAssertEqual(living.value, 0)
    }
  }

  @Observable
  private final class Counter: @unchecked Sendable {
    struct Place {
      var x = 0
      var names: [String] = []
    }

    var count = 0
    var place = Place()
    @ObservationIgnored private let living: Tally

    init(living: Tally = Tally()) {
      self.living = living
      living.add()
    }

    deinit { living.add(-1) }
  }

  extension Container {
    fileprivate var counter: Factory<Counter> { self { Counter() } }
  }

  extension OtherContainer {
    fileprivate var counter: Factory<Counter> { self { Counter() } }
  }
#endif
