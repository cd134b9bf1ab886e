import Essentials

/// The time in which a machine was served. A process may be stopped, or a thread late, while
/// packets wait for it; in that time the absence of a packet doesn't mean that a beacon was silent.
///
/// A host calls a machine at least once per `heartbeat`. After a later call, the time since the
/// previous one is a stall, and counts as one heartbeat only. So a machine that is always called
/// late measures silence in calls: a delay of n seconds ends with the call n + 2 at the latest.
struct StallAwareClock: Sendable {
  /// How often a machine that waits for silence wants to be called.
  static let heartbeat = TimeSpan.seconds(1)
  /// How much later than that a call may be before it is a stall.
  static let lateness = TimeSpan.milliseconds(250)
  /// How long a machine has to be served after a stall before it believes in silence: packets that
  /// waited are handled meanwhile.
  static let settling = TimeSpan.seconds(1)

  /// The time served, on a time line of its own that starts at zero.
  private(set) var now = Instant.zero
  /// How often a call was late.
  private(set) var stallCount = 0
  private var lastCall: Instant?
  private var settledAt = Instant.zero

  /// Whether the packets that waited during a stall have been handled.
  var isSettled: Bool { now >= settledAt }

  /// The host called; an instant before the last call is ignored.
  mutating func advance(to instant: Instant) {
    defer { lastCall = max(lastCall ?? instant, instant) }
    guard let lastCall, instant > lastCall else { return }
    let passed = instant - lastCall
    guard passed > Self.heartbeat + Self.lateness else {
      now = now + passed
      return
    }
    stallCount += 1
    let wasSettled = isSettled
    now = now + Self.heartbeat
    // The packets that waited during the first of several stalls were handled before the second.
    if wasSettled { settledAt = now + Self.settling }
  }

  /// Starts at `instant`: no calls were due before, so that a long time without one is no stall.
  mutating func restart(at instant: Instant) { lastCall = instant }

  /// When the host has to call so that it isn't a stall.
  var nextHeartbeat: Instant { (lastCall ?? .zero) + Self.heartbeat }

  /// The time at which the host has to call for an event that is due at an instant of served time:
  /// that time, or the next heartbeat if it is earlier.
  func wake(for due: Instant) -> Instant {
    let wait = max(due, settledAt) - now
    return (lastCall ?? .zero) + min(max(wait, .zero), Self.heartbeat)
  }
}
