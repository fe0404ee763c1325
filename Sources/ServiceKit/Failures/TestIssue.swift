#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Issues of the test that runs. The testing libraries are looked up while the program runs, so that a program which
/// does not test does not have to link them.
enum TestIssue {
  /// True if a testing library runs this process and took the message.
  static func record(_ message: String) -> Bool {
    if let recordInSwiftTesting, message.withCString(recordInSwiftTesting) != 0 { return true }
    guard isRunByXCTest, let fail else { return false }
    fail(message, #filePath, #line)
    return true
  }

  /// A function of ServiceKitTesting, which links Swift Testing. It answers 0 if that does not run the test.
  private static let recordInSwiftTesting = symbol("servicekit_testing_record_issue").map {
    unsafeBitCast($0, to: (@convention(c) (UnsafePointer<CChar>) -> Int32).self)
  }

  private typealias Fail = @Sendable (_ message: String, _ file: StaticString, _ line: UInt) -> Void

  /// `XCTFail(_:file:line:)`, which has one mangled name on every system. A function value is its address and a context,
  /// of which a global function has none.
  private static let fail = symbol("$s6XCTest7XCTFail_4file4lineySS_s12StaticStringVSutF").map {
    unsafeBitCast(($0, UnsafeRawPointer?.none), to: Fail.self)
  }

  /// Whether this process is XCTest's: its library may be linked, and deaf, where it does not run the tests.
  private static let isRunByXCTest: Bool = {
    let arguments = CommandLine.arguments
    if let option = arguments.firstIndex(of: "--testing-library"), arguments.dropFirst(option + 1).first != "xctest" {
      return false
    }
    return arguments.first?.contains("xctest") == true || getenv("XCTestConfigurationFilePath") != nil
  }()

  private static func symbol(_ name: String) -> UnsafeRawPointer? {
    dlsym(dlopen(nil, RTLD_LAZY), name).map { UnsafeRawPointer($0) }
  }
}
