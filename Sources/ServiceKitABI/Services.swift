import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

@implementation @_cdecl("svk_service_create")
public func svk_service_create(
  _ options: UnsafePointer<svk_service_options>?, _ service: UnsafeMutablePointer<OpaquePointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let service = try output(service)
    let options = try Options.read(
      options, "svk_service_options", smallest: UInt.bitWidth == 64 ? 88 : 48, defaults: svk_service_options())
    guard options.flags & ~UInt32(SVK_SERVICE_SKIP_EQUAL) == 0 else {
      throw Failure.unknown("`flags`", Int64(options.flags))
    }
    let initial = try ByteView(state: options.initial, size: options.initial_size)
    let delivery = try readDelivery(options.delivery, options.dispatcher, allowsPull: false)
    var engineOptions = Service.Options()
    if let stream = options.stream {
      engineOptions.stream = TokenTable.object(Token(stream), .stream, Stream.self)
      guard engineOptions.stream != nil else { throw Failure.noSuch(.stream) }
    }
    engineOptions.api = options.api
    engineOptions.initial = initial.start
    engineOptions.initialSize = initial.count
    engineOptions.skipsEqual = options.flags & UInt32(SVK_SERVICE_SKIP_EQUAL) != 0
    let callbacks = Callbacks(
      onState: options.on_state, onFinish: options.on_finish, userData: options.user_data,
      userDataFree: options.user_data_free)
    try Service.create(engineOptions, delivery, callbacks) { token in service.pointee = token.pointer }
  }
}

@implementation @_cdecl("svk_service_close")
public func svk_service_close(_ service: OpaquePointer?) -> svk_status {
  var status = SVK_OK
  let found = answer { () throws(Failure) in
    status = try withdraw(service, .service, Service.self).close()
  }
  return found == SVK_OK ? status : found
}

@implementation @_cdecl("svk_service_api")
public func svk_service_api(_ service: OpaquePointer?) -> UnsafeRawPointer? {
  var api: UnsafeRawPointer?
  _ = with(service, .service, Service.self) { service throws(Failure) in api = service.api }
  return api
}

@implementation @_cdecl("svk_service_read")
public func svk_service_read(
  _ service: OpaquePointer?, _ buffer: UnsafeMutableRawPointer?, _ capacity: Int, _ size: UnsafeMutablePointer<Int>?,
  _ version: UnsafeMutablePointer<UInt64>?
) -> svk_status {
  size?.pointee = 0
  version?.pointee = 0
  var needed = 0
  let status = with(service, .service, Service.self) { service throws(Failure) in
    let capacity = try checkBuffer(buffer, capacity)
    let reading = try service.read(into: buffer, capacity: capacity, needed: &needed)
    needed = reading.size
    version?.pointee = reading.version
  }
  size?.pointee = needed
  return status
}

@implementation @_cdecl("svk_service_acquire")
public func svk_service_acquire(
  _ service: OpaquePointer?, _ snapshot: UnsafeMutablePointer<OpaquePointer?>?,
  _ state: UnsafeMutablePointer<svk_state>?
) -> svk_status {
  state?.pointee = svk_state()
  snapshot?.pointee = nil
  return with(service, .service, Service.self) { service throws(Failure) in
    let snapshot = try output(snapshot)
    guard let state else { throw Failure.null("the out-parameter for the state") }
    let (token, view) = service.acquire()
    snapshot.pointee = token.pointer
    state.pointee = view
  }
}

@implementation @_cdecl("svk_service_wait")
public func svk_service_wait(
  _ service: OpaquePointer?, _ after_version: UInt64, _ timeout_ns: Int64, _ version: UnsafeMutablePointer<UInt64>?
) -> svk_status {
  version?.pointee = 0
  return with(service, .service, Service.self) { service throws(Failure) in
    let now = try service.wait(after: after_version, timeout: timeout_ns)
    version?.pointee = now
  }
}
