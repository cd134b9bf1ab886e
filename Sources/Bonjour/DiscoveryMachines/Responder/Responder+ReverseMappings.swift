internal import DNSWire
internal import Essentials

/// The names of the host's addresses, which another responder of the machine may answer for.
///
/// Avahi and other responders consider the mapping of an address to a name their own, and take another name for the
/// host if anyone multicasts another one. So these records are sent in answers only, after the time in which others
/// answer, and not while another one has been heard.
extension Responder {
  /// Whether a set maps an address of the host to its name.
  func isReverseMapping(_ set: RecordSet) -> Bool {
    set.type == .ptr && set.owners.first == .host
  }

  /// Notes a name that another responder has for one of the host's addresses, until its time is over.
  mutating func noteMapping(_ record: DNSRecord, on link: MulticastLink, now: Instant) {
    guard record.type == .ptr, case .ptr(let other) = record.data, record.recordClass == .in,
      other != hostName, store.hasOwn(named: record.name)
    else { return }
    let isMapping = store.ownIDs(named: record.name, on: link.interface).contains { id in
      store[id].map(isReverseMapping) ?? false
    }
    guard isMapping else { return }
    // A goodbye is valid for a second (RFC 6762, §10.1).
    let seconds = min(max(record.ttlSeconds, 1), Constants.hostTTLSeconds)
    otherMappings[record.name] = now + .seconds(Int64(seconds))
  }

  /// Forgets the names of others whose time is over.
  mutating func expireMappings(now: Instant) {
    guard !otherMappings.isEmpty else { return }
    otherMappings = otherMappings.filter { $0.value > now }
  }
}
