import CServiceKit

@testable import ServiceKitCore

extension ByteView {
  var bytes: [UInt8] { (0..<count).map { self[$0] } }
  var string: String { String(decoding: bytes, as: UTF8.self) }
}

extension OwnedBytes {
  var bytes: [UInt8] { withExtendedLifetime(self) { view.bytes } }
  var string: String { withExtendedLifetime(self) { view.string } }
}

/// A copy of bytes or of a text that the engine can look at.
func owned(_ bytes: [UInt8]) -> OwnedBytes {
  bytes.withUnsafeBytes { OwnedBytes(ByteView(start: $0.baseAddress, count: $0.count)) }
}

func owned(_ text: String) -> OwnedBytes { owned(Array(text.utf8)) }

/// Calls `body` with a view of `text`.
func withView<Result>(_ text: String, _ body: (ByteView) -> Result) -> Result {
  let bytes = owned(text)
  return withExtendedLifetime(bytes) { body(bytes.view) }
}

/// The status that `body` ends with: SVK_OK if it does not fail.
func status(_ body: () throws(Failure) -> Void) -> Int32 {
  do throws(Failure) {
    try body()
    return SVK_OK
  } catch {
    return error.status
  }
}

/// This thread's last failure in words.
var lastWords: String { String(cString: Failure.lastWords) }
