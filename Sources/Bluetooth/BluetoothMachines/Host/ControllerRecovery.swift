import BluetoothInterface
import Essentials

/// Decides when a controller that failed is started again: the first time at once, then after pauses
/// that double.
struct ControllerRecovery: Sendable {
  enum Limits {
    /// The longest pause between two attempts to open the transport, so that a radio that is plugged
    /// in again is found soon.
    static let reopenDelayMax = TimeSpan.seconds(5)
    /// How long a controller must have been up for its next failure to count as the first.
    static let healthyAge = TimeSpan.seconds(30)
  }

  /// How often the controller failed since it was last in good health.
  private(set) var failureCount = 0
  /// Since when the controller is up.
  private var upSince: Instant?
  private var retry: (at: Instant, reason: HostError)?

  /// When `wake` should be called.
  var nextWake: Instant? { retry?.at }

  /// The transport is open; the controller is started next.
  mutating func transportOpened() {
    retry = nil
    upSince = nil
  }

  mutating func controllerStarted(now: Instant) { upSince = now }

  /// Whether a failure now would be the first in a row. One that comes soon after a start is one
  /// more in a row: a controller that starts and then fails each time must not be started without
  /// end.
  func isFirstFailure(now: Instant) -> Bool {
    failureCount == 0 || (upSince.map { now - $0 >= Limits.healthyAge } ?? false)
  }

  mutating func failed(now: Instant) {
    failureCount = isFirstFailure(now: now) ? 1 : failureCount + 1
    upSince = nil
  }

  /// Opens the transport again after a pause, because of `reason`.
  mutating func reopenLater(because reason: HostError, now: Instant) {
    let doublings = min(max(failureCount - 1, 0), 5)
    let pause = min(TimeSpan.seconds(1) * Int64(1 << doublings), Limits.reopenDelayMax)
    retry = (now + pause, reason)
  }

  /// Returns the reason if the transport is to be opened at `now`.
  mutating func wake(now: Instant) -> HostError? {
    guard let retry, retry.at <= now else { return nil }
    self.retry = nil
    return retry.reason
  }
}
