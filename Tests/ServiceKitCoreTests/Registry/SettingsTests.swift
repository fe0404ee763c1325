import CServiceKit
import XCTest

@testable import ServiceKitCore

final class SettingsTests: XCTestCase {
  private let root = Container.create(parent: nil)
  private lazy var child = Container.create(parent: root)
  private lazy var grandchild = Container.create(parent: child)

  override func tearDown() {
    for container in [grandchild, child, root] { container.destroy() }
  }

  private func surroundings(of container: Container? = nil) -> Surroundings {
    Surroundings.of(container ?? grandchild)
  }

  private func decorator(of key: StaticString = "key") -> Decorator? {
    surroundings().decorator(of: KeyView(ByteView(key)), askedOf: grandchild)
  }

  private func newDecorator() -> Decorator { CDecorator({ _, _, _, _ in }, UserData(nil, free: nil)) }

  func testTheNearestSettingCounts() throws {
    XCTAssertEqual(surroundings().contexts.names.map { $0.string }, ContextList.ofProcess.names.map { $0.string })
    XCTAssertFalse(surroundings().isStrict)
    try root.setContexts(ByteView("test"))
    try root.setStrict(true)
    XCTAssertTrue(surroundings().demandsTest)
    try child.setStrict(false)
    XCTAssertFalse(surroundings().isStrict)
    XCTAssertTrue(surroundings(of: root).isStrict)
    try child.setContexts(ByteView("preview,live"))
    XCTAssertEqual(surroundings().contexts.names.map { $0.string }, ["preview", "live"])
    try child.setContexts(.empty)
    XCTAssertEqual(surroundings().contexts.names.map { $0.string }, ["test"])
    try child.setStrict(true)
    XCTAssertTrue(surroundings().demandsTest)
  }

  func testAKeysDecoratorBeatsEveryContainers() throws {
    let (ofRoot, ofChild, ofKeyInRoot, ofKeyInChild) = (newDecorator(), newDecorator(), newDecorator(), newDecorator())
    XCTAssertNil(decorator(of: "key"))
    try root.decorate(nil, ofRoot)
    XCTAssertTrue(decorator(of: "key") === ofRoot)
    try child.decorate(nil, ofChild)
    XCTAssertTrue(decorator(of: "key") === ofChild)
    try root.decorate(ByteView("key"), ofKeyInRoot)
    XCTAssertTrue(decorator(of: "key") === ofKeyInRoot)
    try child.decorate(ByteView("key"), ofKeyInChild)
    XCTAssertTrue(decorator(of: "key") === ofKeyInChild)
    XCTAssertTrue(decorator(of: "other") === ofChild)
    try child.decorate(ByteView("key"), nil)
    XCTAssertTrue(decorator(of: "key") === ofKeyInRoot)
  }

  func testTheNearestTraceCounts() throws {
    let (ofRoot, ofChild) = (Trace({ _, _ in }, UserData(nil, free: nil)), Trace({ _, _ in }, UserData(nil, free: nil)))
    try root.setTrace(ofRoot)
    XCTAssertTrue(surroundings().trace(askedOf: grandchild) === ofRoot)
    try child.setTrace(ofChild)
    XCTAssertTrue(surroundings().trace(askedOf: grandchild) === ofChild)
    try child.setTrace(nil)
    XCTAssertTrue(surroundings().trace(askedOf: grandchild) === ofRoot)
  }

  func testADestroyedParentSaysNothing() throws {
    try root.setContexts(ByteView("test"))
    try root.setStrict(true)
    _ = grandchild
    root.destroy()
    XCTAssertFalse(surroundings().isStrict)
    XCTAssertEqual(surroundings().contexts.names.map { $0.string }, ContextList.ofProcess.names.map { $0.string })
  }

  func testAContainerIsTransparentWithoutSettingsOfItsOwn() throws {
    func isTransparent() -> Bool { child.isTransparent.load(ordering: .relaxed) && grandchild.sees(root) }
    XCTAssertTrue(isTransparent())
    let changes: [(set: (Container) throws -> Void, unset: (Container) throws -> Void)] = [
      ({ try $0.setContexts(ByteView("a")) }, { try $0.setContexts(.empty) }),
      ({ try $0.decorate(nil, self.newDecorator()) }, { try $0.decorate(nil, nil) }),
      ({ try $0.setTrace(Trace({ _, _ in }, UserData(nil, free: nil))) }, { try $0.setTrace(nil) }),
    ]
    for change in changes {
      try change.set(child)
      XCTAssertFalse(isTransparent())
      try change.unset(child)
      XCTAssertTrue(isTransparent())
    }
    try child.setStrict(false)
    XCTAssertFalse(isTransparent(), "a child's own word on strictness counts, whatever it is")
    XCTAssertTrue(root.sees(root))
    XCTAssertFalse(root.sees(child))
  }

  /// Whatever may change more than one key's answer makes every instance that is held ready be looked up anew.
  func testEverySettingChangesTheAnswers() throws {
    let changes: [(Container) throws -> Void] = [
      { try $0.setContexts(ByteView("a")) }, { try $0.setStrict(true) }, { try $0.setDefaultScope(.cached) },
      { try $0.decorate(nil, self.newDecorator()) }, { try $0.decorate(ByteView("key"), self.newDecorator()) },
      { try $0.setTrace(nil) }, { _ in try Singletons.reset(nil) },
      { try $0.reset(registrations: false, contexts: true, scopes: false) },
    ]
    for (number, change) in changes.enumerated() {
      let before = Answers.version
      try change(root)
      XCTAssertGreaterThan(Answers.version, before, "change \(number)")
    }
  }

  func testSurroundingsAreGatheredAnewOnlyAfterAChange() throws {
    let before = surroundings()
    XCTAssertTrue(surroundings() === before)
    XCTAssertFalse(before.areWatched)
    try root.decorate(ByteView("key"), newDecorator())
    XCTAssertFalse(surroundings() === before)
    XCTAssertTrue(surroundings().areWatched)
    try root.decorate(ByteView("key"), nil)
    XCTAssertFalse(surroundings().areWatched)
  }
}
