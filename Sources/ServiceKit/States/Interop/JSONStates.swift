#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension StatefulService where State: Encodable {
  /// A C `svk_service *` whose states are this service's as JSON: see ``exportedService(encoding:)``.
  public func exportedService(encoder: JSONEncoder) -> OpaquePointer {
    exportedService { state in (try? encoder.encode(state)).map { [UInt8]($0) } }
  }
}

extension StatefulService where State: Decodable {
  /// A service that follows a C `svk_service *` whose states are JSON: see
  /// ``init(cService:api:isolation:decoding:onStateChange:)``.
  public convenience init?(
    cService: OpaquePointer, api: API, isolation: (any Actor)? = nil, decoder: JSONDecoder,
    onStateChange: (@Sendable (State) -> Void)? = nil
  ) {
    self.init(
      cService: cService, api: api, isolation: isolation,
      decoding: { bytes in try? decoder.decode(State.self, from: Data(bytes)) }, onStateChange: onStateChange)
  }
}
