import ServiceKit
import ServiceKitTesting
import XCTest

final class InjectedTests: XCContainerTestCase {
  private final class Model {
    @Injected(\.voice) var voice
    @Injected(\.keptVoice) var kept: any Voice
    @Injected(\OtherContainer.voice) var other
    @Injected(\.optionalVoice) var optional
  }

  private struct Value {
    @Injected(\.voice) var voice
  }

  func testResolvesWhenTheOwnerIsMadeAndNotWhenRead() {
    let made = Tally()
    Container.shared.voice.register {
      made.add()
      return Speaker()
    }
    let value = Value()
    XCTAssertEqual(made.value, 1)
    XCTAssertTrue(value.voice === value.voice)
    Container.shared.voice.register { Speaker("later") }
    XCTAssertEqual(value.voice.text, "hello")
    XCTAssertEqual(made.value, 1)
  }

  func testTakesTheSharedContainerOfTheKeyPathsRoot() {
    let other = OtherContainer()
    OtherContainer.$shared.withValue(other) {
      other.voice.register { Speaker("other") }
      XCTAssertEqual(Model().other.text, "other")
      XCTAssertEqual(Model().voice.text, "hello")
    }
  }

  func testHasTheScopeOfItsFactory() {
    let (one, two) = (Model(), Model())
    XCTAssertTrue(one.kept === two.kept)
    XCTAssertFalse(one.voice === two.voice)
  }

  func testOptionalsAreResolvedAsSuch() {
    XCTAssertEqual(Model().optional?.text, "hello")
    Container.shared.optionalVoice.register { nil }
    XCTAssertNil(Model().optional)
  }

  func testCanBeSet() {
    let model = Model()
    let new = Speaker("new")
    model.voice = new
    XCTAssertTrue(model.voice === new)
    XCTAssertEqual(Model().voice.text, "hello")
  }

  func testProjectionGivesTheFactoryAndResolvesAgain() {
    let model = Model()
    let (unique, kept) = (model.voice, model.kept)
    XCTAssertEqual(model.$voice.factory.resolve().text, "hello")
    model.$voice.resolve()
    XCTAssertFalse(model.voice === unique)
    model.$kept.resolve()
    XCTAssertTrue(model.kept === kept)
    model.$kept.resolve(reset: .scope)
    XCTAssertFalse(model.kept === kept)
  }

  func testResolvingAgainThroughACopyLeavesTheOriginalAlone() {
    let original = Value()
    let before = original.voice
    var copy = original
    copy.$voice.resolve()
    XCTAssertTrue(original.voice === before)
    XCTAssertFalse(copy.voice === before)
  }

  func testLocalVariables() {
    @Injected(\.voice) var voice
    XCTAssertEqual(voice.text, "hello")
    $voice.resolve()
    XCTAssertEqual(voice.text, "hello")
  }

  /// A read is that of a stored property: there is nothing beside it but a key path and a type.
  func testIsNoLargerThanWhatItHolds() {
    XCTAssertEqual(MemoryLayout<Injected<Speaker>>.size, 4 * MemoryLayout<Int>.size)
  }
}

final class OtherContainer: SharedContainer {
  @TaskLocal static var shared = OtherContainer()
  let manager = ContainerManager()
}

extension Container {
  var voice: Factory<any Voice> { self { Speaker() } }
  var keptVoice: Factory<any Voice> { self { Speaker("kept") }.cached }
  var optionalVoice: Factory<(any Voice)?> { self { Speaker() } }
}

extension OtherContainer {
  var voice: Factory<any Voice> { self { Speaker("another container's") } }
}
