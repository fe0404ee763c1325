import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

@implementation @_cdecl("svk_container_create")
public func svk_container_create(_ container: UnsafeMutablePointer<OpaquePointer?>?) -> svk_status {
  answer { () throws(Failure) in
    try output(container).pointee = Container.create(parent: nil).token.pointer
  }
}

@implementation @_cdecl("svk_container_create_child")
public func svk_container_create_child(
  _ parent: OpaquePointer?, _ child: UnsafeMutablePointer<OpaquePointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let child = try output(child)
    try withContainer(parent) { child.pointee = Container.create(parent: $0).token.pointer }
  }
}

@implementation @_cdecl("svk_container_shared")
public func svk_container_shared() -> OpaquePointer? { Container.shared.token.pointer }

@implementation @_cdecl("svk_container_destroy")
public func svk_container_destroy(_ container: OpaquePointer?) -> svk_status {
  var isDone = true
  let status = answer { () throws(Failure) in isDone = try Closing.destroy(Token(container)) }
  return status == SVK_OK && !isDone ? SVK_DEFERRED : status
}

@implementation @_cdecl("svk_container_reset")
public func svk_container_reset(_ container: OpaquePointer?, _ what: UInt32) -> svk_status {
  answer { () throws(Failure) in
    try withContainer(container) { container throws(Failure) in
      let what = try Reset(what)
      try container.reset(registrations: what.registrations, contexts: what.contexts, scopes: what.scopes)
    }
  }
}

@implementation @_cdecl("svk_container_push")
public func svk_container_push(_ container: OpaquePointer?) -> svk_status {
  answer { () throws(Failure) in try withContainer(container) { container throws(Failure) in try container.push() } }
}

@implementation @_cdecl("svk_container_pop")
public func svk_container_pop(_ container: OpaquePointer?) -> svk_status {
  answer { () throws(Failure) in try withContainer(container) { container throws(Failure) in try container.pop() } }
}

@implementation @_cdecl("svk_container_set_contexts")
public func svk_container_set_contexts(
  _ container: OpaquePointer?, _ comma_separated: UnsafePointer<CChar>?
) -> svk_status {
  answer { () throws(Failure) in
    try withContainer(container) { container throws(Failure) in
      try container.setContexts(comma_separated.map { ByteView(cString: $0) } ?? .empty)
    }
  }
}

@implementation @_cdecl("svk_container_set_strict")
public func svk_container_set_strict(_ container: OpaquePointer?, _ strict: Int32) -> svk_status {
  answer { () throws(Failure) in
    try withContainer(container) { container throws(Failure) in try container.setStrict(strict != 0) }
  }
}

@implementation @_cdecl("svk_container_set_default_scope")
public func svk_container_set_default_scope(_ container: OpaquePointer?, _ scope: Int32) -> svk_status {
  answer { () throws(Failure) in
    try withContainer(container) { container throws(Failure) in
      guard let scope = ScopeKind(rawValue: scope), scope != .custom else {
        throw Failure(SVK_INVALID_ARGUMENT) { text in
          text.append("the default scope is one of the SVK_SCOPE_ constants other than SVK_SCOPE_CUSTOM, not ")
          text.append(Int64(scope))
        }
      }
      try container.setDefaultScope(scope)
    }
  }
}

@implementation @_cdecl("svk_container_validate")
public func svk_container_validate(_ container: OpaquePointer?) -> svk_status {
  answer { () throws(Failure) in
    try withContainer(container) { container throws(Failure) in try Validation.check(container) }
  }
}

@implementation @_cdecl("svk_container_describe")
public func svk_container_describe(
  _ container: OpaquePointer?, _ format: Int32, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ needed: UnsafeMutablePointer<Int>?
) -> svk_status {
  needed?.pointee = 0
  return answer { () throws(Failure) in
    guard buffer != nil || capacity == 0 else { throw Failure.null("the buffer, whose capacity is not 0,") }
    try withContainer(container) { container throws(Failure) in
      let text = try Description.write(container, format: format)
      needed?.pointee = text.count + 1
      guard let buffer, UInt(bitPattern: capacity) > UInt(text.count) else {
        throw Failure(SVK_BUFFER_TOO_SMALL) { message in
          message.append("the description needs a buffer of ")
          message.append(Int64(text.count + 1))
          message.append(" bytes")
        }
      }
      buffer.update(from: text.cString, count: text.count + 1)
    }
  }
}

@implementation @_cdecl("svk_container_set_trace")
public func svk_container_set_trace(
  _ container: OpaquePointer?, _ trace_or_null: svk_trace_fn?, _ user_data: UnsafeMutableRawPointer?,
  _ user_data_free: svk_free_fn?
) -> svk_status {
  answer { () throws(Failure) in
    try withContainer(container) { container throws(Failure) in
      try container.setTrace(trace_or_null.map { Trace($0, UserData(user_data, free: user_data_free)) })
    }
  }
}

/// The `what` of a reset.
struct Reset {
  let registrations: Bool
  let contexts: Bool
  let scopes: Bool

  init(_ what: UInt32) throws(Failure) {
    guard what != 0, what & ~SVK_RESET_ALL == 0 else {
      throw Failure(SVK_INVALID_ARGUMENT) {
        $0.append("what to reset is one or more of the SVK_RESET_ constants, and nothing else")
      }
    }
    registrations = what & SVK_RESET_REGISTRATIONS != 0
    contexts = what & SVK_RESET_CONTEXTS != 0
    scopes = what & SVK_RESET_SCOPES != 0
  }
}
