import CPlatform

/// The monotonic clock, in nanoseconds from an arbitrary start.
package enum Clock {
  package static func now() -> UInt64 {
    var time = CPlatform.timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000_000 &+ UInt64(truncatingIfNeeded: time.tv_nsec)
  }

  static func timespec(nanoseconds: UInt64) -> timespec {
    CPlatform.timespec(
      tv_sec: time_t(truncatingIfNeeded: nanoseconds / 1_000_000_000),
      tv_nsec: Int(truncatingIfNeeded: nanoseconds % 1_000_000_000))
  }
}

/// When a wait gives up.
package enum Deadline {
  case never
  /// At this time of ``Clock``.
  case at(UInt64)

  /// A C timeout: nanoseconds from now, negative for ever. One that reaches past the clock's end is for ever too.
  package init(timeout: Int64) {
    guard timeout >= 0 else {
      self = .never
      return
    }
    let (end, overflow) = Clock.now().addingReportingOverflow(UInt64(timeout))
    // A pthread wait takes a signed number of seconds; what lies beyond it is not a time anybody waits for.
    self = overflow || end > UInt64(Int64.max) ? .never : .at(end)
  }

  package var hasPassed: Bool {
    if case .at(let end) = self { return Clock.now() >= end }
    return false
  }
}
