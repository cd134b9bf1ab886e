import DNSWire
package import DiscoveryMachines
package import Essentials

/// The state machine of the owner of port 5353, a hub. It stores the requests of its clients, replaces
/// their identifiers by unique ones, and enforces the limits of each client and user.
///
/// The hub's rules decide about a program before it is connected.
///
/// The engine passes events to it, performs its actions, and calls ``wake(now:into:)`` at
/// ``nextWake``.
package struct OwnerMachine: Sendable {
  /// The owner's identifier of a client.
  package struct ConnectionID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number.
    package let rawValue: UInt64
    /// Creates an identifier from its number.
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Whether `a` has the smaller number.
    package static func < (a: ConnectionID, b: ConnectionID) -> Bool { a.rawValue < b.rawValue }
  }

  /// Input of the machine.
  package enum Event: Hashable, Sendable {
    /// A process of this user has connected, and may have this number of requests; nil for the usual
    /// limit.
    case connected(ConnectionID, userID: UInt32, requestCountMax: Int? = nil)
    /// A message of a client was received.
    case received(ClientMessage, from: ConnectionID)
    /// The client has sent this number of bytes of an incomplete message.
    case incomplete(ConnectionID, byteCount: Int)
    /// The client sent bytes that are not a valid message.
    case invalidMessage(ConnectionID)
    /// The client's connection has ended.
    case disconnected(ConnectionID)
    /// Clients do not read: the number of unsent bytes of each, and by how many bytes all of them
    /// together exceed the limit.
    case congested([ConnectionID: Int], excess: Int)
    /// A report of the machines.
    case report(DiscoveryReport)
  }

  /// Output of the machine: work for the engine.
  package enum Action: Hashable, Sendable {
    /// Pass the request to the discovery machine.
    case forward(DiscoveryRequest)
    /// Remove the registration without goodbye records: its client continues it.
    case handOver(RegistrationID)
    /// Send a message to a client.
    case send(OwnerMessage, to: ConnectionID)
    /// Close a client's connection when all messages were sent. Its services and records are
    /// unregistered.
    case close(ConnectionID)
  }

  /// The users whose owners a host trusts.
  package struct Trust: Hashable, Sendable {
    /// The host's own user.
    package var userID: UInt32

    /// Creates the rules for a process of this user.
    package init(userID: UInt32) { self.userID = userID }

    /// Whether a host trusts an owner of this user: its own user, if that is known, or root.
    package func trusts(_ owner: UInt32) -> Bool {
      owner == 0 || (owner == userID && owner != Self.overflowUserID)
    }

    /// The user ID by which the kernel represents users that aren't mapped in this namespace
    /// (user_namespaces(7)). Several users may have it, so it identifies none.
    package static let overflowUserID: UInt32 = 65_534
  }

  struct Client: Sendable {
    let userID: UInt32
    let connectedAt: Instant
    let limit: Load
    /// The version of the protocol that was agreed on; nil before the greeting.
    var version: UInt16?
    var isGreeted: Bool { version != nil }
    /// Whether it understands what came with the second version.
    var isRecent: Bool { (version ?? 0) >= PortSharingProtocol.cacheVersion }
    var queries: [QueryID: QueryID] = [:]
    /// Those of them that look for services.
    var browsers: Set<QueryID> = []
    var registrations: [RegistrationID: ClientRegistration] = [:]
    var load = Load()
    var incompleteByteCount = 0
    var reconfirmations = Rate()
  }

  /// A registration of a client.
  struct ClientRegistration: Sendable {
    let number: RegistrationID
    let isService: Bool
    var load: Load
    /// The records that were added to the service, by their numbers.
    var addedRecords: [UInt32: Load] = [:]
  }

  struct User: Sendable {
    var clientCount = 0
    var load = Load()
    var incompleteByteCount = 0
    var reconfirmations = Rate()
  }

  private let configuration: SharedConfiguration
  let limits: Limits
  var clients: [ConnectionID: Client] = [:]
  var users: [UInt32: User] = [:]
  var load = Load()
  var incompleteByteCount = 0
  var queryOwners: [QueryID: (client: ConnectionID, id: QueryID)] = [:]
  var registrationOwners: [RegistrationID: (client: ConnectionID, id: RegistrationID)] = [:]
  private var interfaces: [InterfaceIndex: String] = [:]
  /// The time to call ``wake(now:into:)``; nil if no timer is running.
  package private(set) var nextWake: Instant?
  /// Identifiers of clients' requests are above this one.
  static let firstNumber: UInt64 = 1 << 63
  var lastNumber = firstNumber
  /// What was refused so far.
  package internal(set) var refusals = Refusals()
  /// When the owner last ran.
  package private(set) var ranAt: Instant?

  /// Creates an owner without clients.
  package init(configuration: SharedConfiguration, limits: Limits = Limits()) {
    self.configuration = configuration
    self.limits = limits
  }

  /// The number of connected clients.
  package var clientCount: Int { clients.count }

  /// The registrations of clients, which go on with them when the owner ends.
  package var clientRegistrations: [RegistrationID] {
    registrationOwners.keys.sorted { $0.rawValue < $1.rawValue }
  }

  /// Processes an event and appends the resulting actions.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    defer { assertInvariants() }
    switch event {
    case .connected(let client, let userID, let requestCountMax):
      accept(client, userID, requestCountMax, now: now, into: &actions)
    case .received(let message, let client):
      received(message, from: client, now: now, into: &actions)
    case .incomplete(let client, let byteCount): noteIncomplete(client, byteCount, into: &actions)
    case .invalidMessage(let client): reject(client, .invalidMessage, into: &actions)
    case .disconnected(let client): forget(client, into: &actions)
    case .congested(let backlogs, let excess): relieve(backlogs, of: excess, into: &actions)
    case .report(let report): pass(report, into: &actions)
    }
  }

  /// Whether the owner did not run for so long (its process was stopped) that clients have left it:
  /// then what they sent must be read before anything else is done, as they may have registered other
  /// data elsewhere.
  package func wasStopped(now: Instant) -> Bool {
    guard let ranAt, !clients.isEmpty else { return false }
    return now - ranAt >= Limits.pauseMin
  }

  /// Notes that the owner runs, and has read what clients sent while it did not.
  package mutating func noteRunning(now: Instant) { ranAt = now }

  /// Disconnects clients that did not send a greeting in time. They get no message, since they may
  /// have been unable to send, and may come back.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    guard let due = nextWake, due <= now else { return }
    defer { assertInvariants() }
    nextWake = nil
    for (id, client) in clients.sorted(by: { $0.key < $1.key }) where !client.isGreeted {
      let end = client.connectedAt + limits.greetingTime
      guard end > now else {
        dismiss(id, because: .silent, into: &actions)
        continue
      }
      // Not more often, however many there are.
      nextWake = max(min(end, nextWake ?? end), now + limits.greetingSpacing)
    }
  }

  // MARK: Connections

  private mutating func accept(
    _ id: ConnectionID, _ userID: UInt32, _ requestCountMax: Int?, now: Instant,
    into actions: inout [Action]
  ) {
    assert(clients[id] == nil, "a connection's number is used once")
    let user = users[userID] ?? User()
    let hasRoom =
      clients.count < limits.clientsMax && user.clientCount < limits.clientsPerUserMax
    guard hasRoom else {
      refusals.count(.rejected(.tooManyClients))
      actions.append(.send(.rejected(.tooManyClients), to: id))
      return actions.append(.close(id))
    }
    var limit = limits.perClient
    if let requestCountMax { limit.requestCount = min(limit.requestCount, requestCountMax) }
    clients[id] = Client(userID: userID, connectedAt: now, limit: limit)
    users[userID, default: User()].clientCount += 1
    nextWake = nextWake ?? now + limits.greetingTime
  }

  private mutating func reject(
    _ id: ConnectionID, _ reason: OwnerMessage.RejectionReason, into actions: inout [Action]
  ) {
    guard clients[id] != nil else { return }
    refusals.count(.rejected(reason))
    actions.append(.send(.rejected(reason), to: id))
    actions.append(.close(id))
    forget(id, into: &actions)
  }

  /// Disconnects a client without a message; it may connect again.
  private mutating func dismiss(
    _ id: ConnectionID, because reason: Refusals.Reason, into actions: inout [Action]
  ) {
    refusals.count(reason)
    actions.append(.close(id))
    forget(id, into: &actions)
  }

  /// Unregisters what a client registered, unless it continues that elsewhere, and ends its
  /// queries.
  private mutating func forget(
    _ id: ConnectionID, isContinued: Bool = false, into actions: inout [Action]
  ) {
    change(from: clients[id]?.load ?? Load(), to: Load(), of: id)
    record(incompleteByteCount: 0, of: id)
    guard let client = clients.removeValue(forKey: id) else { return }
    let registrations = client.registrations.values.map(\.number)
    for number in registrations.sorted(by: { $0.rawValue < $1.rawValue }) {
      registrationOwners[number] = nil
      actions.append(isContinued ? .handOver(number) : .forward(.unregister(number)))
    }
    for number in client.queries.values.sorted() {
      queryOwners[number] = nil
      actions.append(.forward(.stopQuery(number)))
    }
    users[existing: client.userID].clientCount -= 1
    if users[existing: client.userID].clientCount == 0 { users[client.userID] = nil }
  }

  // MARK: Limits

  /// A client's message is not complete yet. Where too many bytes wait, the client with the most,
  /// of the user with the most, is disconnected. It gets no message: it may have been unable to go
  /// on, and may come back.
  private mutating func noteIncomplete(
    _ id: ConnectionID, _ byteCount: Int, into actions: inout [Action]
  ) {
    record(incompleteByteCount: byteCount, of: id)
    guard let userID = clients[id]?.userID, let user = users[userID] else { return }
    var heaviest = userID
    if incompleteByteCount > limits.incompleteByteCountMax {
      let most = users.max {
        ($0.value.incompleteByteCount, $0.key) < ($1.value.incompleteByteCount, $1.key)
      }
      heaviest = most?.key ?? userID
    } else if user.incompleteByteCount <= limits.incompleteByteCountPerUserMax {
      return
    }
    let most = clients.filter { $0.value.userID == heaviest }
      .max { ($0.value.incompleteByteCount, $0.key) < ($1.value.incompleteByteCount, $1.key) }
    if let most { dismiss(most.key, because: .unread, into: &actions) }
  }

  /// Drops clients that do not read until the excess is gone: always the one with the most of the
  /// user with the most, so that many with a little each don't cost others theirs. They may come
  /// back.
  private mutating func relieve(
    _ backlogs: [ConnectionID: Int], of excess: Int, into actions: inout [Action]
  ) {
    var excess = excess
    // Those of each user, the one with the most last.
    var waiting: [UInt32: (total: Int, clients: [(ConnectionID, Int)])] = [:]
    for (id, count) in backlogs.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) })
    where count > 0 {
      guard let userID = clients[id]?.userID else { continue }
      waiting[userID, default: (0, [])].total += count
      waiting[existing: userID].clients.append((id, count))
    }
    while excess > 0,
      let user = waiting.max(by: { ($0.value.total, $0.key) < ($1.value.total, $1.key) })?.key,
      let (id, count) = waiting[existing: user].clients.popLast()
    {
      excess -= count
      waiting[existing: user].total -= count
      dismiss(id, because: .backlog, into: &actions)
    }
  }

  private mutating func record(incompleteByteCount count: Int, of id: ConnectionID) {
    guard let client = clients[id] else { return }
    assert(count >= 0, "\(count) bytes wait")
    let more = count - client.incompleteByteCount
    clients[existing: id].incompleteByteCount = count
    users[existing: client.userID].incompleteByteCount += more
    incompleteByteCount += more
  }

  private mutating func change(from old: Load, to new: Load, of id: ConnectionID) {
    guard let client = clients[id] else { return }
    let user = users[existing: client.userID]
    clients[existing: id].load = client.load - old + new
    users[existing: client.userID].load = user.load - old + new
    load = load - old + new
  }

  /// Counts the cost of a request, instead of that of an earlier one; disconnects the client if
  /// that is too much.
  private mutating func allow(
    _ new: Load, insteadOf old: Load = Load(), for id: ConnectionID, into actions: inout [Action]
  ) -> Bool {
    guard let client = clients[id], let user = users[client.userID] else { return false }
    guard (client.load - old + new).fits(client.limit),
      (user.load - old + new).fits(limits.perUser), (load - old + new).fits(limits.inAll)
    else {
      refusals.requestCount += 1
      reject(id, .tooManyRequests, into: &actions)
      return false
    }
    change(from: old, to: new, of: id)
    return true
  }

  // MARK: Messages of clients

  private mutating func received(
    _ message: ClientMessage, from id: ConnectionID, now: Instant, into actions: inout [Action]
  ) {
    guard let isGreeted = clients[id]?.isGreeted else { return }
    switch message {
    case .hello(let versions, let wanted):
      guard !isGreeted else { return reject(id, .invalidMessage, into: &actions) }
      let common = versions.clamped(to: PortSharingProtocol.versions)
      guard versions.overlaps(PortSharingProtocol.versions) else {
        return reject(id, .otherVersion, into: &actions)
      }
      guard wanted == configuration else {
        return reject(id, .otherConfiguration, into: &actions)
      }
      clients[existing: id].version = common.upperBound
      actions.append(.send(.welcome(version: common.upperBound), to: id))
      actions.append(.send(.report(.interfaces(interfaces)), to: id))
    case .ping:
      actions.append(.send(.pong, to: id))
    case .leaving:
      guard isGreeted else { return reject(id, .invalidMessage, into: &actions) }
      forget(id, isContinued: true, into: &actions)
      actions.append(.close(id))
    case .request(let request):
      guard isGreeted else { return reject(id, .invalidMessage, into: &actions) }
      take(request, from: id, now: now, into: &actions)
    }
  }

  private mutating func take(
    _ request: DiscoveryRequest, from id: ConnectionID, now: Instant, into actions: inout [Action]
  ) {
    switch request {
    case .startQuery(let query, let what, let index, let options):
      guard clients[id]?.queries[query] == nil else {
        return reject(id, .invalidMessage, into: &actions)
      }
      guard allow(.query, for: id, into: &actions) else { return }
      let number = QueryID(rawValue: nextNumber())
      clients[existing: id].queries[query] = number
      if case .browse = what { clients[existing: id].browsers.insert(query) }
      queryOwners[number] = (id, query)
      actions.append(.forward(.startQuery(number, what, on: index, options: options)))
    case .registerService(let registration, let service):
      let load = Load(service)
      guard let number = add(registration, load, isService: true, of: id, into: &actions) else {
        return
      }
      actions.append(.forward(.registerService(number, service)))
    case .registerRecord(let registration, let record):
      let load = Load(record.record.data)
      guard let number = add(registration, load, isService: false, of: id, into: &actions) else {
        return
      }
      actions.append(.forward(.registerRecord(number, record)))
    case .stopQuery(let query):
      guard let number = remove(query, of: id) else { return }
      actions.append(.forward(.stopQuery(number)))
    case .unregister(let registration):
      guard let number = remove(registration, of: id) else { return }
      actions.append(.forward(.unregister(number)))
    case .updateText, .updateRecord, .setRecord:
      update(request, of: id, into: &actions)
    case .reconfirm:
      // Only a hint (RFC 6762, §10.4), so requests above the limit are dropped.
      if mayReconfirm(id, now: now) {
        actions.append(.forward(request))
      } else {
        refusals.requestCount += 1
      }
    }
  }

  /// Updates a registration. An unknown one was refused, which the client has not been notified of yet.
  private mutating func update(
    _ request: DiscoveryRequest, of id: ConnectionID, into actions: inout [Action]
  ) {
    switch request {
    case .updateText(let registration, let text):
      guard let published = clients[id]?.registrations[registration] else { return }
      var load = published.load
      load.byteCount = text.wireBytes.count
      guard allow(load, insteadOf: published.load, for: id, into: &actions) else { return }
      clients[existing: id].registrations[existing: registration].load = load
      actions.append(.forward(.updateText(published.number, text)))
    case .updateRecord(let registration, let data, let ttlSeconds):
      guard let published = clients[id]?.registrations[registration] else { return }
      var load = published.load
      load.byteCount = data.wireBytes.count
      guard allow(load, insteadOf: published.load, for: id, into: &actions) else { return }
      clients[existing: id].registrations[existing: registration].load = load
      actions.append(.forward(.updateRecord(published.number, data, ttlSeconds: ttlSeconds)))
    case .setRecord(let registration, let addedRecords, let data, let ttlSeconds):
      guard let published = clients[id]?.registrations[registration] else { return }
      let (old, new) = (published.addedRecords[addedRecords], data.map { Load($0) })
      guard allow(new ?? Load(), insteadOf: old ?? Load(), for: id, into: &actions) else { return }
      clients[existing: id].registrations[existing: registration].addedRecords[addedRecords] = new
      actions.append(
        .forward(.setRecord(published.number, addedRecords, data, ttlSeconds: ttlSeconds)))
    case .startQuery, .stopQuery, .reconfirm, .registerService, .registerRecord, .unregister: break
    }
  }

  private mutating func mayReconfirm(_ id: ConnectionID, now: Instant) -> Bool {
    guard var client = clients[id], var user = users[client.userID] else { return false }
    guard
      client.reconfirmations.admits(
        max: limits.reconfirmationsPerClientMax, per: limits.reconfirmationSpan, now: now),
      user.reconfirmations.admits(
        max: limits.reconfirmationsPerUserMax, per: limits.reconfirmationSpan, now: now)
    else { return false }
    clients[existing: id].reconfirmations = client.reconfirmations
    users[existing: client.userID].reconfirmations = user.reconfirmations
    return true
  }

  private mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  private mutating func add(
    _ registration: RegistrationID, _ load: Load, isService: Bool, of id: ConnectionID,
    into actions: inout [Action]
  ) -> RegistrationID? {
    guard clients[id]?.registrations[registration] == nil else {
      reject(id, .invalidMessage, into: &actions)
      return nil
    }
    guard allow(load, for: id, into: &actions) else { return nil }
    let number = RegistrationID(rawValue: nextNumber())
    clients[existing: id].registrations[registration] = ClientRegistration(
      number: number, isService: isService, load: load)
    registrationOwners[number] = (id, registration)
    return number
  }

  private mutating func remove(_ query: QueryID, of id: ConnectionID) -> QueryID? {
    guard let number = clients[id]?.queries.removeValue(forKey: query) else { return nil }
    clients[id]?.browsers.remove(query)
    let owner = queryOwners.removeValue(forKey: number)
    assert(owner?.client == id, "query \(number) is of another client than \(id)")
    change(from: .query, to: Load(), of: id)
    return number
  }

  private mutating func remove(_ registration: RegistrationID, of id: ConnectionID)
    -> RegistrationID?
  {
    guard let published = clients[id]?.registrations.removeValue(forKey: registration) else {
      return nil
    }
    let owner = registrationOwners.removeValue(forKey: published.number)
    assert(owner?.client == id, "\(published.number) is of another client than \(id)")
    change(from: published.addedRecords.values.reduce(published.load, +), to: Load(), of: id)
    return published.number
  }

  // MARK: Reports of the machines

  private mutating func pass(_ report: DiscoveryReport, into actions: inout [Action]) {
    switch report {
    case .found(let number, let event, let index, let moreComing):
      guard let (client, id) = queryOwners[number] else { return }
      if case .failed = event { _ = remove(id, of: client) }
      actions.append(
        .send(.report(.found(id, event, on: index, moreComing: moreComing)), to: client))
    case .answersFromCache(let number):
      guard let (client, id) = queryOwners[number], clients[client]?.isRecent == true else {
        return
      }
      actions.append(.send(.report(.answersFromCache(id)), to: client))
    case .registered(let number, let name):
      // Not the host's own name.
      guard let (client, id) = registrationOwners[number] else { return }
      actions.append(.send(.report(.registered(id, name)), to: client))
    case .refused(let number, let name):
      guard let (client, id) = registrationOwners[number] else { return }
      _ = remove(id, of: client)
      actions.append(.send(.report(.refused(id, name)), to: client))
    case .interfaces(let all):
      interfaces = all
      for (client, state) in clients.sorted(by: { $0.key < $1.key }) where state.isGreeted {
        actions.append(.send(.report(report), to: client))
      }
    }
  }
}
