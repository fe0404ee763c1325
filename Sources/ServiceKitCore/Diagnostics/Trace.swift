import CServiceKit

/// The program's trace function for a container. Freed after its last running call, because whoever calls it holds it.
package final class Trace {
  private let function: svk_trace_fn
  let userData: UserData

  package init(_ function: @escaping svk_trace_fn, _ userData: UserData) {
    self.function = function
    self.userData = userData
  }

  func tell(_ winner: borrowing Winner, _ provision: Resolve.Provision, depth: Int) {
    let kind =
      !provision.isNew
      ? SVK_TRACE_CACHE : winner.registration.context == nil ? SVK_TRACE_REGISTRATION : SVK_TRACE_CONTEXT
    tell(kind, depth, winner.cell.keyCString, provision.resolved.value)
  }

  func tellFailure(_ key: ByteView, depth: Int) {
    // Not every key that failed is one, so it need not end with a NUL.
    let copy = OwnedBytes(key)
    tell(SVK_TRACE_FAILED, depth, copy.cString, nil)
  }

  private func tell(_ kind: Int32, _ depth: Int, _ key: UnsafePointer<CChar>, _ instance: UnsafeMutableRawPointer?) {
    var event = svk_trace_event(
      size: UInt32(MemoryLayout<svk_trace_event>.size), kind: kind, depth: UInt32(truncatingIfNeeded: depth), key: key,
      instance: instance)
    Callback.run { function(&event, userData.pointer) }
  }
}
