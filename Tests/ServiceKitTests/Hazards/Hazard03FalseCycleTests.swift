import ServiceKit
import ServiceKitTesting
import XCTest

/// A cycle is not reported where none is.
final class Hazard03FalseCycleTests: XCContainerTestCase {
  func testPropertiesOfOneNameInTwoContainerTypes() {
    let messages = collectingFailures {
      withContainer(shared: NamesakeContainer.$shared, container: NamesakeContainer()) {
        XCTAssertEqual(Container.shared.namesake().text, "outer of inner")
        XCTAssertEqual(Container.shared.keptNamesake().text, "outer of inner")
      }
    }
    XCTAssertEqual(messages, [])
  }

  func testPropertiesOfOneNameInTwoContainersOfOneType() {
    let (one, two) = (Container(), Container())
    one.namesake.register { [unowned two] in Speaker("one of \(two.namesake().text)") }
    two.namesake.register { Speaker("two") }
    XCTAssertEqual(collectingFailures { XCTAssertEqual(one.namesake().text, "one of two") }, [])
  }

  func testOneNameAndTwoTypes() {
    let container = Container()
    XCTAssertEqual(collectingFailures { XCTAssertEqual(container.length, 5) }, [])
  }

  func testAParametrisedFactoryThatRecursesWithASmallerArgument() {
    let container = Container()
    let messages = collectingFailures {
      XCTAssertEqual(container.factorial(10), 3_628_800)
      XCTAssertEqual(container.keptFactorial(10), 3_628_800)
      XCTAssertEqual(container.keptFactorial(9), 362_880)
    }
    XCTAssertEqual(messages, [])
  }

  func testTheSameFactoryTwiceOneAfterTheOther() {
    let container = Container()
    let messages = collectingFailures { XCTAssertEqual(container.twice().text, "part and part") }
    XCTAssertEqual(messages, [])
  }

  func testATrueCycleIsReportedWithItsWholePath() {
    let container = Container()
    let messages = collectingFailures { XCTAssertNil(container.first()) }
    XCTAssertEqual(messages.count, 1)
    let path = messages[0]
    XCTAssertTrue(path.contains("first") && path.contains("second") && path.contains("third"), path)
  }

  func testARecursionWithTheSameArgumentIsACycle() {
    let container = Container()
    let messages = collectingFailures { XCTAssertNil(container.circular(3)) }
    XCTAssertEqual(messages.count, 1)
    XCTAssertTrue(messages[0].contains("circular"), messages[0])
  }

  func testACycleAcrossThreads() {
    let container = Container()
    let (insideLeft, insideRight) = (Event(), Event())
    container.left.register { [unowned container] in
      insideLeft.signal()
      insideRight.wait()
      return container.right()
    }
    container.right.register { [unowned container] in
      insideRight.signal()
      insideLeft.wait()
      return container.left()
    }
    let messages = collectingFailures {
      let threads = [TestThread { _ = container.left() }, TestThread { _ = container.right() }]
      for thread in threads { thread.join() }
    }
    XCTAssertFalse(messages.isEmpty)
    XCTAssertTrue(messages.allSatisfy { $0.contains("left") && $0.contains("right") }, "\(messages)")
  }
}

private final class NamesakeContainer: SharedContainer {
  @TaskLocal static var shared = NamesakeContainer()
  let manager = ContainerManager()
  var namesake: Factory<Speaker> { self { Speaker("inner") } }
  var keptNamesake: Factory<Speaker> { self { Speaker("inner") }.cached }
}

extension Container {
  fileprivate var namesake: Factory<Speaker> {
    self { Speaker("outer of \(NamesakeContainer.shared.namesake().text)") }
  }
  fileprivate var keptNamesake: Factory<Speaker> {
    self { Speaker("outer of \(NamesakeContainer.shared.keptNamesake().text)") }.cached
  }
  fileprivate var length: Int { Factory(self, key: "sameName") { self.text.count }() }
  fileprivate var text: String { Factory(self, key: "sameName") { "hello" }() }
  fileprivate var factorial: ParameterFactory<Int, Int> { self { $0 < 2 ? 1 : $0 * self.factorial($0 - 1) } }
  fileprivate var keptFactorial: ParameterFactory<Int, Int> {
    self { $0 < 2 ? 1 : $0 * self.keptFactorial($0 - 1) }.cached.scopeOnParameters
  }
  fileprivate var part: Factory<Speaker> { self { Speaker("part") } }
  fileprivate var twice: Factory<Speaker> { self { Speaker("\(self.part().text) and \(self.part().text)") } }
  fileprivate var first: Factory<Speaker?> { self { self.second() } }
  fileprivate var second: Factory<Speaker?> { self { self.third() }.cached }
  fileprivate var third: Factory<Speaker?> { self { self.first() }.singleton }
  fileprivate var circular: ParameterFactory<Int, Speaker?> { self { self.circular($0) } }
  fileprivate var left: Factory<Speaker?> { self { nil }.cached }
  fileprivate var right: Factory<Speaker?> { self { nil }.cached }
}
