internal import DNSWire
internal import Essentials

/// Names a set of records.
struct RecordSetID: Hashable, Sendable {
  var rawValue: Int
}

/// Records that are always sent together: all of one name and type if they are unique, one alone if
/// others may have some too.
struct RecordSet: Sendable {
  enum Kind: Sendable {
    /// Others may have records of the name and type.
    case shared
    /// No other host may have the name. Only names with probed sets can be lost in a conflict.
    case unique(isProbed: Bool)
    /// The NSEC record that lists the types of the name; its data follows from the other sets.
    case negative
  }

  let name: DNSName
  let type: DNSType
  let kind: Kind
  /// The interface on which the records are valid; nil for all.
  let interface: InterfaceIndex?
  /// The registrations that it belongs to; more than one only where services share the PTR record
  /// of their type.
  var owners: ShortList<RegistrationID>
  var records: [DNSRecord]
  /// When the set was last multicast, for each link.
  private var sentTimes = LinkTimes()
  /// When the latest changes were announced, or will be.
  private(set) var updateTimes: [Instant] = []

  init(
    name: DNSName, type: DNSType, kind: Kind, interface: InterfaceIndex?, owner: RegistrationID,
    records: [DNSRecord]
  ) {
    assert(
      records.allSatisfy { $0.name == name && $0.type == type }, "a set is of one name and type")
    self.name = name
    self.type = type
    self.kind = kind
    self.interface = interface
    owners = ShortList(owner)
    self.records = records
  }

  var isShared: Bool { if case .shared = kind { true } else { false } }
  var isNegative: Bool { if case .negative = kind { true } else { false } }
  var isProbed: Bool { if case .unique(isProbed: true) = kind { true } else { false } }

  /// For how long the records are valid.
  var ttlSeconds: UInt32 { records.first?.ttlSeconds ?? ResponderConstants.hostTTLSeconds }

  func lastMulticast(on link: MulticastLink) -> Instant? {
    sentTimes[link]
  }

  /// The links on which it was multicast.
  var multicastLinks: [MulticastLink] { sentTimes.links }

  /// Whether the set may be multicast at `time`, having been sent before.
  func mayBeMulticast(on link: MulticastLink, at time: Instant, interval: TimeSpan) -> Bool {
    lastMulticast(on: link).map { time >= $0 + interval } ?? true
  }

  /// Whether it was multicast in the last quarter of the records' TTL (RFC 6762, §5.4).
  func wasMulticastRecently(on link: MulticastLink, now: Instant) -> Bool {
    let quarter = TimeSpan.milliseconds(Int64(ttlSeconds) * 250)
    return lastMulticast(on: link).map { now < $0 + quarter } ?? false
  }

  mutating func noteMulticast(on link: MulticastLink, now: Instant) {
    sentTimes[link] = now
  }

  mutating func forgetMulticasts(on link: MulticastLink) {
    sentTimes[link] = nil
  }

  /// When a change may be announced; nil if the announcement of an earlier one is still to come and
  /// will include it.
  mutating func updateTime(now: Instant) -> Instant? {
    if let last = updateTimes.last, last > now { return nil }
    let latest = sentTimes.latest
    var time = latest.map { max(now, $0 + ResponderConstants.multicastInterval) } ?? now
    if updateTimes.count >= ResponderConstants.updatesMax {
      time = max(time, updateTimes.removeFirst() + ResponderConstants.updateWindow)
    }
    updateTimes.append(time)
    return time
  }
}

/// A time for each of some links. Mostly there are few of them, and thousands of tables.
struct LinkTimes: Sendable {
  /// With more links, a dictionary is used.
  private static let listCountMax = 8

  private var list: [(link: MulticastLink, at: Instant)] = []
  private var table: [MulticastLink: Instant] = [:]

  subscript(link: MulticastLink) -> Instant? {
    get { table.isEmpty ? list.first { $0.link == link }?.at : table[link] }
    set {
      guard table.isEmpty else {
        table[link] = newValue
        return
      }
      list.removeAll { $0.link == link }
      guard let newValue else { return }
      list.append((link, newValue))
      guard list.count > Self.listCountMax else { return }
      for (link, time) in list { table[link] = time }
      list = []
    }
  }

  /// In the order of their interfaces.
  var links: [MulticastLink] {
    (table.isEmpty ? list.map(\.link) : Array(table.keys)).sorted {
      ($0.interface, $0.version.rank) < ($1.interface, $1.version.rank)
    }
  }

  var latest: Instant? { table.isEmpty ? list.map(\.at).max() : table.values.max() }
}

extension IPVersion {
  fileprivate var rank: Int { self == .v4 ? 4 : 6 }
}
