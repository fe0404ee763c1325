/// An endpoint of a test's API that the test does not expect to be called.
///
/// ```swift
/// static let test = Self(play: unimplemented("play"), stop: unimplemented("stop"))
/// ```
///
/// When it is called, that is recorded as an issue of the test that runs, in XCTest and in Swift Testing, and the call
/// returns. Where no test runs, ``ServiceFailure`` is told. May be called on any thread.
///
/// - Parameter name: What was called, for the message.
public func unimplemented<each A>(_ name: String) -> @Sendable (repeat each A) -> Void {
  { (_: repeat each A) in UnimplementedError(name: name).report() }
}

/// An endpoint of a test's API that the test does not expect to be called, with something to return when it is.
///
/// - Parameters:
///   - name: What was called, for the message.
///   - placeholder: What the call returns. Evaluated at each call.
public func unimplemented<each A, R>(
  _ name: String, placeholder: @autoclosure @escaping @Sendable () -> R
) -> @Sendable (repeat each A) -> R {
  { (_: repeat each A) in
    UnimplementedError(name: name).report()
    return placeholder()
  }
}

/// An endpoint of a test's API that the test does not expect to be called, and that throws ``UnimplementedError`` when
/// it is.
///
/// - Parameter name: What was called, for the message.
@_disfavoredOverload
public func unimplemented<each A, R>(_ name: String) -> @Sendable (repeat each A) throws -> R {
  { (_: repeat each A) in
    let error = UnimplementedError(name: name)
    error.report()
    throw error
  }
}

/// What an endpoint throws that nobody expected to be called.
public struct UnimplementedError: Error, Equatable, CustomStringConvertible {
  /// The name that the endpoint was given.
  public let name: String

  public var description: String { "unimplemented: \"\(name)\" was called, which nobody expected" }

  func report() {
    if !TestIssue.record(description) { ServiceFailure.report(description) }
  }
}
