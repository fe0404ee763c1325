public import ServiceKit
public import Testing

/// Gives each test of Swift Testing a shared container and a copy of the singletons that are its own, so that tests may
/// run side by side.
///
/// ```swift
/// @Suite(.container)
/// struct ModelTests {
///   @Test func loads() { Container.shared.service.register { Mock() } … }
///   @Test(.container { $0.service.register { Mock() } }) func fails() { … }
/// }
/// ```
///
/// On a suite it is for each test in it, and in the suites in it, and for each case of a test that has arguments. For a
/// container type of your own, whose `shared` has to be a `@TaskLocal`:
///
/// ```swift
/// extension Trait where Self == ContainerTrait<MyContainer> {
///   static var myContainer: Self { .init(shared: MyContainer.$shared, container: .init()) }
/// }
/// ```
///
/// For XCTest there is ``XCContainerTestCase``.
public struct ContainerTrait<C: SharedContainer>: TestTrait, SuiteTrait, TestScoping {
  /// What a test does to its container before it begins.
  public typealias Transform = @Sendable (C) async -> Void

  private let shared: TaskLocal<C>
  private let container: @Sendable () -> C
  private var transform: Transform?

  /// A suite's trait is that of each test in it.
  public var isRecursive: Bool { true }

  /// A trait for a container type.
  ///
  /// - Parameters:
  ///   - shared: The task-local property of the container's type: `MyContainer.$shared`.
  ///   - container: The container. Evaluated for each test.
  public init(shared: TaskLocal<C>, container: @autoclosure @escaping @Sendable () -> C) {
    self.shared = shared
    self.container = container
    SwiftTestingIssues.install()
  }

  /// The same, with something to do to the container before the test begins.
  public func callAsFunction(transform: @escaping Transform) -> Self {
    var copy = self
    copy.transform = transform
    return copy
  }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withContainer(shared: shared, container: container(), operation: function, transform: transform)
  }
}

extension Trait where Self == ContainerTrait<Container> {
  /// Gives each test a `Container.shared` and a copy of the singletons that are its own.
  public static var container: ContainerTrait<Container> { .init(shared: Container.$shared, container: .init()) }
}
