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
    let entry = Entry(content: content, name: name)
    var sets = sets(of: entry, .host)
    sets += addedRecords.map { unique(name, $0.data, $0.ttlSeconds, entry.interface, .host) }
    // A registration of the same name here has replaced all records of that name (§10.2).
    sets.removeAll { $0.isNegative || !$0.isShared && store.hasOwn(named: $0.name) }
    let records = sets.flatMap(\.records).filter { !store.owns($0) }
    let isRecord = if case .record = content { true } else { false }
    let common = records.filter { isRecord || $0.name.isServiceTypeListing }
    let others = records.filter { !isRecord && !$0.name.isServiceTypeListing }
    for link in links(of: entry) {
      links[existing: link].sayGoodbye(to: others, now: now)
      links[existing: link].withdrawLater(common, now: now)
    }
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
