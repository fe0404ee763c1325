import ServiceKit
import Testing

/// Lets ServiceKit, which does not link the testing libraries, record issues of Swift Testing's tests.
enum SwiftTestingIssues {
  static func install() { TestIssue.install(record) }

  /// False if Swift Testing does not run this.
  private static func record(_ message: String) -> Bool {
    // A thread of the test's own has no current test, but in a process that is Swift Testing's alone there is no doubt.
    guard Test.current != nil || TestIssue.runner == "swift-testing" else { return false }
    Issue.record(Comment(rawValue: message))
    return true
  }
}

// Called when the program is loaded, so that it suffices to link this library: a test that uses nothing of it but has an
// unimplemented endpoint called is told so too. A compiler that cannot say this leaves it to the traits.
#if compiler(>=6.3)
  #if canImport(Darwin)
    @section("__DATA,__mod_init_func") @used
    private let atLoad: @convention(c) () -> Void = { SwiftTestingIssues.install() }
  #elseif os(Linux)
    @section(".init_array") @used
    private let atLoad: @convention(c) () -> Void = { SwiftTestingIssues.install() }
  #endif
#endif
