import CServiceKit

/// What a factory may do with its resolver.
package enum Require {
  /// Resolves for a running factory, and leases the result to the instance under construction.
  @inline(__always)
  package static func instance(
    _ resolver: Token, _ key: ByteView, parameter: ByteView
  ) throws(Failure) -> UnsafeMutableRawPointer {
    let thread = ThreadRecord.current
    guard let frame = thread.pointee.resolution.frame(resolver) else { throw invalid("svk_require") }
    let view = KeyView(key)
    let resolved: Resolved
    if parameter.count == 0,
      let ready = Resolve.ready(
        view, on: thread, marks: LeaseSlot.Mark.dependency,
        in: { Unmanaged.passUnretained(frame.pointee.container) })
    {
      resolved = ready
    } else {
      resolved = try Resolve.search(
        Request(
          container: frame.pointee.container, key: view, parameter: ByteParameter.make(parameter),
          marks: LeaseSlot.Mark.dependency),
        on: thread)
    }
    frame.pointee.dependencies.append(resolved.lease)
    frame.pointee.cell.noteRequirement(of: key)
    return resolved.value
  }

  /// The parameter of the resolve that the factory runs for: none is an empty one.
  package static func parameter(_ resolver: Token) throws(Failure) -> ByteView {
    guard let frame = ThreadRecord.current.pointee.resolution.frame(resolver) else {
      throw invalid("svk_resolver_parameter")
    }
    return frame.pointee.parameter?.bytes ?? .empty
  }

  /// The container whose registrations the factory's requirements are looked up in; nil for an invalid resolver.
  package static func container(_ resolver: Token) -> Token? {
    ThreadRecord.current.pointee.resolution.frame(resolver)?.pointee.container.token
  }

  private static func invalid(_ function: StaticString) -> Failure {
    Failure(SVK_INVALID_HANDLE) { text in
      text.append(function)
      text.append(": no such resolver here; it is valid only while its factory runs, on that factory's thread")
    }
  }
}
