import CServiceKit

/// What a failed call answers. The words for people are this thread's last error from the moment it is made.
package struct Failure: Error {
  package let status: Int32

  /// A failure whose words are the general ones of its status.
  package init(_ status: Int32) {
    self.init(status) { text in text.append(Constants.statusText(status)) }
  }

  /// A failure in the words that `describe` writes: what went wrong, with which key, and what to do.
  package init(_ status: Int32, _ describe: (inout Text) -> Void) {
    self.status = status
    ThreadRecord.current.pointee.lastError.replace(status, describe)
  }

  /// A failure that another thread found, in its words.
  package init(_ status: Int32, words: OwnedBytes) {
    self.init(status) { text in text.append(words) }
  }

  /// This thread's last failure in words, as a C string: empty if nothing has failed yet.
  package static var lastWords: UnsafePointer<CChar> {
    ThreadRecord.current.pointee.lastError.cString
      ?? UnsafeRawPointer(StaticString("").utf8Start).assumingMemoryBound(to: CChar.self)
  }

  /// A failure that has already been put into words on this thread, and is passed on.
  package init(passingOn status: Int32) { self.status = status }
}

/// A thread's last failure in words. Kept through later successes, as `errno` is.
struct LastError: ~Copyable {
  private var text: Text?
  private(set) var status: Int32 = SVK_OK
  /// How many failures there were on this thread.
  private(set) var count: UInt64 = 0

  init() { text = nil }

  var cString: UnsafePointer<CChar>? {
    switch text {
    case .some(let text): text.cString
    case .none: nil
    }
  }

  var view: ByteView {
    switch text {
    case .some(let text): text.view
    case .none: .empty
    }
  }

  mutating func replace(_ status: Int32, _ describe: (inout Text) -> Void) {
    self.status = status
    count &+= 1
    // Written aside first: the description may quote the failure that it replaces.
    var new = Text()
    describe(&new)
    text = consume new
  }

  mutating func forget() { text = nil }
}
