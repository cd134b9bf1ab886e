package import Essentials
import Glibc

extension Instant {
  /// The current time by the monotonic clock (clock_gettime(2)), which event loops use. It is the
  /// only clock of the hosts.
  package static var now: Instant {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
