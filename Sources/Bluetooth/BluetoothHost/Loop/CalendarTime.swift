package import Essentials
package import EventLoop
import Glibc

extension HostLoop {
  /// By default the system's clock.
  package var calendarTime: Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    // From 1 January 1970, where Unix begins to count.
    return Double(time.tv_sec - 978_307_200) + Double(time.tv_nsec) / 1e9
  }
}

extension HostClient {
  /// The host's calendar time in seconds since 1 January 2001, UTC: for time stamps that apps see.
  package var calendarTime: Double { host.driver.calendarTime }

  /// The time by the host's event loop. On the event loop only.
  package var now: Instant { host.driver.now }

  /// Runs a closure on the host's event loop, after those enqueued earlier. From any thread.
  package func execute(_ work: @escaping @Sendable () -> Void) { host.driver.execute(work) }

  /// Makes a timer of the host's event loop. On the event loop only.
  package func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    host.driver.makeTimer(onFire: onFire)
  }
}
