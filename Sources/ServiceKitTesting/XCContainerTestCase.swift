#if canImport(XCTest)
  public import ServiceKit
  public import XCTest

  /// Gives each test method of XCTest a `Container.shared` and a copy of the singletons that are its own, as
  /// ``ContainerTrait`` does for Swift Testing.
  ///
  /// ```swift
  /// final class ModelTests: XCContainerTestCase {
  ///   override func setUp() { Container.shared.service.register { Mock() } }
  ///   func testLoading() { … }
  /// }
  /// ```
  ///
  /// `setUp` and `tearDown` see the container of their test. For a container type of your own override `invokeTest`:
  ///
  /// ```swift
  /// override func invokeTest() {
  ///   withContainer(shared: MyContainer.$shared, container: MyContainer(), operation: super.invokeTest)
  /// }
  /// ```
  open class XCContainerTestCase: XCTestCase {
    /// What is done to the container before `setUp`.
    open var transform: (@Sendable (Container) -> Void)? { nil }

    open override func invokeTest() {
      withContainer(
        shared: Container.$shared, container: Container(), operation: super.invokeTest, transform: transform)
    }
  }
#endif
