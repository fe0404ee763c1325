import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

@implementation @_cdecl("svk_stream_create")
public func svk_stream_create(
  _ options_or_null: UnsafePointer<svk_stream_options>?, _ stream: UnsafeMutablePointer<OpaquePointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let stream = try output(stream)
    var options = svk_stream_options()
    if options_or_null != nil {
      options = try Options.read(
        options_or_null, "svk_stream_options", smallest: UInt.bitWidth == 64 ? 40 : 24, defaults: options)
    }
    let policy = try BufferPolicy(buffering: options.buffering, capacity: options.capacity)
    stream.pointee =
      Stream.create(
        policy: policy, start: options.start, userData: options.user_data, userDataFree: options.user_data_free
      ).pointer
  }
}

@implementation @_cdecl("svk_stream_void")
public func svk_stream_void(_ stream: UnsafeMutablePointer<OpaquePointer?>?) -> svk_status {
  answer { () throws(Failure) in
    let stream = try output(stream)
    stream.pointee = Stream.createEnded().pointer
  }
}

@implementation @_cdecl("svk_stream_send")
public func svk_stream_send(_ stream: OpaquePointer?, _ data: UnsafeRawPointer?, _ size: Int) -> svk_status {
  answer { () throws(Failure) in try send(stream, data, size, timeout: Stream.forEver) }
}

@implementation @_cdecl("svk_stream_send_within")
public func svk_stream_send_within(
  _ stream: OpaquePointer?, _ data: UnsafeRawPointer?, _ size: Int, _ timeout_ns: Int64
) -> svk_status {
  answer { () throws(Failure) in try send(stream, data, size, timeout: timeout_ns) }
}

@inline(__always)
private func send(
  _ stream: OpaquePointer?, _ data: UnsafeRawPointer?, _ size: Int, timeout: Int64
) throws(Failure) {
  let token = Token(stream)
  guard Stream.exists(token) else { throw Failure.noSuch(.stream) }
  let bytes = try ByteView(state: data, size: size)
  guard try Stream.send(token, copying: bytes.start, bytes.count, timeout: timeout) else {
    throw Failure.noSuch(.stream)
  }
}

@implementation @_cdecl("svk_stream_send_owned")
public func svk_stream_send_owned(
  _ stream: OpaquePointer?, _ data: UnsafeMutableRawPointer?, _ size: Int, _ data_free: svk_free_fn?
) -> svk_status {
  var isTaken = false
  let status = answer { () throws(Failure) in
    let token = Token(stream)
    guard Stream.exists(token) else { throw Failure.noSuch(.stream) }
    let bytes = try ByteView(state: data, size: size)
    isTaken = true
    guard try Stream.send(token, owned: data, bytes.count, free: data_free) else { throw Failure.noSuch(.stream) }
  }
  if !isTaken { Stream.discard(owned: data, free: data_free) }
  return status
}

@implementation @_cdecl("svk_stream_finish")
public func svk_stream_finish(_ stream: OpaquePointer?) -> svk_status {
  with(stream, .stream, Stream.self) { stream throws(Failure) in try stream.finish() }
}

@implementation @_cdecl("svk_stream_destroy")
public func svk_stream_destroy(_ stream: OpaquePointer?) -> svk_status {
  answer { () throws(Failure) in try withdraw(stream, .stream, Stream.self).destroy() }
}
