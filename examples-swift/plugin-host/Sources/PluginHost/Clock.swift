import CPluginClock
import CServiceKit
import ServiceKit

/// The plug-in's clock: its state is the number of seconds since it was made.
typealias Clock = StatefulService<UInt64, ClockAPI>

/// What the plug-in's clock can be asked to do.
struct ClockAPI: Sendable {
  /// Keeps the clock, and what it is made with, as long as this is used.
  private let service: CService

  init(_ service: CService) { self.service = service }

  func tick() {
    guard let api = svk_service_api(OpaquePointer(service.instance)) else { return }
    let clock = api.assumingMemoryBound(to: plugin_clock.self)
    clock.pointee.tick(clock)
  }
}

extension Container {
  /// Nil if what the plug-in offers cannot be understood.
  var clock: Factory<Clock?> {
    imported(PLUGIN_CLOCK_KEY, type: PLUGIN_CLOCK_TYPE) { service in
      Clock(cService: OpaquePointer(service.instance), api: ClockAPI(service), decoding: Clock.decode)
    }
  }
}

extension Clock {
  @Sendable static func decode(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
    guard bytes.count == MemoryLayout<plugin_time>.size else { return nil }
    return bytes.loadUnaligned(as: plugin_time.self).seconds
  }
}
