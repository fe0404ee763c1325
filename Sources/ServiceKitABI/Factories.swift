import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

@implementation @_cdecl("svk_register")
public func svk_register(
  _ container: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ options: UnsafePointer<svk_factory_options>?
) -> svk_status {
  answer { () throws(Failure) in try register(container, key, context: nil, options) }
}

@implementation @_cdecl("svk_register_for")
public func svk_register_for(
  _ container: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ context: UnsafePointer<CChar>?,
  _ options: UnsafePointer<svk_factory_options>?
) -> svk_status {
  answer { () throws(Failure) in
    guard let context else { throw Failure.null("the context") }
    try register(container, key, context: ContextList.parseOne(ByteView(cString: context)), options)
  }
}

@implementation @_cdecl("svk_unregister")
public func svk_unregister(_ container: OpaquePointer?, _ key: UnsafePointer<CChar>?) -> svk_status {
  answer { () throws(Failure) in
    try withContainer(container) { container throws(Failure) in try container.unregister(ByteView(key: key)) }
  }
}

@implementation @_cdecl("svk_reset")
public func svk_reset(_ container: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ what: UInt32) -> svk_status {
  answer { () throws(Failure) in
    try withContainer(container) { container throws(Failure) in
      let what = try Reset(what)
      try container.reset(
        ByteView(key: key), registrations: what.registrations, contexts: what.contexts, scopes: what.scopes)
    }
  }
}

@implementation @_cdecl("svk_decorate")
public func svk_decorate(
  _ container: OpaquePointer?, _ key_or_null: UnsafePointer<CChar>?, _ decorator: svk_decorator_fn?,
  _ user_data: UnsafeMutableRawPointer?, _ user_data_free: svk_free_fn?
) -> svk_status {
  answer { () throws(Failure) in
    try withContainer(container) { container throws(Failure) in
      let key = key_or_null == nil ? nil : try ByteView(key: key_or_null)
      try container.decorate(key, decorator.map { CDecorator($0, UserData(user_data, free: user_data_free)) })
    }
  }
}

@implementation @_cdecl("svk_scope_create")
public func svk_scope_create(
  _ name: UnsafePointer<CChar>?, _ scope: UnsafeMutablePointer<OpaquePointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let scope = try output(scope)
    scope.pointee = try CustomScope.create(ByteView(key: name)).pointer
  }
}

@implementation @_cdecl("svk_scope_reset")
public func svk_scope_reset(_ scope: OpaquePointer?) -> svk_status {
  answer { () throws(Failure) in try CustomScope.reset(Token(scope)) }
}

@implementation @_cdecl("svk_scope_destroy")
public func svk_scope_destroy(_ scope: OpaquePointer?) -> svk_status {
  answer { () throws(Failure) in try CustomScope.destroy(Token(scope)) }
}

@implementation @_cdecl("svk_singleton_reset")
public func svk_singleton_reset(_ key_or_null_for_all: UnsafePointer<CChar>?) -> svk_status {
  answer { () throws(Failure) in
    try Singletons.reset(key_or_null_for_all == nil ? nil : ByteView(key: key_or_null_for_all))
  }
}

private func register(
  _ container: OpaquePointer?, _ key: UnsafePointer<CChar>?, context: OwnedBytes?,
  _ options: UnsafePointer<svk_factory_options>?
) throws(Failure) {
  try withContainer(container) { container throws(Failure) in
    let key = try ByteView(key: key)
    try container.register(key, registration(options, context: context))
  }
}

/// The size of `svk_factory_options` in version 1.0, for good, whatever is added to it.
private let smallestOptions = UInt.bitWidth == 64 ? 80 : 48

private func registration(
  _ pointer: UnsafePointer<svk_factory_options>?, context: OwnedBytes?
) throws(Failure) -> Registration {
  let options = try Options.read(
    pointer, "svk_factory_options", smallest: smallestOptions, defaults: svk_factory_options())
  guard let create = options.create else { throw Failure.null("svk_factory_options.create") }
  guard options.flags & ~UInt32(SVK_FACTORY_CACHE_BY_PARAMETER) == 0 else {
    throw Failure(SVK_INVALID_ARGUMENT) { $0.append("svk_factory_options.flags has unknown bits") }
  }
  guard let scope = ScopeKind(rawValue: options.scope) else {
    throw Failure(SVK_INVALID_ARGUMENT) { text in
      text.append("svk_factory_options.scope is ")
      text.append(Int64(options.scope))
      text.append(", which is none of the SVK_SCOPE_ constants")
    }
  }
  var type: OwnedBytes?
  if options.type != nil {
    let name = try ByteView(key: options.type)
    try KeyRules.check(name, "type")
    type = OwnedBytes(name)
  }
  return CRegistration(
    create: create, destroy: options.destroy,
    userData: UserData(options.user_data, free: options.user_data_free), scope: scope,
    customScope: scope == .custom ? try CustomScope.named(Token(options.custom_scope)) : nil,
    timeToLive: options.time_to_live_ns,
    cachesByParameter: options.flags & UInt32(SVK_FACTORY_CACHE_BY_PARAMETER) != 0, type: type,
    requiredKeys: try requiredKeys(options.required_keys), context: context)
}

private func requiredKeys(_ first: UnsafePointer<UnsafePointer<CChar>?>?) throws(Failure) -> [OwnedBytes] {
  guard var next = first else { return [] }
  var keys: [OwnedBytes] = []
  while let key = next.pointee {
    let name = try ByteView(key: key)
    try KeyRules.check(name, "required key")
    keys.append(OwnedBytes(name))
    next += 1
  }
  return keys
}
