import ServiceKit
import ServiceKitTesting
import XCTest

final class WeakLazyInjectedTests: XCContainerTestCase {
  private final class Model: @unchecked Sendable {
    @WeakLazyInjected(\.voice) var voice
    @WeakLazyInjected(\.optionalVoice) var optional
    @WeakLazyInjected(\.number) var number
    @WeakLazyInjected(\OtherContainer.voice) var other
  }

  private struct Value {
    @WeakLazyInjected(\.voice) var voice
  }

  private var kept: Speaker?
  private let made = Tally()

  override func setUp() {
    let (hello, made) = (Speaker(), made)
    kept = hello
    Container.shared.voice.register { [weak hello] in
      made.add()
      return hello ?? Speaker("kept by nobody")
    }
  }

  func testRefersWithoutKeeping() {
    let model = Model()
    XCTAssertNil(model.$voice.resolvedOrNil())
    XCTAssertTrue(model.voice === kept)
    XCTAssertTrue(model.$voice.resolvedOrNil() === kept)
    XCTAssertEqual(made.value, 1)
    kept = nil
    XCTAssertNil(model.voice)
    XCTAssertNil(model.$voice.resolvedOrNil())
    XCTAssertEqual(made.value, 1)
  }

  func testResolvesAgainOnlyWhenTold() {
    let model = Model()
    XCTAssertNotNil(model.voice)
    kept = nil
    XCTAssertNil(model.voice)
    let another = Speaker("another")
    Container.shared.voice.register { another }
    XCTAssertNil(model.voice)
    model.$voice.resolve()
    XCTAssertTrue(model.voice === another)
    XCTAssertTrue(model.$voice.factory.resolve() === another)
  }

  func testWhatNobodyKeepsIsGoneAtOnce() {
    XCTAssertNil(Model().other)
  }

  func testCanBeSet() {
    let model = Model()
    let own = Speaker("own")
    model.voice = own
    XCTAssertTrue(model.voice === own)
    model.voice = nil
    XCTAssertNil(model.voice)
    XCTAssertEqual(made.value, 0)
  }

  func testOptionals() {
    let own = Speaker("own")
    Container.shared.optionalVoice.register { own }
    let model = Model()
    XCTAssertTrue(model.optional! === own)
    Container.shared.optionalVoice.register { nil }
    model.$optional.resolve()
    XCTAssertNil(model.optional ?? nil)
  }

  func testAValueTypeCannotBeReferredTo() {
    XCTAssertNil(Model().number)
  }

  func testACopyIsAValueOfItsOwn() {
    let original = Value()
    XCTAssertTrue(original.voice === kept)
    var copy = original
    copy.voice = nil
    XCTAssertTrue(original.voice === kept)
    XCTAssertNil(copy.voice)
  }

  func testManyThreadsReadFirstAndOneResolves() {
    storm(4, rounds: 200) { _ in
      (Model(), self.made.value)
    } _: { round, _ in
      XCTAssertNotNil(round.0.voice)
    } check: { round in
      XCTAssertEqual(self.made.value, round.1 + 1)
    }
  }
}

extension Container {
  fileprivate var number: Factory<String> { self { "a string that is too long to be kept in a tagged pointer" } }
}
