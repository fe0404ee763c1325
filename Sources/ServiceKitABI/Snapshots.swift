import CServiceKit

#if canImport(ServiceKitCore)
  import ServiceKitCore
#endif

@implementation @_cdecl("svk_snapshot_release")
public func svk_snapshot_release(_ snapshot: OpaquePointer?) -> svk_status {
  Snapshot.release(Token(snapshot)) ? SVK_OK : Failure.noSuch(.snapshot).status
}
