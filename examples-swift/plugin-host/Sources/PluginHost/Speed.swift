import CPluginClock
import CServiceKit
import ServiceKit

/// How many seconds a tick of the plug-in's clock is. Swift's to change, and C's to follow.
typealias Speed = StatefulService<UInt32, SpeedAPI>

struct SpeedAPI: Sendable {
  var set: @Sendable (_ secondsPerTick: UInt32) -> Void
}

extension Container {
  var speed: Factory<Speed> {
    self {
      let stream = StateStream<UInt32>()
      return Speed(state: 1, stream: stream, api: SpeedAPI(set: { stream.send($0) }))
    }.cached
  }

  /// Lets C resolve the speed, as a service of C.
  func exportSpeed() {
    export(
      \.speed, as: PLUGIN_SPEED_KEY, type: PLUGIN_SPEED_TYPE,
      instance: { UnsafeMutableRawPointer($0.exportedService(encoding: Speed.encode)) },
      destroy: { svk_service_close(OpaquePointer($0)) })
  }
}

extension Speed {
  @Sendable static func encode(_ secondsPerTick: UInt32) -> [UInt8]? {
    withUnsafeBytes(of: plugin_speed(seconds_per_tick: secondsPerTick)) { [UInt8]($0) }
  }
}
