import ServiceKitCore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Issues of the test that runs, without linking the testing libraries: most programs do not test.
package enum TestIssue {
  /// Records an issue of Swift Testing's test, or answers false if that does not run one.
  package typealias Recorder = @Sendable (_ message: String) -> Bool

  private nonisolated(unsafe) static let lock = Lock()
  /// Guarded by the lock.
  private nonisolated(unsafe) static var swiftTesting: Recorder?

  /// For ServiceKitTesting, which links Swift Testing.
  package static func install(_ recorder: @escaping Recorder) { lock.withLock { swiftTesting = recorder } }

  /// True if a testing library runs this process and took the message.
  static func record(_ message: String) -> Bool {
    if let recorder = lock.withLock({ swiftTesting }), recorder(message) { return true }
    guard isRunByXCTest, let fail else { return false }
    fail.call(message, #filePath, #line)
    return true
  }

  /// Which library was asked to run the tests, where SwiftPM says so: the other one is linked too, but deaf.
  package static let runner: String? = {
    let arguments = CommandLine.arguments
    return arguments.firstIndex(of: "--testing-library").flatMap { arguments.dropFirst($0 + 1).first }
  }()

  private static let isRunByXCTest: Bool = {
    guard runner == nil || runner == "xctest" else { return false }
    return CommandLine.arguments.first?.contains("xctest") == true || getenv("XCTestConfigurationFilePath") != nil
  }()

  /// `XCTFail(_:file:line:)`, which has one mangled name on every system. A function value is its address and a context,
  /// of which a global function has none. In a struct, since as a generic argument it would have another convention.
  private struct Fail {
    let call: @Sendable (_ message: String, _ file: StaticString, _ line: UInt) -> Void
  }

  private static let fail: Fail? = dlsym(dlopen(nil, RTLD_LAZY), "$s6XCTest7XCTFail_4file4lineySS_s12StaticStringVSutF")
    .map { unsafeBitCast(($0, UnsafeRawPointer?.none), to: Fail.self) }
}
