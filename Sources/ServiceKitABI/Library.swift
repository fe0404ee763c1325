import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

/// The version, as text. ``svk_version()`` has it from the header; a test sees that the two agree.
let versionString: StaticString = "1.0.0"

@implementation @_cdecl("svk_version")
public func svk_version() -> UInt32 {
  UInt32(SVK_VERSION_MAJOR) << 16 | UInt32(SVK_VERSION_MINOR) << 8 | UInt32(SVK_VERSION_PATCH)
}

@implementation @_cdecl("svk_version_string")
public func svk_version_string() -> UnsafePointer<CChar>? {
  UnsafeRawPointer(versionString.utf8Start).assumingMemoryBound(to: CChar.self)
}

@implementation @_cdecl("svk_constant")
public func svk_constant(_ name: UnsafePointer<CChar>?, _ value: UnsafeMutablePointer<Int64>?) -> svk_status {
  value?.pointee = 0
  return answer { () throws(Failure) in
    guard let value else { throw Failure.null("the out-parameter for the value") }
    let name = try ByteView(key: name)
    guard let found = Constants.value(name) else {
      throw Failure(SVK_NOT_FOUND) { text in
        text.append("servicekit.h has no constant of that name: ")
        text.append(name)
      }
    }
    value.pointee = found
  }
}

@implementation @_cdecl("svk_status_name")
public func svk_status_name(_ status: svk_status) -> UnsafePointer<CChar>? { Constants.statusName(status) }

@implementation @_cdecl("svk_last_error")
public func svk_last_error() -> UnsafePointer<CChar>? { Failure.lastWords }
