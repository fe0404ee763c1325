import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

// MARK: - Resolving

@implementation @_cdecl("svk_resolve")
public func svk_resolve(
  _ container: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ handle: UnsafeMutablePointer<OpaquePointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let handle = try output(handle)
    handle.pointee = try Resolve.handle(Token(container), KeyView(ByteView(key: key))).pointer
  }
}

@implementation @_cdecl("svk_resolve_with")
public func svk_resolve_with(
  _ container: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ parameter: UnsafeRawPointer?, _ size: Int,
  _ handle: UnsafeMutablePointer<OpaquePointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let handle = try output(handle)
    handle.pointee = try Resolve.handle(
      Token(container), KeyView(ByteView(key: key)), parameter: ByteView(parameter: parameter, size: size), type: nil
    ).pointer
  }
}

@implementation @_cdecl("svk_resolve_typed")
public func svk_resolve_typed(
  _ container: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ type: UnsafePointer<CChar>?,
  _ handle: UnsafeMutablePointer<OpaquePointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let handle = try output(handle)
    handle.pointee = try Resolve.handle(
      Token(container), KeyView(ByteView(key: key)), parameter: .empty, type: ByteView(key: type)
    ).pointer
  }
}

@implementation @_cdecl("svk_key_intern")
public func svk_key_intern(
  _ name: UnsafePointer<CChar>?, _ key: UnsafeMutablePointer<OpaquePointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let key = try output(key)
    key.pointee = try InternedKeys.intern(ByteView(key: name)).pointer
  }
}

@implementation @_cdecl("svk_resolve_key")
public func svk_resolve_key(
  _ container: OpaquePointer?, _ key: OpaquePointer?, _ handle: UnsafeMutablePointer<OpaquePointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let handle = try output(handle)
    guard let key = InternedKeys.key(Token(key)) else {
      throw Failure(SVK_INVALID_HANDLE) { $0.append("no such key: make one with svk_key_intern") }
    }
    handle.pointee = try Resolve.handle(Token(container), key).pointer
  }
}

@implementation @_cdecl("svk_instance")
public func svk_instance(_ handle: OpaquePointer?) -> UnsafeMutableRawPointer? {
  LeaseTable.value(Token(handle))
}

@implementation @_cdecl("svk_release")
public func svk_release(_ handle: OpaquePointer?) -> svk_status {
  if LeaseTable.release(Token(handle)) { return SVK_OK }
  return Failure(SVK_INVALID_HANDLE) {
    $0.append("svk_release: no such handle: it is NULL, released already, or a token of another kind")
  }.status
}

@implementation @_cdecl("svk_pin")
public func svk_pin(
  _ container: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let instance = try output(instance)
    instance.pointee = try Resolve.pin(Token(container), KeyView(ByteView(key: key)))
  }
}

// MARK: - Inside a factory

@implementation @_cdecl("svk_require")
public func svk_require(
  _ resolver: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let instance = try output(instance)
    instance.pointee = try Require.instance(Token(resolver), ByteView(key: key), parameter: .empty)
  }
}

@implementation @_cdecl("svk_require_with")
public func svk_require_with(
  _ resolver: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ parameter: UnsafeRawPointer?, _ size: Int,
  _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> svk_status {
  answer { () throws(Failure) in
    let instance = try output(instance)
    instance.pointee = try Require.instance(
      Token(resolver), ByteView(key: key), parameter: ByteView(parameter: parameter, size: size))
  }
}

@implementation @_cdecl("svk_resolver_parameter")
public func svk_resolver_parameter(
  _ resolver: OpaquePointer?, _ data: UnsafeMutablePointer<UnsafeRawPointer?>?, _ size: UnsafeMutablePointer<Int>?
) -> svk_status {
  size?.pointee = 0
  return answer { () throws(Failure) in
    let data = try output(data)
    let parameter = try Require.parameter(Token(resolver))
    data.pointee = parameter.start
    size?.pointee = parameter.count
  }
}

@implementation @_cdecl("svk_resolver_container")
public func svk_resolver_container(_ resolver: OpaquePointer?) -> OpaquePointer? {
  Require.container(Token(resolver))?.pointer
}

extension ByteView {
  /// Longer parameters are refused: they are copied into caches and compared byte by byte.
  private static let longestParameter = 65_536

  fileprivate init(parameter: UnsafeRawPointer?, size: Int) throws(Failure) {
    try self.init(data: parameter, size: size)
    guard size >= 0, size <= ByteView.longestParameter else {
      throw Failure(SVK_INVALID_ARGUMENT) { $0.append("a parameter has at most 65536 bytes; pass a pointer to more") }
    }
    if size == 0 { self = .empty }
  }
}
