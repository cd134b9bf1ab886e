package import Essentials

/// The constants of RFC 3927, §9. They are not configurable.
package enum LinkLocalConstants {
  /// PROBE_WAIT: the maximum delay before the first probe, so that hosts that are switched on
  /// together don't send at the same time.
  package static let probeWait = TimeSpan.seconds(1)
  /// PROBE_NUM: the number of probes.
  package static let probeCount = 3
  /// PROBE_MIN: the shortest pause between probes.
  package static let probeIntervalMin = TimeSpan.seconds(1)
  /// PROBE_MAX: the longest pause between probes.
  package static let probeIntervalMax = TimeSpan.seconds(2)
  /// ANNOUNCE_WAIT: the delay after the last probe before the address is claimed.
  package static let announceWait = TimeSpan.seconds(2)
  /// ANNOUNCE_NUM: the number of announcements.
  package static let announcementCount = 2
  /// ANNOUNCE_INTERVAL: the pause between announcements.
  package static let announceInterval = TimeSpan.seconds(2)
  /// MAX_CONFLICTS: after this many conflicts, new addresses are tried more slowly.
  package static let conflictsMax = 10
  /// RATE_LIMIT_INTERVAL: the minimum time between new addresses after ``conflictsMax`` conflicts.
  package static let rateLimitInterval = TimeSpan.seconds(60)
  /// DEFEND_INTERVAL: an address is defended at most once in this time; it is released at the next
  /// conflict.
  package static let defendInterval = TimeSpan.seconds(10)
  /// The minimum time between replies to requests for the address. A reply is broadcast, so one
  /// serves all requests of this time.
  package static let replyInterval = TimeSpan.milliseconds(100)
}
