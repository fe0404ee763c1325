import ServiceKit
import ServiceKitTesting
import XCTest

final class LazyInjectedTests: XCContainerTestCase {
  private final class Model: @unchecked Sendable {
    @LazyInjected(\.counted) var counted
    @LazyInjected(\OtherContainer.voice) var other
    @LazyInjected(\.optionalVoice) var optional
  }

  private struct Value {
    @LazyInjected(\.counted) var counted
  }

  private let made = Tally()

  override func setUp() {
    let made = made
    Container.shared.counted.register { Counted(made) }
  }

  func testResolvesOnceAtTheFirstRead() {
    let model = Model()
    XCTAssertNil(model.$counted.resolvedOrNil())
    XCTAssertEqual(made.value, 0)
    XCTAssertTrue(model.counted === model.counted)
    XCTAssertEqual(made.value, 1)
    XCTAssertTrue(model.$counted.resolvedOrNil() === model.counted)
    XCTAssertEqual(made.value, 1)
  }

  func testOneThatIsNeverReadResolvesNothing() {
    _ = Model()
    XCTAssertEqual(made.value, 0)
  }

  func testTakesTheContainerThatIsSharedAtTheFirstRead() {
    let model = Model()
    let other = OtherContainer()
    other.voice.register { Speaker("read here") }
    OtherContainer.$shared.withValue(other) { XCTAssertEqual(model.other.text, "read here") }
    XCTAssertEqual(model.other.text, "read here")
  }

  func testNilIsAValueToo() {
    let asked = Tally()
    Container.shared.optionalVoice.register {
      asked.add()
      return nil
    }
    let model = Model()
    XCTAssertNil(model.optional)
    XCTAssertNil(model.optional)
    XCTAssertEqual(asked.value, 1)
  }

  func testSetBeforeTheFirstReadNothingIsResolved() {
    let model = Model()
    let own = Counted(Tally())
    model.counted = own
    XCTAssertTrue(model.counted === own)
    XCTAssertTrue(model.$counted.resolvedOrNil() === own)
    XCTAssertEqual(made.value, 0)
  }

  func testProjectionGivesTheFactoryAndResolvesAgain() {
    let model = Model()
    let first = model.counted
    XCTAssertFalse(model.$counted.factory.resolve() === first)
    model.$counted.resolve()
    XCTAssertFalse(model.counted === first)
    model.$counted.resolve(reset: .registration)
    XCTAssertEqual(made.value, 3)
    XCTAssertEqual(model.counted.number, 1)
  }

  func testProjectionCanBeSet() {
    let (one, two) = (Model(), Model())
    one.$counted = two.$counted
    XCTAssertTrue(one.counted === two.counted)
    XCTAssertEqual(made.value, 1)
  }

  func testACopyIsAValueOfItsOwn() {
    let original = Value()
    let first = original.counted
    var copy = original
    XCTAssertTrue(copy.counted === first)
    copy.counted = Counted(Tally())
    XCTAssertFalse(copy.counted === first)
    XCTAssertTrue(original.counted === first)
    copy = original
    copy.$counted.resolve()
    XCTAssertFalse(copy.counted === first)
    XCTAssertTrue(original.counted === first)
  }

  func testACopyOfOneThatIsNotResolvedLeavesItSo() {
    let original = Value()
    var copy = original
    copy.counted = Counted(Tally())
    XCTAssertNil(original.$counted.resolvedOrNil())
    copy = original
    copy.$counted.resolve()
    XCTAssertNil(original.$counted.resolvedOrNil())
  }

  func testWhatItWasToBeMadeOfGoesWhenItIsMade() {
    let living = Tally()
    Container.shared.counted.register { Counted(Tally(), living: living) }
    var model: Model? = Model()
    _ = model!.counted
    XCTAssertEqual(living.value, 1)
    model!.counted = Counted(Tally())
    XCTAssertEqual(living.value, 0)
    model!.$counted.resolve()
    XCTAssertEqual(living.value, 1)
    model = nil
    XCTAssertEqual(living.value, 0)
  }

  func testManyThreadsReadFirstAndOneResolves() {
    storm(4, rounds: 500) { _ in
      (Model(), Guarded<[Counted]>([]), self.made.value)
    } _: { round, _ in
      let counted = round.0.counted
      round.1.change { $0.append(counted) }
    } check: { round in
      let seen = round.1.value
      XCTAssertEqual(seen.count, 4)
      XCTAssertTrue(seen.allSatisfy { $0 === seen[0] })
      XCTAssertEqual(self.made.value, round.2 + 1)
    }
  }

  func testASlowOneHoldsUpNoOther() {
    let (begun, goOn) = (Event(), Event())
    Container.shared.slow.register {
      begun.signal()
      goOn.wait()
      return Speaker("slow")
    }
    let slow = LazyInjected(\.slow)
    let thread = TestThread { XCTAssertEqual(slow.wrappedValue.text, "slow") }
    begun.wait()
    XCTAssertEqual(Model().counted.number, 1)
    goOn.signal()
    thread.join()
    XCTAssertEqual(slow.resolvedOrNil()?.text, "slow")
  }
}

extension Container {
  fileprivate var counted: Factory<Counted> { self { Counted(Tally()) } }
  fileprivate var slow: Factory<any Voice> { self { Speaker() } }
}
