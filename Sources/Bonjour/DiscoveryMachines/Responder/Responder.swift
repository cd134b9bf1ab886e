package import DNSWire
package import Essentials

/// Registers names and services by Multicast DNS (RFC 6762) on all interfaces of a host: probes
/// names, announces records, answers queries, defends unique names, and renames after a conflict.
///
/// The host passes events to it, performs its actions, and calls ``wake(now:into:)`` at
/// ``nextWake``.
package struct Responder: Machine, Sendable {
  typealias Constants = ResponderConstants

  /// The state of a registration on one link.
  enum Phase: Sendable {
    /// It probes, in the round of this number.
    case probing(round: Int)
    /// The name is its own.
    case established
  }

  enum Content: Sendable {
    case host(label: [UInt8])
    case service(ServiceRegistration)
    case record(RecordRegistration)
  }

  struct Entry: Sendable {
    var content: Content
    /// Its present name, or the one that is being probed.
    var name: DNSName
    var sets: [RecordSetID] = []
    var addedSets: [UInt32: RecordSetID] = [:]
    var phases: [MulticastLink: Phase] = [:]
    /// The last reported name.
    var reportedName: DNSName?
    var conflicts = ConflictHistory()

    var interface: InterfaceIndex? {
      switch content {
      case .host: nil
      case .service(let service): service.interface
      case .record(let record): record.interface
      }
    }

    var conflictPolicy: ConflictPolicy {
      switch content {
      case .host: .rename
      case .service(let service): service.conflictPolicy
      case .record: .refuse
      }
    }

    var isProbing: Bool {
      phases.values.contains { if case .probing = $0 { true } else { false } }
    }
  }

  var rng: SeededGenerator
  var interfaces: [InterfaceIndex: NetworkInterface] = [:]
  var links = LinkTable()
  /// The links in the order in which they are served, so that one seed gives one run.
  var linkOrder: [MulticastLink] = []
  var entries: [RegistrationID: Entry] = [:]
  var store = RecordStore()
  /// Until when another responder has a name for an address of the host, by reverse names.
  var otherMappings: [DNSName: Instant] = [:]
  var lastRoundNumber = 0
  /// Whether the host's name is registered even if no registration needs it.
  var isHostRegistered = false
  var isShutDown = false

  /// Creates a responder without interfaces.
  ///
  /// - Parameters:
  ///   - hostLabel: The host name without `.local`, 1 to 63 bytes of UTF-8.
  ///   - rng: Used for random delays only.
  package init(hostLabel: [UInt8], rng: SeededGenerator) throws(DNSWireError) {
    self.rng = rng
    let name = try DNSName.local.prepending(hostLabel)
    entries[.host] = Entry(content: .host(label: hostLabel), name: name)
  }

  /// The host name, even if it has not been probed yet.
  package var hostName: DNSName { entries[.host]?.name ?? .local }

  /// The name of a registration, even if it has not been probed yet; nil if the registration
  /// doesn't exist.
  package func name(of id: RegistrationID) -> DNSName? { entries[id]?.name }

  /// The time to call ``wake(now:into:)``; nil if no timer is running.
  package var nextWake: Instant? { links.nextWake }

  /// Processes an event and appends the resulting actions.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    guard !isShutDown else { return }
    let start = actions.count
    switch event {
    case .interfaceChanged(let interface): changeInterface(interface, now: now)
    case .interfaceRestarted(let index): restartInterface(index, now: now)
    case .interfaceGone(let index): removeInterface(index, into: &actions)
    case .request(let request): perform(request, now: now, into: &actions)
    case .handOver(let ids): for id in ids { handOver(id, now: now) }
    case .registerHost:
      isHostRegistered = true
      // Where it has the name it keeps it: while it probes again, another host could take it.
      for link in linkOrder where entries[.host]?.phases[link] == nil {
        startHost(on: link, now: now)
      }
    case .setHostLabel(let label): setHostLabel(label, now: now, into: &actions)
    case .received(let message): received(message, now: now, into: &actions)
    case .shutDown:
      for id in idOrder { remove(id, saysGoodbye: true, now: now) }
      for link in linkOrder { sendGoodbyes(on: link, into: &actions) }
      links = LinkTable()
      linkOrder = []
      isShutDown = true
    }
    performDue(now: now, into: &actions)
    // Packets come far more often than anything else, and most of them cause nothing.
    if case .received = event, actions.count == start { return }
    assertInvariants()
  }

  private mutating func perform(
    _ request: DiscoveryRequest, now: Instant, into actions: inout [Action]
  ) {
    switch request {
    case .registerService(let id, let service):
      register(id, .service(service), name: service.name.name, now: now, into: &actions)
    case .registerRecord(let id, let record):
      register(id, .record(record), name: record.record.name, now: now, into: &actions)
    case .updateText(let id, let text): updateText(id, text, now: now)
    case .updateRecord(let id, let data, let ttlSeconds):
      updateRecord(id, data, ttlSeconds: ttlSeconds, now: now)
    case .setRecord(let id, let number, let data, let ttlSeconds):
      setRecord(id, number, data, ttlSeconds: ttlSeconds, now: now)
    case .unregister(let id):
      if id != .host { remove(id, saysGoodbye: true, now: now) }
    case .startQuery, .stopQuery, .reconfirm:
      assertionFailure("\(request) is a querier's")
    }
  }

  /// Performs the work that is due at `now`.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    performDue(now: now, into: &actions)
    assertInvariants()
  }

  private mutating func performDue(now: Instant, into actions: inout [Action]) {
    var served: Set<MulticastLink> = []
    while true {
      let due = links.takeDue(now: now).filter { served.insert($0).inserted }
      if due.isEmpty { break }
      for link in due { serve(link, now: now, into: &actions) }
    }
    links.settle()
  }

  private mutating func serve(_ link: MulticastLink, now: Instant, into actions: inout [Action]) {
    // Before anything else that is due, so that what replaces the old comes after it.
    sendGoodbyes(on: link, into: &actions)
    probe(on: link, now: now, into: &actions)
    announce(on: link, now: now, into: &actions)
    releaseTruncatedQueries(on: link, now: now)
    answer(on: link, now: now, into: &actions)
  }

  // MARK: Visibility

  /// Whether the records of a set are valid on a link and the name is ours there.
  func isVisible(_ set: RecordSet, on link: MulticastLink) -> Bool {
    guard set.interface.map({ $0 == link.interface }) ?? true else { return false }
    if !otherMappings.isEmpty, otherMappings[set.name] != nil, set.owners.first == .host {
      return false
    }
    return set.owners.contains {
      if case .established = entries[$0]?.phases[link] { true } else { false }
    }
  }

  /// The records of a set as they are sent on a link.
  func records(of set: RecordSet, on link: MulticastLink) -> [DNSRecord] {
    guard set.isNegative else { return set.records }
    let types = store.ids(named: set.name, on: link.interface).compactMap { store[$0] }
      .filter { !$0.isNegative && !$0.records.isEmpty && isVisible($0, on: link) }.map(\.type)
    return [
      DNSRecord(
        name: set.name, flushesCache: true, ttlSeconds: set.ttlSeconds,
        data: .nsec(next: set.name, types: DNSTypeBitmap(types)))
    ]
  }

  /// The registrations in order.
  var idOrder: [RegistrationID] { entries.keys.sorted { $0.rawValue < $1.rawValue } }

  /// The links on which a registration takes part. A local one takes part on the local link only;
  /// all others on all links but that, except for the host's name, which is known there, too.
  func links(of entry: Entry) -> [MulticastLink] {
    linkOrder.filter { takesPart(entry, on: $0) }
  }

  /// Whether a registration takes part on a link.
  func takesPart(_ entry: Entry, on link: MulticastLink) -> Bool {
    if let interface = entry.interface { return interface == link.interface }
    if case .host = entry.content { return true }
    return link.interface != .localOnly
  }

  /// The sets of a registration that are valid on an interface, and perhaps others. The host has
  /// sets of its own for each interface.
  func sets(of id: RegistrationID, on interface: InterfaceIndex) -> [RecordSetID] {
    guard id == .host else { return entries[id]?.sets ?? [] }
    return store.ids(on: interface).filter { store[$0]?.owners.first == .host }
  }
}
