public import DNSWire
public import Essentials

/// Browses, resolves and looks up for any number of clients on every interface of a host
/// (RFC 6762, §5; RFC 6763).
///
/// Clients that want the same share one question and one cache. What is known already is told at
/// once. Every event says on which interface it was heard: a service on two links is told twice.
public struct Querier: Sendable {
  /// What happens to the querier.
  public enum Event: Sendable {
    /// An interface is there, or its addresses or versions changed. Where it seems to be on another
    /// link than before, everything is asked anew there.
    case interfaceChanged(NetworkInterface)
    /// An interface no longer takes part; what was heard there is forgotten.
    case interfaceGone(InterfaceIndex)
    /// The link of an interface may be another one, or the host slept: everything is asked anew
    /// there, and what isn't heard again within ten seconds is forgotten.
    case interfaceRestarted(InterfaceIndex)
    /// A message came in, also one of our own that came back.
    case received(ReceivedMessage)
    /// A client wants to know something, on one interface or on all.
    case start(
      QueryID, QueryRequest, on: InterfaceIndex? = nil, options: QueryOptions = QueryOptions())
    /// The client has no more use for it.
    case stop(QueryID)
    /// A client could not use a record: it is asked for, and forgotten if it isn't heard in ten
    /// seconds (RFC 6762, §10.4).
    case doubt(DNSRecord, on: InterfaceIndex? = nil)
  }

  /// What the driver does for the querier.
  public enum Action: Sendable, Hashable {
    /// Send a packet.
    case send(OutgoingPacket)
    /// Tell a client, with the interface where it was heard; `moreComing` on all but the last of
    /// what it is told at once.
    case deliver(QueryID, QueryEvent, on: InterfaceIndex?, moreComing: Bool)
  }

  struct Subscription: Sendable {
    var query: QueryID
    var type: DNSType
    /// Since when.
    var startedAt: Instant

    /// Whether it is told of a record: not of one that had said goodbye before it began, which is
    /// known for a second more (RFC 6762, §10.1).
    func isTold(ofOneThatLeftAt goodbyeAt: Instant?) -> Bool {
      goodbyeAt.map { startedAt <= $0 } ?? true
    }
  }

  var chance: SeededGenerator
  /// In the order of their indices.
  var interfaces: [InterfaceQuerier] = []
  var clients: [QueryID: Client] = [:]
  /// Who wants what, by name.
  var subscriptions: [DNSName: [Subscription]] = [:]
  /// Resolving clients whose answer may have changed in this call.
  var unsettled: [Resolving] = []
  /// Resolving clients that wait for a text.
  var textWaits = DeadlineQueue<Resolving>()
  /// Clients that don't want to know for ever.
  var clientEnds = DeadlineQueue<QueryID>()
  private var outputs: [InterfaceQuerier.Output] = []

  /// Makes a querier; `chance` decides the delays.
  public init(chance: SeededGenerator) {
    self.chance = chance
  }

