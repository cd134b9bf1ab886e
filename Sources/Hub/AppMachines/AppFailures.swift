package import Essentials

/// The failures of an app that count for its next pause: it crashed, could not be started, or overstayed.
///
/// They outlive the system. Otherwise each next one would launch an app at once that can't be started.
package struct AppFailures: Hashable, Sendable {
  /// Crashes in a row.
  package var crashCount: Int
  package var lastCrash: Instant?
  /// How often it overstayed, less the wakes that ended in time.
  package var overstayCount: Int
  /// Until when it isn't woken or launched; nil if it may be at once.
  package var pausedUntil: Instant?

  package init(
    crashCount: Int = 0, lastCrash: Instant? = nil, overstayCount: Int = 0,
    pausedUntil: Instant? = nil
  ) {
    self.crashCount = crashCount
    self.lastCrash = lastCrash
    self.overstayCount = overstayCount
    self.pausedUntil = pausedUntil
  }
}

extension AppMachine {
  /// The failures of an app that still count; nil if none does.
  package func failures(of id: AppID, now: Instant) -> AppFailures? {
    guard let app = apps[id] else { return nil }
    var failures = AppFailures(overstayCount: app.overstayCount)
    if let lastCrash = app.lastCrash, now - lastCrash <= limits.crashMemory {
      failures.crashCount = app.crashCount
      failures.lastCrash = lastCrash
    }
    if app.isPaused(at: now) { failures.pausedUntil = app.pausedUntil }
    return failures == AppFailures() ? nil : failures
  }

  /// Takes over failures from before the system was started again. Nothing was reported of the app yet.
  ///
  /// - Parameter failures: Its times were those of a calendar that may have been set since: no pause is longer than the
  ///   one that the app had.
  package mutating func restore(_ failures: AppFailures, of id: AppID, now: Instant) {
    guard let index = apps.index(forKey: id) else { return }
    // More doesn't make a pause longer.
    let crashCount = min(max(0, failures.crashCount), 64)
    let overstayCount = min(max(0, failures.overstayCount), max(0, limits.overstayCountMax - 1))
    if let lastCrash = failures.lastCrash, crashCount > 0, now - lastCrash <= limits.crashMemory {
      apps.values[index].crashCount = crashCount
      apps.values[index].lastCrash = min(lastCrash, now)
    }
    apps.values[index].overstayCount = overstayCount
    guard let pausedUntil = failures.pausedUntil else { return }
    let crashPause = crashCount > 0 ? limits.pause(afterCrashes: crashCount) : .zero
    let throttle = overstayCount > 0 ? limits.throttle(afterOverstays: overstayCount) : .zero
    let end = min(pausedUntil, now + max(crashPause, throttle))
    if end > now { apps.values[index].pausedUntil = end }
  }
}
