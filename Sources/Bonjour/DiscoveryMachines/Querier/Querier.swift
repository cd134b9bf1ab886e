package import DNSWire
package import Essentials

/// Browses, resolves and queries for any number of clients on all interfaces of a host (RFC 6762,
/// §5; RFC 6763).
///
/// Clients with the same request share one question and one cache. Cached records are reported at
/// once. Every event has its interface: a service on two links is reported twice.
package struct Querier: Machine, Sendable {
  /// Input of a querier.
  package enum Event: Sendable {
    /// An interface was added, or its addresses or versions changed. If it seems to be on another
    /// link, all queries are sent again there.
    case interfaceChanged(NetworkInterface)
    /// An interface is no longer available. Its records are removed.
    case interfaceGone(InterfaceIndex)
    /// An interface may be connected to another link, or the host slept. All queries are sent again
    /// there, and records that are not received again within ten seconds are removed.
    case interfaceRestarted(InterfaceIndex)
    /// A message was received. Includes the host's own messages.
    case received(ReceivedMessage)
    /// Start a query of a client, on one interface or on all.
    case start(
      QueryID, QueryRequest, on: InterfaceIndex? = nil, options: QueryOptions = QueryOptions())
    /// Stop a query of a client.
    case stop(QueryID)
    /// A client could not use a record: it is queried, and removed if it isn't received within ten
    /// seconds (RFC 6762, §10.4).
    case reconfirm(DNSRecord, on: InterfaceIndex? = nil)
  }

  /// Output of the querier: packets to send, and results to deliver.
  package typealias Action = DiscoveryAction

  struct Subscription: Sendable {
    var query: QueryID
    var type: DNSType
    /// Since when.
    var startedAt: Instant

    /// Whether a record is reported to it: not one whose goodbye was before its start, which is
    /// kept for a second more (RFC 6762, §10.1).
    func isNotified(ofOneThatLeftAt goodbyeAt: Instant?) -> Bool {
      goodbyeAt.map { startedAt <= $0 } ?? true
    }
  }

  var rng: SeededGenerator
  /// In the order of their indices.
  var interfaces: InterfaceList = []
  var clients: [QueryID: Client] = [:]
  /// The subscriptions of clients, by name.
  var subscriptions: [DNSName: [Subscription]] = [:]
  /// Clients whose resolutions may have changed in this call.
  var unsettled: [Resolving] = []
  /// Resolving clients that wait for a text.
  var textWaits = DeadlineQueue<Resolving>()
  /// Clients with a timeout.
  var clientEnds = DeadlineQueue<QueryID>()
  private var outputs: [InterfaceQuerier.Output] = []

  /// Creates a querier. `rng` is used for random delays only.
  package init(rng: SeededGenerator) {
    self.rng = rng
  }

  /// Handles an event and appends the resulting actions to `actions`.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    let start = actions.count
    switch event {
    case .interfaceChanged(let interface): update(interface, now: now)
    case .interfaceGone(let index): remove(index, now: now, into: &actions)
    case .interfaceRestarted(let index):
      if let position = position(of: index) { interfaces[position].restart(now: now) }
    case .received(let message): receive(message, now: now, into: &actions)
    case .start(let id, let request, let index, let options):
      open(id, request, on: index, options, now: now, into: &actions)
    case .stop(let id): close(id)
    case .reconfirm(let record, let index):
      for position in interfaces.indices
      where index == nil || interfaces[position].interface.index == index {
        interfaces[position].reconfirm(record, now: now)
      }
    }
    finish(now: now, from: start, &actions)
    // Packets come far more often than anything else, and most of them cause nothing.
    if case .received = event, actions.count == start { return }
    assertInvariants()
  }

  /// Performs the work that is due at `now`.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    let start = actions.count
    for index in interfaces.takeDue(now: now) {
      guard let position = position(of: index) else { continue }
      outputs.removeAll(keepingCapacity: true)
      interfaces[position].wake(now: now, into: &outputs)
      perform(at: position, now: now, into: &actions)
    }
    while let (_, waiting) = textWaits.popDue(now) { unsettled.append(waiting) }
    while let (instant, id) = clientEnds.popDue(now) {
      guard clients[id]?.endsAt == instant else { continue }
      close(id)
      actions.append(.deliver(id, .failed(.timedOut), on: nil, moreComing: false))
    }
    finish(now: now, from: start, &actions)
    assertInvariants()
  }

  /// The time to call `wake`; nil if no timer is running.
  package var nextWake: Instant? {
    .earliest(
      interfaces.nextWake, .earliest(textWaits.next, clientEnds.next))
  }

  /// The number of cached records on all interfaces.
  package var recordCount: Int { interfaces.reduce(0) { $0 + $1.cache.count } }

  func position(of index: InterfaceIndex) -> Int? { interfaces.position(of: index) }

  // MARK: Interfaces

  private mutating func update(_ interface: NetworkInterface, now: Instant) {
    if let position = position(of: interface.index) {
      let isSameLink = interfaces[position].interface.isOnSameLink(as: interface)
      interfaces[position].update(interface)
      if !isSameLink { interfaces[position].restart(now: now) }
      return
    }
    var added = InterfaceQuerier(interface, rng: rng.fork())
    for client in clients.values.sorted(by: { $0.id < $1.id })
    where client.isInterested(in: interface.index) {
      for key in client.keys { added.start(key, isProvoked: true, now: now) }
    }
    interfaces.insert(added, at: interfaces.insertionPosition(of: interface.index))
  }

  private mutating func remove(
    _ index: InterfaceIndex, now: Instant, into actions: inout [Action]
  ) {
    guard let position = position(of: index) else { return }
    let gone = interfaces.remove(at: position)
    let entries = gone.cache.entries
    // All of them first: an alias that ends takes those behind it out of sight.
    for entry in entries {
      report(entry.record, isAdded: false, entry.goodbyeAt, on: index, into: &actions)
    }
    for entry in entries { unfollow(entry.record, now: now, into: &actions) }
    for id in clients.keys { clients[existing: id].resolutions[index] = nil }
  }

  private mutating func receive(
    _ received: ReceivedMessage, now: Instant, into actions: inout [Action]
  ) {
    guard let position = position(of: received.link.interface) else { return }
    outputs.removeAll(keepingCapacity: true)
    interfaces[position].receive(received, now: now, into: &outputs)
    perform(at: position, now: now, into: &actions)
  }

  /// Does what one interface's querier gave out.
  private mutating func perform(at position: Int, now: Instant, into actions: inout [Action]) {
    let index = interfaces[position].interface.index
    let given = outputs
    for output in given {
      switch output {
      case .send(let bytes, let version):
        actions.append(.send(OutgoingPacket(bytes, on: MulticastLink(index, version))))
      case .added(let record, let goodbyeAt):
        report(record, isAdded: true, goodbyeAt, on: index, into: &actions)
      case .removed(let record, let goodbyeAt):
        report(record, isAdded: false, goodbyeAt, on: index, into: &actions)
      case .absent(let key): reportAbsent(key, on: index, into: &actions)
      }
    }
    // After all of them: a client that follows an alias gets the cached records of the target at
    // once.
    for output in given {
      switch output {
      case .added(let record, _): follow(record, now: now, into: &actions)
      case .removed(let record, _): unfollow(record, now: now, into: &actions)
      case .send, .absent: break
      }
    }
  }

  /// Reports what follows from this event, and sets `moreComing` on all but the last event of each
  /// client.
  private mutating func finish(now: Instant, from start: Int, _ actions: inout [Action]) {
    settle(now: now, into: &actions)
    interfaces.settle()
    var reported: Set<QueryID> = []
    for position in actions.indices[start...].reversed() {
      guard case .deliver(let id, let event, let index, _) = actions[position] else { continue }
      let isLast = reported.insert(id).inserted
      actions[position] = .deliver(id, event, on: index, moreComing: !isLast)
    }
  }
}

extension NetworkInterface {
  /// Whether the interface may still be on the same link with the addresses and versions of
  /// `other`: none of the other addresses is of a new subnet.
  fileprivate func isOnSameLink(as other: NetworkInterface) -> Bool {
    versions == other.versions && other.addresses.allSatisfy { isOnLink($0.address) }
  }
}
