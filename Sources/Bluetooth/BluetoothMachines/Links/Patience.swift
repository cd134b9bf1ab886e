import Essentials

/// How long a client may hold up the confirmations of indications that other clients have handled.
///
/// The time is for the sum of all indications: a client that takes some seconds for each would otherwise
/// take from the others nearly all of theirs. It is restored slowly, so that in the long run others wait
/// for a slow client for a twelfth of the time at most.
struct Patience: Sendable {
  enum Limits {
    static let total: TimeSpan = .seconds(5)
    /// A second is restored in this number of seconds.
    static let restoringFactor: Int64 = 12
    /// What must be restored before the client is waited for again.
    static let low: TimeSpan = .milliseconds(2_500)
    /// How much later than the first client another one may handle an indication without that being
    /// counted: clients of nearly the same speed hold up no other.
    static let grace: TimeSpan = .milliseconds(50)
  }

  private var left = Limits.total
  /// Until when `left` counts what was spent and restored.
  private var countedUntil = Instant.zero
  /// Since when the client holds others up; may be in the future.
  private var since: Instant?
  /// Whether it has held others up for too long, and nothing waits for it.
  private(set) var isSpent = false

  /// When others have waited for long enough; nil if none waits.
  var deadline: Instant? { isSpent ? nil : since.map { max($0, countedUntil) + left } }

  /// Since when the client holds others up from now on; nil if it doesn't.
  mutating func holds(since new: Instant?, now: Instant) {
    if since == nil, new == nil { return }
    count(until: now)
    since = new
  }

  /// Whether the time is over just now.
  mutating func expire(now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    count(until: now)
    isSpent = true
    since = nil
    return true
  }

  /// The client has caught up: it is waited for again if there is enough time for that.
  mutating func restore(now: Instant) {
    guard isSpent else { return }
    count(until: now)
    if left >= Limits.low { isSpent = false }
  }

  private mutating func count(until now: Instant) {
    let start = min(max(since ?? now, countedUntil), now)
    if start > countedUntil {
      // Nothing is lost beyond the total, which an hour restores sixty times.
      let idle = min(start - countedUntil, .seconds(3_600))
      left = min(left + .nanoseconds(idle.nanoseconds / Limits.restoringFactor), Limits.total)
    }
    left = max(.nanoseconds(left.nanoseconds - (now - start).nanoseconds), .zero)
    countedUntil = max(now, countedUntil)
  }
}
