import Testing

/// Records an issue of the Swift Testing test that runs. ServiceKit, which does not link the testing libraries, finds it
/// by its name.
///
/// - Returns: 1, or 0 if Swift Testing does not run this.
@_cdecl("servicekit_testing_record_issue")
public func _recordSwiftTestingIssue(_ message: UnsafePointer<CChar>) -> Int32 {
  // A thread of the test's own has no current test, but in a process that is Swift Testing's alone there is no doubt.
  guard Test.current != nil || isRunBySwiftTesting else { return 0 }
  Issue.record(Comment(rawValue: String(cString: message)))
  return 1
}

private let isRunBySwiftTesting: Bool = {
  let arguments = CommandLine.arguments
  guard let option = arguments.firstIndex(of: "--testing-library") else { return false }
  return arguments.dropFirst(option + 1).first == "swift-testing"
}()
