package import Essentials
import Glibc

/// A timer that fires once, at the time that was set last. Used on its loop only.
package protocol LoopTimer: AnyObject {
  /// Sets the time, instead of any time set before. A past time fires at once.
  func set(_ time: Instant)
  /// Cancels the timer.
  func cancel()
}

extension Instant {
  /// The current time by the monotonic clock (clock_gettime(2)), which event loops use. It is the
  /// only clock of the hosts.
  package static var now: Instant {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
