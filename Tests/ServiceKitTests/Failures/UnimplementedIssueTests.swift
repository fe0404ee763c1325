import ServiceKit
import Testing

@Suite struct UnimplementedIssueTests {
  @Test func aCallIsAnIssueOfTheTest() {
    let play: @Sendable (String) -> Void = unimplemented("play")
    withKnownIssue {
      play("song")
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains("\"play\"") }
    }
  }

  @Test func aPlaceholderIsReturned() {
    let position: @Sendable () -> Int = unimplemented("position", placeholder: 7)
    withKnownIssue { #expect(position() == 7) }
  }

  @Test func oneThatMayThrowDoes() {
    let load: @Sendable () throws -> Int = unimplemented("load")
    withKnownIssue { #expect(throws: UnimplementedError.self) { try load() } }
  }

  @Test func inAnAsyncCallToo() async {
    let load: @Sendable (Int) async -> Int = unimplemented("load", placeholder: 1)
    await withKnownIssue { #expect(await load(2) == 1) }
  }

  @Test func onesThatAreNotCalledSayNothing() {
    let play: @Sendable (String) -> Void = unimplemented("play")
    _ = play
  }
}
