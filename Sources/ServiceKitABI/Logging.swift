import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

@implementation @_cdecl("svk_set_log")
public func svk_set_log(
  _ log_or_null: svk_log_fn?, _ most_detailed_level: Int32, _ user_data: UnsafeMutableRawPointer?,
  _ user_data_free: svk_free_fn?
) -> svk_status {
  answer { () throws(Failure) in
    guard let function = log_or_null else { return Log.set(nil) }
    guard most_detailed_level >= SVK_LOG_ERROR, most_detailed_level <= SVK_LOG_DEBUG else {
      throw Failure(SVK_INVALID_ARGUMENT) { $0.append("the level is one of the SVK_LOG_ constants") }
    }
    Log.set(Log.Target(function, level: most_detailed_level, UserData(user_data, free: user_data_free)))
  }
}
