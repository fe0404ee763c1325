import ServiceKit
import XCTest

final class PromiseTests: XCTestCase {
  private let container = Container()

  func testAnUnmetPromiseIsReportedWithItsPlaceAndGivesNil() {
    let before = ServiceFailure.handler
    defer { ServiceFailure.handler = before }
    let heard = Guarded<[(message: String, file: String, line: UInt)]>([])
    ServiceFailure.handler = { message, file, line in
      heard.change { $0.append((message, "\(file)", line)) }
    }
    container.manager.promiseTriggersError = true
    XCTAssertNil(container.promise())
    XCTAssertNil(container.promiseByNumber(1))
    XCTAssertEqual(heard.value.count, 2)
    XCTAssertTrue(heard.value[0].message.contains("promise"))
    XCTAssertTrue(heard.value[0].file.hasSuffix("PromiseTests.swift"), heard.value[0].file)
    XCTAssertEqual(heard.value.map(\.line), [promiseLine, promiseLine + 1])
  }

  func testWhereItIsNotToBeReportedItIsNil() {
    container.manager.promiseTriggersError = false
    XCTAssertEqual(collectingFailures { XCTAssertNil(container.promise()) }, [])
  }

  func testTheSettingIsTheContainersAndFollowsTheBuild() {
    #if DEBUG
      XCTAssertTrue(Container().manager.promiseTriggersError)
    #else
      XCTAssertFalse(Container().manager.promiseTriggersError)
    #endif
    container.manager.promiseTriggersError.toggle()
    XCTAssertNotEqual(container.manager.promiseTriggersError, Container().manager.promiseTriggersError)
  }

  func testAPromiseThatIsKept() {
    container.promise.register { Speaker("kept") }
    XCTAssertEqual(collectingFailures { XCTAssertEqual(container.promise()?.text, "kept") }, [])
  }

  func testAHandlerThatEndsTheThreadLeavesNothingBehind() {
    let container = container
    container.manager.promiseTriggersError = true
    container.needy.register { [unowned container] in Speaker(container.promise()?.text ?? "nobody") }
    let messages = collectingFailures(then: .endThread) {
      onThread {
        _ = container.needy()
        XCTFail("came back")
      }
    }
    XCTAssertEqual(messages.count, 1)
    container.promise.register { Speaker("kept") }
    XCTAssertEqual(container.needy().text, "kept")
  }
}

private let promiseLine: UInt = #line + 3

extension Container {
  fileprivate var promise: Factory<(any Voice)?> { promised() }
  fileprivate var promiseByNumber: ParameterFactory<Int, (any Voice)?> { promised() }
  fileprivate var needy: Factory<any Voice> { self { Speaker() }.singleton }
}
