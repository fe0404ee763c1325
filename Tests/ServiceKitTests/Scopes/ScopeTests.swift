import ServiceKit
import ServiceKitTesting
import XCTest

final class ScopeTests: XCContainerTestCase {
  private let container = Container()

  func testCachedIsForTheContainer() {
    let one = container.cachedOne()
    XCTAssertTrue(container.cachedOne() === one)
    XCTAssertFalse(Container().cachedOne() === one)
    XCTAssertFalse(container.cachedTwo() === one)
  }

  func testCachedKeepsValuesToo() {
    let made = Tally()
    container.cachedNumber.register { made.add() }
    XCTAssertEqual([container.cachedNumber(), container.cachedNumber()], [1, 1])
  }

  func testGraphIsForTheOutermostResolve() {
    let tree = container.tree()
    XCTAssertTrue(tree.left === tree.right)
    XCTAssertFalse(container.tree().left === tree.left)
    XCTAssertFalse(container.leaf() === container.leaf())
  }

  func testGraphGoesThroughOtherScopes() {
    let forest = container.forest()
    XCTAssertTrue(forest.left === forest.right)
    XCTAssertTrue(container.forest() === forest)
  }

  func testSharedIsAsLongAsSomebodyHoldsIt() {
    let living = Tally()
    container.sharedOne.register { Counted(Tally(), living: living) }
    var one: Counted? = container.sharedOne()
    XCTAssertTrue(container.sharedOne() === one)
    XCTAssertEqual(living.value, 1)
    one = nil
    XCTAssertEqual(living.value, 0)
    one = container.sharedOne()
    XCTAssertEqual(living.value, 1)
    XCTAssertNotNil(one)
  }

  func testSharedBehindAProtocolOrInAnOptional() {
    let voice = container.sharedVoice()
    XCTAssertTrue(container.sharedVoice() === voice)
    let optional = container.sharedOptional()
    XCTAssertTrue(container.sharedOptional() === optional)
    XCTAssertNotNil(optional)
  }

  func testSharedValuesAreMadeAnew() {
    let made = Tally()
    container.sharedNumber.register { made.add() }
    XCTAssertEqual([container.sharedNumber(), container.sharedNumber()], [1, 2])
  }

  func testSingletonIsForAllContainers() {
    let only = container.only()
    XCTAssertTrue(Container().only() === only)
    Scope.singleton.reset()
    XCTAssertFalse(container.only() === only)
  }

  func testSingletonIsForContainersOfOtherTypesToo() {
    let only = container.onlyEverywhere()
    let other = OtherContainer()
    XCTAssertTrue(other.onlyEverywhere() === only)
  }

  func testSingletonsAreNotReachedByAContainersReset() {
    let only = container.only()
    container.manager.reset(scope: .singleton)
    container.manager.reset(options: .scope)
    container.manager.reset()
    XCTAssertTrue(container.only() === only)
    container.only.reset(.scope)
    XCTAssertFalse(container.only() === only)
  }

  func testAClonesSingletonsBeginAsTheOthersAndGoTheirOwnWay() {
    let only = container.only()
    Scope.$singleton.withValue(Scope.singleton.clone()) {
      XCTAssertTrue(Container().only() === only)
      Scope.singleton.reset()
      XCTAssertFalse(container.only() === only)
    }
    XCTAssertTrue(container.only() === only)
  }

  func testATasksSingletonsAreItsOwn() async {
    let only = container.only()
    let container = container
    await Scope.$singleton.withValue(Scope.Singleton()) {
      let inside = container.only()
      XCTAssertFalse(inside === only)
      await Task { XCTAssertTrue(container.only() === inside) }.value
    }
    XCTAssertTrue(container.only() === only)
  }

  func testUniqueIsNew() {
    XCTAssertFalse(container.unique() === container.unique())
  }

  func testTheDefaultScope() {
    XCTAssertNil(container.manager.defaultScope)
    XCTAssertFalse(container.plain() === container.plain())
    container.manager.defaultScope = .cached
    XCTAssertTrue(container.manager.defaultScope === Scope.cached)
    let one = container.plain()
    XCTAssertTrue(container.plain() === one)
    XCTAssertFalse(container.unique() === container.unique())
    container.manager.reset()
    XCTAssertNil(container.manager.defaultScope)
    XCTAssertFalse(container.plain() === container.plain())
    container.manager.defaultScope = .singleton
    let only = container.onlyByDefault()
    let other = Container()
    XCTAssertFalse(other.onlyByDefault() === only)
    other.manager.defaultScope = .singleton
    XCTAssertTrue(other.onlyByDefault() === only)
  }
}

private final class Tree: Sendable {
  let left: Counted
  let right: Counted
  init(_ left: Counted, _ right: Counted) { (self.left, self.right) = (left, right) }
}

extension Container {
  fileprivate var cachedOne: Factory<Counted> { self { Counted(Tally()) }.cached }
  fileprivate var cachedTwo: Factory<Counted> { self { Counted(Tally()) }.cached }
  fileprivate var cachedNumber: Factory<Int> { self { 0 }.cached }
  fileprivate var leaf: Factory<Counted> { self { Counted(Tally()) }.graph }
  fileprivate var branch: Factory<Counted> { self { self.leaf() } }
  fileprivate var tree: Factory<Tree> { self { Tree(self.leaf(), self.branch()) } }
  fileprivate var forest: Factory<Tree> { self { Tree(self.leaf(), self.tree().left) }.cached }
  fileprivate var sharedOne: Factory<Counted> { self { Counted(Tally()) }.shared }
  fileprivate var sharedVoice: Factory<any Voice> { self { Speaker() }.shared }
  fileprivate var sharedOptional: Factory<Speaker?> { self { Speaker() }.shared }
  fileprivate var sharedNumber: Factory<Int> { self { 0 }.shared }
  fileprivate var only: Factory<Counted> { self { Counted(Tally()) }.singleton }
  fileprivate var onlyEverywhere: Factory<Counted> { self { Counted(Tally()) }.singleton }
  fileprivate var onlyByDefault: Factory<Counted> { self { Counted(Tally()) } }
  fileprivate var unique: Factory<Counted> { self { Counted(Tally()) }.unique }
  fileprivate var plain: Factory<Counted> { self { Counted(Tally()) } }
}

extension OtherContainer {
  fileprivate var onlyEverywhere: Factory<Counted> { self { Counted(Tally()) }.singleton }
}
