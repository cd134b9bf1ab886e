import DNSWire
public import DiscoveryMachines
public import Essentials

/// The owner of port 5353 among the hosts it works for: who wants what, under which numbers, and how
/// much of it.
///
/// The host of the owner's own process is one of them and has no bounds; its numbers are used as they
/// are. Those of clients are replaced by ones that nobody else has.
///
/// Whoever owns it hands it what happens, performs its actions, and calls ``wake(now:into:)`` at
/// ``nextWake``.
public struct OwnerMachine: Sendable {
  /// The owner's number for a client.
  public struct ClientID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number.
    public let rawValue: UInt64
    /// The client of this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Whether `a` has the smaller number.
    public static func < (a: ClientID, b: ClientID) -> Bool { a.rawValue < b.rawValue }
  }

  /// What happens.
  public enum Event: Hashable, Sendable {
    /// A process of this user connected.
    case arrived(ClientID, userID: UInt32)
    /// It said something.
    case received(ClientMessage, from: ClientID)
    /// So many bytes wait for the rest of the message that it has begun.
    case began(ClientID, byteCount: Int)
    /// What it said makes no sense.
    case misunderstood(ClientID)
    /// Its connection has ended.
    case left(ClientID)
    /// So many bytes wait for each that does not read, and in all some more than may.
    case congested([ClientID: Int], excess: Int)
    /// The host of the owner's own process wants something.
    case request(HostRequest)
    /// The machines say something.
    case report(HostReport)
  }

  /// What is to be done.
  public enum Action: Hashable, Sendable {
    /// Have the machines do it.
    case forward(HostRequest)
    /// Tell the host of this process.
    case tell(HostReport)
    /// Send a message to a client.
    case send(OwnerMessage, to: ClientID)
    /// Close a client's connection once everything was sent. Nothing more is said about it, but
    /// what it published is withdrawn.
    case close(ClientID)
  }

  /// Whom the owner may serve.
  public struct Trust: Hashable, Sendable {
    /// The owner's own user.
    public var userID: UInt32

    /// What an owner of this user's serves.
    public init(userID: UInt32) { self.userID = userID }

    /// Root's owner serves everybody: each could share the port itself, and gets no more than its
    /// share here. Any other serves its own user, and root, who may do anything to it.
    public func serves(_ other: UInt32) -> Bool { userID == 0 || other == userID || other == 0 }

    /// A host believes an owner that is of its own user or of root.
    public func believes(_ owner: UInt32) -> Bool { owner == userID || owner == 0 }

    /// The number that the kernel gives for users that it has no number for (user_namespaces(7)):
    /// whoever has it may be anybody, so it is nobody's own.
    public static let overflowUserID: UInt32 = 65_534
  }

  private struct Client: Sendable {
    let userID: UInt32
    let arrivedAt: Instant
    var isGreeted = false
    var queries: [QueryID: QueryID] = [:]
    var registrations: [RegistrationID: Published] = [:]
    var load = Load()
    var begunByteCount = 0
    var doubts = Rate()
  }

  /// What a client published.
  private struct Published: Sendable {
    let number: RegistrationID
    var load: Load
    /// The service's further records, by their numbers.
    var further: [UInt32: Load] = [:]
  }

  private struct User: Sendable {
    var clientCount = 0
    var load = Load()
    var begunByteCount = 0
    var doubts = Rate()
  }

  private let configuration: SharedConfiguration
  private let trust: Trust
  private let limits: Limits
  private var clients: [ClientID: Client] = [:]
  private var users: [UInt32: User] = [:]
  private var load = Load()
  private var begunByteCount = 0
  private var queryOwners: [QueryID: (client: ClientID, id: QueryID)] = [:]
  private var registrationOwners: [RegistrationID: (client: ClientID, id: RegistrationID)] = [:]
  private var interfaces: [InterfaceIndex: String] = [:]
  /// When ``wake(now:into:)`` is to be called; nil if there is nothing to wait for.
  public private(set) var nextWake: Instant?
  /// Numbers from here on are those of clients' wishes.
  private static let firstNumber: UInt64 = 1 << 63
  private var lastNumber = firstNumber

  /// An owner without clients.
  public init(configuration: SharedConfiguration, trust: Trust, limits: Limits = Limits()) {
    self.configuration = configuration
    self.trust = trust
    self.limits = limits
  }

  /// How many clients there are.
  public var clientCount: Int { clients.count }

  /// What clients have published, for when somebody else goes on with it.
  public var clientRegistrations: [RegistrationID] {
    registrationOwners.keys.sorted { $0.rawValue < $1.rawValue }
  }

  /// Takes what happened and appends what is to be done.
  public mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch event {
    case .arrived(let client, let userID): arrived(client, userID, now: now, into: &actions)
    case .received(let message, let client):
      received(message, from: client, now: now, into: &actions)
    case .began(let client, let byteCount): began(client, byteCount, into: &actions)
    case .misunderstood(let client): turnAway(client, .misunderstood, into: &actions)
    case .left(let client): forget(client, into: &actions)
    case .congested(let backlogs, let excess): relieve(backlogs, of: excess, into: &actions)
    case .request(let request): actions.append(.forward(request))
    case .report(let report): pass(report, into: &actions)
    }
  }

  /// Does what is due by now: whoever has not greeted in time goes. That is not told, since it may
  /// have been kept from it, and may come back.
  public mutating func wake(now: Instant, into actions: inout [Action]) {
    guard let due = nextWake, due <= now else { return }
    nextWake = nil
    for (id, client) in clients.sorted(by: { $0.key < $1.key }) where !client.isGreeted {
      let end = client.arrivedAt + limits.greetingTime
      guard end > now else {
        dismiss(id, into: &actions)
        continue
      }
      // Not more often, however many there are.
      nextWake = max(min(end, nextWake ?? end), now + limits.greetingSpacing)
    }
  }

  // MARK: Coming and going

  private mutating func arrived(
    _ id: ClientID, _ userID: UInt32, now: Instant, into actions: inout [Action]
  ) {
    let user = users[userID] ?? User()
    let hasRoom =
      clients.count < limits.clientsMax && user.clientCount < limits.clientsPerUserMax
    guard hasRoom, trust.serves(userID) else {
      actions.append(.send(.turnedAway(hasRoom ? .otherUser : .tooManyClients), to: id))
      return actions.append(.close(id))
    }
    clients[id] = Client(userID: userID, arrivedAt: now)
    users[userID, default: User()].clientCount += 1
    nextWake = nextWake ?? now + limits.greetingTime
  }

  private mutating func turnAway(
    _ id: ClientID, _ refusal: OwnerMessage.Refusal, into actions: inout [Action]
  ) {
    guard clients[id] != nil else { return }
    actions.append(.send(.turnedAway(refusal), to: id))
    actions.append(.close(id))
    forget(id, into: &actions)
  }

  /// Closes a client without a word, after which it may come back.
  private mutating func dismiss(_ id: ClientID, into actions: inout [Action]) {
    actions.append(.close(id))
    forget(id, into: &actions)
  }

  /// Withdraws what a client published and ends what it looked for.
  private mutating func forget(_ id: ClientID, into actions: inout [Action]) {
    change(from: clients[id]?.load ?? Load(), to: Load(), of: id)
    note(begunByteCount: 0, of: id)
    guard let client = clients.removeValue(forKey: id) else { return }
    let registrations = client.registrations.values.map(\.number)
    for number in registrations.sorted(by: { $0.rawValue < $1.rawValue }) {
      registrationOwners[number] = nil
      actions.append(.forward(.withdraw(number)))
    }
    for number in client.queries.values.sorted() {
      queryOwners[number] = nil
      actions.append(.forward(.stopAsking(number)))
    }
    guard var user = users[client.userID] else { return }
    user.clientCount -= 1
    users[client.userID] = user.clientCount == 0 ? nil : user
  }

  // MARK: How much there is

  /// A client's message is not complete yet. Where too much waits for its end, the client with the
  /// most of the user with the most goes. That is not told: it may have been kept from going on, and
  /// may come back.
  private mutating func began(_ id: ClientID, _ byteCount: Int, into actions: inout [Action]) {
    note(begunByteCount: byteCount, of: id)
    guard let userID = clients[id]?.userID, let user = users[userID] else { return }
    var heaviest = userID
    if begunByteCount > limits.begunByteCountMax {
      let most = users.max { ($0.value.begunByteCount, $0.key) < ($1.value.begunByteCount, $1.key) }
      heaviest = most?.key ?? userID
    } else if user.begunByteCount <= limits.begunByteCountPerUserMax {
      return
    }
    let most = clients.filter { $0.value.userID == heaviest }
      .max { ($0.value.begunByteCount, $0.key) < ($1.value.begunByteCount, $1.key) }
    if let most { dismiss(most.key, into: &actions) }
  }

  /// Drops clients that do not read until the excess is gone: always the one with the most of the user
  /// with the most, so that many with a little each don't cost others theirs. They may come back.
  private mutating func relieve(
    _ backlogs: [ClientID: Int], of excess: Int, into actions: inout [Action]
  ) {
    var excess = excess
    // Those of each user, the one with the most last.
    var waiting: [UInt32: (total: Int, clients: [(ClientID, Int)])] = [:]
    for (id, count) in backlogs.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) })
    where count > 0 {
      guard let userID = clients[id]?.userID else { continue }
      waiting[userID, default: (0, [])].total += count
      waiting[userID]?.clients.append((id, count))
    }
    while excess > 0,
      let user = waiting.max(by: { ($0.value.total, $0.key) < ($1.value.total, $1.key) })?.key,
      let (id, count) = waiting[user]?.clients.popLast()
    {
      excess -= count
      waiting[user]?.total -= count
      dismiss(id, into: &actions)
    }
  }

  private mutating func note(begunByteCount count: Int, of id: ClientID) {
    guard let client = clients[id] else { return }
    let more = count - client.begunByteCount
    clients[id]?.begunByteCount = count
    users[client.userID]?.begunByteCount += more
    begunByteCount += more
  }

  private mutating func change(from old: Load, to new: Load, of id: ClientID) {
    guard let client = clients[id], let user = users[client.userID] else { return }
    clients[id]?.load = client.load - old + new
    users[client.userID]?.load = user.load - old + new
    load = load - old + new
  }

  /// Counts what a client wants, instead of something that it wanted; turns it away where that is
  /// too much.
  private mutating func allow(
    _ new: Load, insteadOf old: Load = Load(), for id: ClientID, into actions: inout [Action]
  ) -> Bool {
    guard let client = clients[id], let user = users[client.userID] else { return false }
    guard (client.load - old + new).fits(limits.perClient),
      (user.load - old + new).fits(limits.perUser), (load - old + new).fits(limits.inAll)
    else {
      turnAway(id, .tooMuchWanted, into: &actions)
      return false
    }
    change(from: old, to: new, of: id)
    return true
  }

  // MARK: What clients say

  private mutating func received(
    _ message: ClientMessage, from id: ClientID, now: Instant, into actions: inout [Action]
  ) {
    guard let isGreeted = clients[id]?.isGreeted else { return }
    switch message {
    case .hello(let versions, let wanted):
      guard !isGreeted else { return turnAway(id, .misunderstood, into: &actions) }
      let common = versions.clamped(to: SharingProtocol.versions)
      guard versions.overlaps(SharingProtocol.versions) else {
        return turnAway(id, .otherVersion, into: &actions)
      }
      guard wanted == configuration else {
        return turnAway(id, .otherConfiguration, into: &actions)
      }
      clients[id]?.isGreeted = true
      actions.append(.send(.welcome(version: common.upperBound), to: id))
      actions.append(.send(.report(.interfaces(interfaces)), to: id))
    case .ping:
      actions.append(.send(.pong, to: id))
    case .request(let request):
      guard isGreeted else { return turnAway(id, .misunderstood, into: &actions) }
      take(request, from: id, now: now, into: &actions)
    }
  }

  private mutating func take(
    _ request: HostRequest, from id: ClientID, now: Instant, into actions: inout [Action]
  ) {
    switch request {
    case .ask(let query, let what, let index, let options):
      guard clients[id]?.queries[query] == nil else {
        return turnAway(id, .misunderstood, into: &actions)
      }
      guard allow(.query, for: id, into: &actions) else { return }
      let number = QueryID(rawValue: nextNumber())
      clients[id]?.queries[query] = number
      queryOwners[number] = (id, query)
      actions.append(.forward(.ask(number, what, on: index, options: options)))
    case .publish(let registration, let service):
      guard let number = add(registration, Load(service), of: id, into: &actions) else { return }
      actions.append(.forward(.publish(number, service)))
    case .publishRecord(let registration, let record):
      let load = Load(record.record.data)
      guard let number = add(registration, load, of: id, into: &actions) else { return }
      actions.append(.forward(.publishRecord(number, record)))
    case .stopAsking(let query):
      guard let number = remove(query, of: id) else { return }
      actions.append(.forward(.stopAsking(number)))
    case .withdraw(let registration):
      guard let number = remove(registration, of: id) else { return }
      actions.append(.forward(.withdraw(number)))
    case .updateText, .updateRecord, .setFurtherRecord:
      update(request, of: id, into: &actions)
    case .doubt:
      // No more than a hint: what is too often is passed over.
      if mayDoubt(id, now: now) { actions.append(.forward(request)) }
    }
  }

  /// Changes what is published. What is not there was refused, and the client had not heard of it.
  private mutating func update(
    _ request: HostRequest, of id: ClientID, into actions: inout [Action]
  ) {
    switch request {
    case .updateText(let registration, let text):
      guard let published = clients[id]?.registrations[registration] else { return }
      var load = published.load
      load.byteCount = text.wireBytes.count
      guard allow(load, insteadOf: published.load, for: id, into: &actions) else { return }
      clients[id]?.registrations[registration]?.load = load
      actions.append(.forward(.updateText(published.number, text)))
    case .updateRecord(let registration, let data, let ttlSeconds):
      guard let published = clients[id]?.registrations[registration] else { return }
      var load = published.load
      load.byteCount = data.wireBytes.count
      guard allow(load, insteadOf: published.load, for: id, into: &actions) else { return }
      clients[id]?.registrations[registration]?.load = load
      actions.append(.forward(.updateRecord(published.number, data, ttlSeconds: ttlSeconds)))
    case .setFurtherRecord(let registration, let further, let data, let ttlSeconds):
      guard let published = clients[id]?.registrations[registration] else { return }
      let (old, new) = (published.further[further], data.map { Load($0) })
      guard allow(new ?? Load(), insteadOf: old ?? Load(), for: id, into: &actions) else { return }
      clients[id]?.registrations[registration]?.further[further] = new
      actions.append(
        .forward(.setFurtherRecord(published.number, further, data, ttlSeconds: ttlSeconds)))
    case .ask, .stopAsking, .doubt, .publish, .publishRecord, .withdraw: break
    }
  }

  private mutating func mayDoubt(_ id: ClientID, now: Instant) -> Bool {
    guard var client = clients[id], var user = users[client.userID] else { return false }
    guard client.doubts.admits(max: limits.doubtsPerClientMax, per: limits.doubtSpan, now: now),
      user.doubts.admits(max: limits.doubtsPerUserMax, per: limits.doubtSpan, now: now)
    else { return false }
    clients[id]?.doubts = client.doubts
    users[client.userID]?.doubts = user.doubts
    return true
  }

  private mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  private mutating func add(
    _ registration: RegistrationID, _ load: Load, of id: ClientID, into actions: inout [Action]
  ) -> RegistrationID? {
    guard clients[id]?.registrations[registration] == nil else {
      turnAway(id, .misunderstood, into: &actions)
      return nil
    }
    guard allow(load, for: id, into: &actions) else { return nil }
    let number = RegistrationID(rawValue: nextNumber())
    clients[id]?.registrations[registration] = Published(number: number, load: load)
    registrationOwners[number] = (id, registration)
    return number
  }

  private mutating func remove(_ query: QueryID, of id: ClientID) -> QueryID? {
    guard let number = clients[id]?.queries.removeValue(forKey: query) else { return nil }
    queryOwners[number] = nil
    change(from: .query, to: Load(), of: id)
    return number
  }

  private mutating func remove(_ registration: RegistrationID, of id: ClientID) -> RegistrationID? {
    guard let published = clients[id]?.registrations.removeValue(forKey: registration) else {
      return nil
    }
    registrationOwners[published.number] = nil
    change(from: published.further.values.reduce(published.load, +), to: Load(), of: id)
    return published.number
  }

  // MARK: What the machines say

  private mutating func pass(_ report: HostReport, into actions: inout [Action]) {
    switch report {
    case .found(let number, let event, let index, let moreComing):
      guard number.rawValue >= Self.firstNumber else { return actions.append(.tell(report)) }
      guard let (client, id) = queryOwners[number] else { return }
      if case .failed = event { _ = remove(id, of: client) }
      actions.append(
        .send(.report(.found(id, event, on: index, moreComing: moreComing)), to: client))
    case .published(let number, let name):
      guard number.rawValue >= Self.firstNumber else { return actions.append(.tell(report)) }
      guard let (client, id) = registrationOwners[number] else { return }
      actions.append(.send(.report(.published(id, name)), to: client))
    case .refused(let number, let name):
      guard number.rawValue >= Self.firstNumber else { return actions.append(.tell(report)) }
      guard let (client, id) = registrationOwners[number] else { return }
      _ = remove(id, of: client)
      actions.append(.send(.report(.refused(id, name)), to: client))
    case .interfaces(let all):
      interfaces = all
      actions.append(.tell(report))
      for (client, state) in clients.sorted(by: { $0.key < $1.key }) where state.isGreeted {
        actions.append(.send(.report(report), to: client))
      }
    }
  }
}
