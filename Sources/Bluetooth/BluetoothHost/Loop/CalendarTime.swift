package import Essentials
package import EventLoop
import Glibc

extension HostLoop {
  /// The default implementation returns the system's clock.
  package var calendarTime: Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    // From 1 January 1970, where Unix begins to count.
    return Double(time.tv_sec - 978_307_200) + Double(time.tv_nsec) / 1e9
  }
}

extension HostClient {
  /// The calendar time of the host in seconds since 1 January 2001, UTC, for timestamps that apps
  /// see.
  package var calendarTime: Double { host.driver.calendarTime }

  /// The current time of the host's event loop. Only on the event loop.
  package var now: Instant { host.driver.now }

  /// Runs a closure on the host's event loop, after those enqueued earlier. May be called from any
  /// thread.
  package func execute(_ work: @escaping @Sendable () -> Void) { host.driver.execute(work) }

  /// Creates a timer on the host's event loop. Only on the event loop.
  package func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    host.driver.makeTimer(onFire: onFire)
  }
}
