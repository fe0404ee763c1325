import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

@implementation @_cdecl("svk_service_observe")
public func svk_service_observe(
  _ service: OpaquePointer?, _ options: UnsafePointer<svk_observer_options>?,
  _ subscription: UnsafeMutablePointer<OpaquePointer?>?
) -> svk_status {
  subscription?.pointee = nil
  return with(service, .service, Service.self) { service throws(Failure) in
    let subscription = try output(subscription)
    let options = try Options.read(
      options, "svk_observer_options", smallest: UInt.bitWidth == 64 ? 72 : 40, defaults: svk_observer_options())
    guard options.flags & ~UInt32(SVK_OBSERVE_CURRENT) == 0 else {
      throw Failure.unknown("`flags`", Int64(options.flags))
    }
    let policy = try BufferPolicy(buffering: options.buffering, capacity: options.capacity)
    guard options.on_state != nil || options.delivery == SVK_DELIVER_PULL else { throw Failure.null("`on_state`") }
    let delivery = try readDelivery(options.delivery, options.dispatcher, allowsPull: true)
    let callbacks = Callbacks(
      onState: options.on_state, onFinish: options.on_finish, userData: options.user_data,
      userDataFree: options.user_data_free)
    let observation = Service.Observation(
      delivery: delivery, policy: policy, callbacks: callbacks,
      beginsWithCurrent: options.flags & UInt32(SVK_OBSERVE_CURRENT) != 0)
    try service.observe(observation) { token in subscription.pointee = token.pointer }
  }
}

@implementation @_cdecl("svk_subscription_cancel")
public func svk_subscription_cancel(_ subscription: OpaquePointer?) -> svk_status {
  cancel(subscription, mayWait: true)
}

@implementation @_cdecl("svk_subscription_cancel_nowait")
public func svk_subscription_cancel_nowait(_ subscription: OpaquePointer?) -> svk_status {
  cancel(subscription, mayWait: false)
}

private func cancel(_ subscription: OpaquePointer?, mayWait: Bool) -> svk_status {
  var status = SVK_OK
  let found = answer { () throws(Failure) in
    status = try withdraw(subscription, .subscription, Subscription.self).cancel(mayWait: mayWait)
  }
  return found == SVK_OK ? status : found
}

@implementation @_cdecl("svk_subscription_next")
public func svk_subscription_next(
  _ subscription: OpaquePointer?, _ timeout_ns: Int64, _ snapshot: UnsafeMutablePointer<OpaquePointer?>?,
  _ state: UnsafeMutablePointer<svk_state>?
) -> svk_status {
  state?.pointee = svk_state()
  snapshot?.pointee = nil
  return with(subscription, .subscription, Subscription.self) { subscription throws(Failure) in
    let snapshot = try output(snapshot)
    guard let state else { throw Failure.null("the out-parameter for the state") }
    let (token, view) = try subscription.next(timeout: timeout_ns)
    snapshot.pointee = token.pointer
    state.pointee = view
  }
}

@implementation @_cdecl("svk_subscription_next_copy")
public func svk_subscription_next_copy(
  _ subscription: OpaquePointer?, _ timeout_ns: Int64, _ buffer: UnsafeMutableRawPointer?, _ capacity: Int,
  _ size: UnsafeMutablePointer<Int>?, _ version: UnsafeMutablePointer<UInt64>?,
  _ dropped: UnsafeMutablePointer<UInt64>?
) -> svk_status {
  size?.pointee = 0
  version?.pointee = 0
  dropped?.pointee = 0
  var needed = 0
  let status = with(subscription, .subscription, Subscription.self) { subscription throws(Failure) in
    let capacity = try checkBuffer(buffer, capacity)
    let copied = try subscription.next(into: buffer, capacity: capacity, timeout: timeout_ns, needed: &needed)
    needed = copied.size
    version?.pointee = copied.version
    dropped?.pointee = copied.dropped
  }
  size?.pointee = needed
  return status
}

@implementation @_cdecl("svk_subscription_fd")
public func svk_subscription_fd(_ subscription: OpaquePointer?) -> Int32 {
  var descriptor: Int32 = -1
  _ = with(subscription, .subscription, Subscription.self) { subscription throws(Failure) in
    descriptor = try subscription.descriptor()
  }
  return descriptor
}

@implementation @_cdecl("svk_subscription_dropped")
public func svk_subscription_dropped(
  _ subscription: OpaquePointer?, _ total: UnsafeMutablePointer<UInt64>?
) -> svk_status {
  total?.pointee = 0
  return with(subscription, .subscription, Subscription.self) { subscription throws(Failure) in
    total?.pointee = subscription.dropped
  }
}
