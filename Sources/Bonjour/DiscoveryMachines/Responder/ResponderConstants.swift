public import Essentials

/// The times and bounds by which a ``Responder`` works (RFC 6762).
public enum ResponderConstants {
  /// The longest pause before the first probe (§8.1).
  public static let probeWaitMax = TimeSpan.milliseconds(250)
  /// The pause after each probe (§8.1).
  public static let probeInterval = TimeSpan.milliseconds(250)
  /// How many probes are sent (§8.1).
  public static let probeCount = 3
  /// How long the loser of a tie-break waits before it probes the same name again (§8.2).
  public static let tieBreakWait = TimeSpan.seconds(1)
  /// After this many conflicts within ``conflictWindow``, the host pauses for ``conflictPause``
  /// between attempts, until none has occurred for that window (§8.1).
  public static let conflictsMax = 15
  /// See ``conflictsMax``.
  public static let conflictWindow = TimeSpan.seconds(10)
  /// See ``conflictsMax``.
  public static let conflictPause = TimeSpan.seconds(5)

  /// How often records are announced (§8.3).
  public static let announcementCount = 2
  /// The pause between announcements (§8.3).
  public static let announcementInterval = TimeSpan.seconds(1)
  /// How many changes of a record are announced within ``updateWindow`` (§8.4).
  public static let updatesMax = 10
  /// See ``updatesMax``.
  public static let updateWindow = TimeSpan.seconds(60)
  /// How long goodbyes wait for others to share their packet.
  public static let goodbyeWait = TimeSpan.milliseconds(10)
  /// How long a withdrawn type waits for other processes of this host to register a service of it
  /// again: longer than they take to find the new owner and to probe.
  public static let sharedGoodbyeWait = TimeSpan.seconds(3)

  /// The shortest delay of an answer that others may give too (§6).
  public static let sharedDelayMin = TimeSpan.milliseconds(20)
  /// The longest delay of an answer that others may give too (§6).
  public static let sharedDelayMax = TimeSpan.milliseconds(120)
  /// The shortest wait for known answers that are in the asker's next packet (§7.2).
  public static let truncatedWaitMin = TimeSpan.milliseconds(400)
  /// The longest wait for known answers that are in the asker's next packet (§7.2).
  public static let truncatedWaitMax = TimeSpan.milliseconds(500)
  /// How many truncated queries wait for more known answers at once. Others are answered without
  /// them, so that a flood of such queries costs no more memory than this.
  public static let truncatedQueriesMax = 64
  /// How long a record is not multicast again (§6).
  public static let multicastInterval = TimeSpan.seconds(1)
  /// The same for an answer to a probe, which defends a name (§6).
  public static let defenceInterval = TimeSpan.milliseconds(250)

  /// The time span of ``unicastAddressesMax`` and ``unicastResponsesMax``.
  public static let unicastWindow = TimeSpan.seconds(1)
  /// How many addresses get unicast responses within ``unicastWindow``, on one link.
  public static let unicastAddressesMax = 128
  /// How many unicast responses one address gets within ``unicastWindow``. Further ones are
  /// multicast, as §5.4 allows, and so at most once a second. Further legacy queries (§6.7), which
  /// cannot be answered by multicast, get no answer, unless they come from this host.
  public static let unicastResponsesMax = 200

  /// How long what depends on a host's name is valid: addresses, SRV, reverse mappings (§10).
  public static let hostTTLSeconds: UInt32 = 120
  /// How long everything else is valid (§10).
  public static let otherTTLSeconds: UInt32 = 4500
  /// The largest TTL of an answer to a legacy query (§6.7).
  public static let legacyTTLSecondsMax: UInt32 = 10
}
