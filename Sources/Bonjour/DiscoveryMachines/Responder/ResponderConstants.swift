package import Essentials

/// The times and limits of a ``Responder`` (RFC 6762).
package enum ResponderConstants {
  /// The maximum delay before the first probe (§8.1).
  package static let probeWaitMax = TimeSpan.milliseconds(250)
  /// The pause after each probe (§8.1).
  package static let probeInterval = TimeSpan.milliseconds(250)
  /// The number of probes (§8.1).
  package static let probeCount = 3
  /// The time that the loser of a tie-break waits before it probes the same name again (§8.2).
  package static let tieBreakWait = TimeSpan.seconds(1)
  /// After this many conflicts within ``conflictWindow``, the host pauses for ``conflictPause``
  /// between attempts, until none has occurred for that window (§8.1).
  package static let conflictsMax = 15
  /// See ``conflictsMax``.
  package static let conflictWindow = TimeSpan.seconds(10)
  /// See ``conflictsMax``.
  package static let conflictPause = TimeSpan.seconds(5)

  /// The number of announcements (§8.3).
  package static let announcementCount = 2
  /// The pause between announcements (§8.3).
  package static let announcementInterval = TimeSpan.seconds(1)
  /// The maximum number of changes of a record that are announced within ``updateWindow`` (§8.4).
  package static let updatesMax = 10
  /// See ``updatesMax``.
  package static let updateWindow = TimeSpan.seconds(60)
  /// The time that goodbye records wait for others, to be sent in the same packet.
  package static let goodbyeWait = TimeSpan.milliseconds(10)

  /// The minimum delay of an answer that other hosts may give, too (§6).
  package static let sharedDelayMin = TimeSpan.milliseconds(20)
  /// The maximum delay of an answer that other hosts may give, too (§6).
  package static let sharedDelayMax = TimeSpan.milliseconds(120)
  /// The minimum wait for known answers in the next packet of a truncated query (§7.2).
  package static let truncatedWaitMin = TimeSpan.milliseconds(400)
  /// The maximum wait for known answers in the next packet of a truncated query (§7.2).
  package static let truncatedWaitMax = TimeSpan.milliseconds(500)
  /// The maximum number of truncated queries that wait for more known answers. Others are answered
  /// without waiting, to bound the memory.
  package static let truncatedQueriesMax = 64
  /// The minimum time between multicasts of a record (§6).
  package static let multicastInterval = TimeSpan.seconds(1)
  /// The minimum time between multicasts of a record to defend a name against probes (§6), or to keep
  /// it in caches although another program has withdrawn it.
  package static let defenceInterval = TimeSpan.milliseconds(250)

  /// The period of ``unicastAddressesMax`` and ``unicastResponsesMax``.
  package static let unicastWindow = TimeSpan.seconds(1)
  /// The maximum number of addresses that get unicast responses within ``unicastWindow``, on one
  /// link.
  package static let unicastAddressesMax = 128
  /// The maximum number of unicast responses to one address within ``unicastWindow``. Additional
  /// responses are multicast, as §5.4 allows, and so at most once a second. Additional legacy
  /// queries (§6.7), which cannot be answered by multicast, get no answer, unless they come from
  /// this host.
  package static let unicastResponsesMax = 200

  /// The TTL of records that depend on a host's name: addresses, SRV, reverse mappings (§10).
  package static let hostTTLSeconds: UInt32 = 120
  /// The TTL of all other records (§10).
  package static let otherTTLSeconds: UInt32 = 4500
  /// The maximum TTL in an answer to a legacy query (§6.7).
  package static let legacyTTLSecondsMax: UInt32 = 10
}
