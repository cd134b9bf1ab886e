internal import DNSWire
internal import Essentials

/// Records of a killed process of this host, which end for the queries of this machine.
///
/// The cache begins empty, so goodbyes for them find nothing in it. Queries that the processes that
/// go on had begun before would keep them until ten seconds have passed without an answer.
extension DiscoveryMachine {
  /// Records that end at a time.
  struct Lapse: Sendable {
    var at: Instant
    var records: [Querier.LapsedRecord] = []
  }

  /// The time in which processes of this host can register a record again, and other hosts can
  /// answer that they have it, too: the first question is sent after at most 120 ms, and answered
  /// within 120 ms (RFC 6762, §5.2 and §6).
  static let lapseTime = TimeSpan.milliseconds(600)

  /// Ends the records of a withdrawn registration after ``lapseTime``, with others that wait.
  mutating func lapse(
    _ content: Responder.Content, name: DNSName,
    addedRecords: [(data: DNSRecordData, ttlSeconds: UInt32)] = [], now: Instant
  ) {
    let (records, interface) = responder.records(
      withdrawnWith: content, name: name, addedRecords: addedRecords)
    let due = now + Self.lapseTime
    lapses = lapses ?? Lapse(at: due)
    lapses?.at = due
    lapses?.records += records.map { .init(record: $0, interface: interface) }
  }

  /// Ends the records whose time has passed, except for those that are registered again.
  mutating func performLapses(now: Instant) {
    guard let due = lapses, due.at <= now else { return }
    lapses = nil
    let gone = due.records.filter { responder.isWithdrawn($0.record) }
    querier.handle(.lapsed(gone), now: now, into: &querierActions)
  }
}
