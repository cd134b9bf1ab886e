public import Essentials

/// The constants of RFC 3927, §9, by its names; they are not meant to be configured.
public enum LinkLocalConstants {
  /// PROBE_WAIT: the longest pause before the first probe, so that hosts that are switched on
  /// together don't speak together.
  public static let probeWait = TimeSpan.seconds(1)
  /// PROBE_NUM: how many probes are sent.
  public static let probeCount = 3
  /// PROBE_MIN: the shortest pause between probes.
  public static let probeIntervalMin = TimeSpan.seconds(1)
  /// PROBE_MAX: the longest pause between probes.
  public static let probeIntervalMax = TimeSpan.seconds(2)
  /// ANNOUNCE_WAIT: the silence after the last probe that makes the address ours.
  public static let announceWait = TimeSpan.seconds(2)
  /// ANNOUNCE_NUM: how many announcements are sent.
  public static let announcementCount = 2
  /// ANNOUNCE_INTERVAL: the pause between announcements.
  public static let announceInterval = TimeSpan.seconds(2)
  /// MAX_CONFLICTS: after this many conflicts, new addresses are tried more slowly.
  public static let conflictsMax = 10
  /// RATE_LIMIT_INTERVAL: then one new address in this time.
  public static let rateLimitInterval = TimeSpan.seconds(60)
  /// DEFEND_INTERVAL: an address is defended once in this time; it is given up at the next
  /// conflict.
  public static let defendInterval = TimeSpan.seconds(10)
  /// The shortest pause between replies to requests for the address. A reply is broadcast, so one
  /// serves all, and a flood of requests is not answered with another.
  public static let replyInterval = TimeSpan.milliseconds(100)
}
