import Essentials
package import EventLoop
import Glibc

/// Reports to the service manager that an event loop works, so that the manager restarts a program whose loop
/// hangs (sd_watchdog_enabled(3)).
///
/// It reports until it is released. It may be used from any thread.
package final class ServiceWatchdog: Sendable {
  private let beat: LoopConfined<Beat>
  private let loop: EpollLoop

  /// - Parameters:
  ///   - limit: How long the service manager waits for a report. The watchdog reports twice in this time.
  ///   - loop: The event loop that is watched.
  ///   - report: Called on the loop.
  init(limit: TimeSpan, on loop: EpollLoop, report: @escaping @Sendable () -> Void) {
    self.loop = loop
    let half = TimeSpan(nanoseconds: max(1, limit.nanoseconds / 2))
    beat = LoopConfined(Beat(half, on: loop, report), to: loop)
    loop.execute { [beat] in beat.value.fire() }
  }

  deinit { loop.execute { [beat] in beat.value.stop() } }

  private final class Beat {
    private let interval: TimeSpan
    private let loop: EpollLoop
    private let report: @Sendable () -> Void
    private var timer: (any LoopTimer)?

    init(_ interval: TimeSpan, on loop: EpollLoop, _ report: @escaping @Sendable () -> Void) {
      self.interval = interval
      self.loop = loop
      self.report = report
    }

    func fire() {
      report()
      let timer = timer ?? loop.makeTimer { [weak self] in self?.fire() }
      self.timer = timer
      timer.set(.now + interval)
    }

    func stop() {
      timer?.cancel()
      timer = nil
    }
  }
}

extension ServiceManager {
  /// Begins to report that a loop works; nil if the service manager doesn't expect it from this process.
  ///
  /// - Parameters:
  ///   - loop: The event loop that is watched.
  ///   - environment: The value of an environment variable.
  package static func watch(
    _ loop: EpollLoop = .shared,
    environment: (String) -> String? = ProcessEnvironment.value
  ) -> ServiceWatchdog? {
    guard let name = environment("NOTIFY_SOCKET"), let limit = watchdogLimit(environment) else {
      return nil
    }
    return ServiceWatchdog(limit: limit, on: loop) { notify("WATCHDOG=1", at: name) }
  }

  /// How long the service manager waits for a report; nil without a limit, and if the variables are another
  /// process's, from which this one inherited them.
  static func watchdogLimit(_ environment: (String) -> String?) -> TimeSpan? {
    guard let text = environment("WATCHDOG_USEC"), let microseconds = UInt64(text),
      microseconds > 0, microseconds < .max
    else { return nil }
    if let process = environment("WATCHDOG_PID"), Int32(process) != getpid() { return nil }
    return .microseconds(Int64(clamping: microseconds))
  }
}