  /// Takes an event and appends what is to be done to `actions`.
  public mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    let start = actions.count
    switch event {
    case .interfaceChanged(let interface): update(interface, now: now)
    case .interfaceGone(let index): remove(index, now: now, into: &actions)
    case .interfaceRestarted(let index):
      if let place = place(of: index) { interfaces[place].restart(now: now) }
    case .received(let message): receive(message, now: now, into: &actions)
    case .start(let id, let request, let index, let options):
      open(id, request, on: index, options, now: now, into: &actions)
    case .stop(let id): close(id)
    case .doubt(let record, let index):
      for place in interfaces.indices
      where index == nil || interfaces[place].interface.index == index {
        interfaces[place].doubt(record, now: now)
      }
    }
    finish(now: now, from: start, &actions)
  }

  /// Does what is due at `now`.
  public mutating func wake(now: Instant, into actions: inout [Action]) {
    let start = actions.count
    for place in interfaces.indices {
      guard let due = interfaces[place].nextWake, due <= now else { continue }
      outputs.removeAll(keepingCapacity: true)
      interfaces[place].wake(now: now, into: &outputs)
      perform(at: place, now: now, into: &actions)
    }
    while let (_, waiting) = textWaits.popDue(now) { unsettled.append(waiting) }
    while let (instant, id) = clientEnds.popDue(now) {
      guard clients[id]?.endsAt == instant else { continue }
      close(id)
      actions.append(.deliver(id, .failed(.timedOut), on: nil, moreComing: false))
    }
    finish(now: now, from: start, &actions)
  }

  /// When `wake` should be called next; nil if nothing waits for time to pass.
  public var nextWake: Instant? {
    .earliest(
      interfaces.earliest(\.nextWake), .earliest(textWaits.next, clientEnds.next))
  }

  /// How many records are remembered, on all interfaces.
  public var recordCount: Int { interfaces.reduce(0) { $0 + $1.cache.count } }

  func place(of index: InterfaceIndex) -> Int? {
    interfaces.firstIndex { $0.interface.index == index }
  }

  // MARK: Interfaces

  private mutating func update(_ interface: NetworkInterface, now: Instant) {
    if let place = place(of: interface.index) {
      let isSameLink = interfaces[place].interface.isOnSameLink(as: interface)
      interfaces[place].update(interface)
      if !isSameLink { interfaces[place].restart(now: now) }
      return
    }
    var added = InterfaceQuerier(interface, chance: chance.fork())
    for client in clients.values.sorted(by: { $0.id < $1.id })
    where client.isInterested(in: interface.index) {
      for key in client.keys { added.start(key, isProvoked: true, now: now) }
    }
    let place =
      interfaces.firstIndex { $0.interface.index > interface.index } ?? interfaces.count
    interfaces.insert(added, at: place)
  }

  private mutating func remove(
    _ index: InterfaceIndex, now: Instant, into actions: inout [Action]
  ) {
    guard let place = place(of: index) else { return }
    let gone = interfaces.remove(at: place)
    let entries = gone.cache.entries
    // All of them first: an alias that ends takes those behind it out of sight.
    for entry in entries {
      tell(entry.record, isAdded: false, entry.goodbyeAt, on: index, into: &actions)
    }
    for entry in entries { unfollow(entry.record, now: now, into: &actions) }
    for id in clients.keys { clients[id]?.resolutions[index] = nil }
  }

  private mutating func receive(
    _ received: ReceivedMessage, now: Instant, into actions: inout [Action]
  ) {
    guard let place = place(of: received.link.interface) else { return }
    outputs.removeAll(keepingCapacity: true)
    interfaces[place].receive(received, now: now, into: &outputs)
    perform(at: place, now: now, into: &actions)
  }

  /// Does what one interface's querier gave out.
  private mutating func perform(at place: Int, now: Instant, into actions: inout [Action]) {
    let index = interfaces[place].interface.index
    let given = outputs
    for output in given {
      switch output {
      case .send(let bytes, let version):
        actions.append(.send(OutgoingPacket(bytes, on: Link(index, version))))
      case .added(let record, let goodbyeAt):
        tell(record, isAdded: true, goodbyeAt, on: index, into: &actions)
      case .removed(let record, let goodbyeAt):
        tell(record, isAdded: false, goodbyeAt, on: index, into: &actions)
      case .absent(let key): tellAbsent(key, on: index, into: &actions)
      }
    }
    // After all of them: who follows an alias is told at once what the cache has behind it.
    for output in given {
      switch output {
      case .added(let record, _): follow(record, now: now, into: &actions)
      case .removed(let record, _): unfollow(record, now: now, into: &actions)
      case .send, .absent: break
      }
    }
  }

  /// Tells what came together, and marks all but the last of each client's events.
  private mutating func finish(now: Instant, from start: Int, _ actions: inout [Action]) {
    settle(now: now, into: &actions)
    var told: Set<QueryID> = []
    for place in actions.indices[start...].reversed() {
      guard case .deliver(let id, let event, let index, _) = actions[place] else { continue }
      let isLast = told.insert(id).inserted
      actions[place] = .deliver(id, event, on: index, moreComing: !isLast)
    }
  }
}

extension NetworkInterface {
  /// Whether its addresses and versions may as well have become those of `other` on the same link:
  /// there is none from a subnet that was not there.
  fileprivate func isOnSameLink(as other: NetworkInterface) -> Bool {
    versions == other.versions && other.addresses.allSatisfy { isOnLink($0.address) }
  }
}
