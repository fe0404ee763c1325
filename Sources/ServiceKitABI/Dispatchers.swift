import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

@implementation @_cdecl("svk_dispatcher_create")
public func svk_dispatcher_create(_ dispatcher: UnsafeMutablePointer<OpaquePointer?>?) -> svk_status {
  answer { () throws(Failure) in
    let dispatcher = try output(dispatcher)
    dispatcher.pointee = try Dispatcher.create().pointer
  }
}

@implementation @_cdecl("svk_dispatcher_destroy")
public func svk_dispatcher_destroy(_ dispatcher: OpaquePointer?) -> svk_status {
  var status = SVK_OK
  let found = answer { () throws(Failure) in
    status = try withdraw(dispatcher, .dispatcher, Dispatcher.self).destroy()
  }
  return found == SVK_OK ? status : found
}

@implementation @_cdecl("svk_dispatcher_fd")
public func svk_dispatcher_fd(_ dispatcher: OpaquePointer?) -> Int32 {
  var descriptor: Int32 = -1
  _ = with(dispatcher, .dispatcher, Dispatcher.self) { dispatcher throws(Failure) in
    descriptor = try dispatcher.descriptor()
  }
  return descriptor
}

@implementation @_cdecl("svk_dispatcher_wake")
public func svk_dispatcher_wake(_ dispatcher: OpaquePointer?) -> svk_status {
  // No failure is made here: in a signal handler there are no words.
  Dispatcher.wake(Token(dispatcher)) ? SVK_OK : SVK_INVALID_HANDLE
}

@implementation @_cdecl("svk_dispatcher_dispatch")
public func svk_dispatcher_dispatch(
  _ dispatcher: OpaquePointer?, _ max: Int, _ timeout_ns: Int64, _ count: UnsafeMutablePointer<Int>?
) -> svk_status {
  count?.pointee = 0
  return with(dispatcher, .dispatcher, Dispatcher.self) { dispatcher throws(Failure) in
    var calls = 0
    try dispatcher.dispatch(most: max, timeout: timeout_ns, count: &calls)
    count?.pointee = calls
  }
}
