internal import DNSWire
internal import Essentials

extension Responder {
  /// Sends goodbyes for a registration of another process of this host that could not send them
  /// itself (RFC 6762, §10.1), on all its links. Records that are registered here, too, stay.
  ///
  /// Goodbyes for records that several processes may have registered are delayed, because those may
  /// register them here soon: the PTR record of a type (RFC 6763, §9), and records that no service
  /// implies.
  mutating func withdraw(
    _ content: Content, name: DNSName, addedRecords: [(data: DNSRecordData, ttlSeconds: UInt32)],
    now: Instant
  ) {
    let (records, _) = records(withdrawnWith: content, name: name, addedRecords: addedRecords)
    let isRecord = if case .record = content { true } else { false }
    let common = records.filter { isRecord || $0.name.isServiceTypeListing }
    let others = records.filter { !isRecord && !$0.name.isServiceTypeListing }
    for link in links(of: Entry(content: content, name: name)) {
      links[existing: link].sayGoodbye(to: others, now: now)
      links[existing: link].withdrawLater(common, now: now)
    }
  }

  /// The records of a registration of another process, without those that are registered here,
  /// too, and the interface on which they were valid; nil for all.
  func records(
    withdrawnWith content: Content, name: DNSName,
    addedRecords: [(data: DNSRecordData, ttlSeconds: UInt32)]
  ) -> ([DNSRecord], InterfaceIndex?) {
    let entry = Entry(content: content, name: name)
    var sets = sets(of: entry, .host)
    sets += addedRecords.map { unique(name, $0.data, $0.ttlSeconds, entry.interface, .host) }
    return (sets.flatMap(\.records).filter(isWithdrawn), entry.interface)
  }

  /// Whether a record of another process is not registered here. A registration of the same name
  /// here has replaced all unique records of that name (RFC 6762, §10.2).
  func isWithdrawn(_ record: DNSRecord) -> Bool {
    !(record.flushesCache && store.hasOwn(named: record.name)) && !store.owns(record)
  }

  /// Schedules goodbyes for withdrawn records that no process has registered meanwhile.
  mutating func sayGoodbyeToWithdrawn(on link: MulticastLink, now: Instant) {
    guard let records = links[link]?.takeWithdrawn(now: now) else { return }
    links[existing: link].sayGoodbye(to: records.filter { !store.owns($0) }, now: now)
  }
}

extension DNSName {
  /// Whether it is `_services._dns-sd._udp` in some domain.
  fileprivate var isServiceTypeListing: Bool {
    labels.starts(with: DNSName.serviceTypes.labels.prefix(3))
  }
}
