import CServiceKit
import XCTest

@testable import ServiceKitCore

final class SettingsTests: XCTestCase {
  private let root = Container.create(parent: nil)
  private lazy var child = Container.create(parent: root)
  private lazy var grandchild = Container.create(parent: child)
  private let key = KeyView(ByteView("key"))

  override func tearDown() {
    for container in [grandchild, child, root] { container.destroy() }
  }

  private func surroundings(of container: Container? = nil) -> Surroundings {
    Surroundings(of: container ?? grandchild, key: key)
  }

  private func decorator() -> Decorator { Decorator({ _, _, _, _ in }, UserData(nil, free: nil)) }

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
    let (ofRoot, ofChild, ofKeyInRoot, ofKeyInChild) = (decorator(), decorator(), decorator(), decorator())
    XCTAssertNil(surroundings().decorator)
    try root.decorate(nil, ofRoot)
    XCTAssertTrue(surroundings().decorator === ofRoot)
    try child.decorate(nil, ofChild)
    XCTAssertTrue(surroundings().decorator === ofChild)
    try root.decorate(ByteView("key"), ofKeyInRoot)
    XCTAssertTrue(surroundings().decorator === ofKeyInRoot)
    try child.decorate(ByteView("key"), ofKeyInChild)
    XCTAssertTrue(surroundings().decorator === ofKeyInChild)
    XCTAssertTrue(Surroundings(of: grandchild, key: KeyView(ByteView("other"))).decorator === ofChild)
    try child.decorate(ByteView("key"), nil)
    XCTAssertTrue(surroundings().decorator === ofKeyInRoot)
  }

  func testTheNearestTraceCounts() throws {
    let (ofRoot, ofChild) = (Trace({ _, _ in }, UserData(nil, free: nil)), Trace({ _, _ in }, UserData(nil, free: nil)))
    try root.setTrace(ofRoot)
    XCTAssertTrue(surroundings().trace === ofRoot)
    try child.setTrace(ofChild)
    XCTAssertTrue(surroundings().trace === ofChild)
    try child.setTrace(nil)
    XCTAssertTrue(surroundings().trace === ofRoot)
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
      ({ try $0.decorate(nil, self.decorator()) }, { try $0.decorate(nil, nil) }),
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
      { try $0.decorate(nil, self.decorator()) }, { try $0.decorate(ByteView("key"), self.decorator()) },
      { try $0.setTrace(nil) }, { _ in try Singletons.reset(nil) },
      { try $0.reset(registrations: false, contexts: true, scopes: false) },
    ]
    for (number, change) in changes.enumerated() {
      let before = Answers.version
      try change(root)
      XCTAssertGreaterThan(Answers.version, before, "change \(number)")
    }
  }
}
