import ServiceKit
import ServiceKitTesting
import XCTest

final class DynamicInjectedTests: XCContainerTestCase {
  private struct Model {
    @DynamicInjected(\.voice) var voice
    @DynamicInjected(\.keptVoice) var kept
    @DynamicInjected(\OtherContainer.voice) var other
  }

  func testResolvesAtEachRead() {
    let model = Model()
    XCTAssertFalse(model.voice === model.voice)
    XCTAssertTrue(model.kept === model.kept)
    Container.shared.voice.register { Speaker("later") }
    XCTAssertEqual(model.voice.text, "later")
  }

  func testFollowsTheSharedContainer() {
    let model = Model()
    let other = OtherContainer()
    other.voice.register { Speaker("there") }
    OtherContainer.$shared.withValue(other) { XCTAssertEqual(model.other.text, "there") }
    XCTAssertEqual(model.other.text, "another container's")
  }

  func testProjectionIsTheFactory() {
    let model = Model()
    let factory: Factory<any Voice> = model.$voice
    XCTAssertEqual(factory().text, "hello")
    model.$voice.register { Speaker("registered") }
    XCTAssertEqual(model.voice.text, "registered")
    XCTAssertEqual(model.$voice.factory.resolve().text, "registered")
    let kept = model.kept
    XCTAssertTrue(model.$kept.resolve() === kept)
    XCTAssertFalse(model.$kept.resolve(reset: .scope) === kept)
  }
}
