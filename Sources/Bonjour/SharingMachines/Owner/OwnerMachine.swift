import DNSWire
public import DiscoveryMachines
import Essentials

/// The owner of port 5353 among the hosts it works for: who wants what, under which numbers, and how
/// much of it.
///
/// The host of the owner's own process is one of them and has no bounds; its numbers are used as they
/// are. Those of clients are replaced by ones that nobody else has.
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
    /// What it said makes no sense.
    case misunderstood(ClientID)
    /// Its connection has ended.
    case left(ClientID)
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

  /// How much each may want.
  public struct Limits: Sendable {
    /// Clients at once, of all users.
    public var clientsMax = 10_000
    /// Clients at once of one user.
    public var clientsPerUserMax = 6_000
    /// Publications and queries at once of one client.
    public var wishesPerClientMax = 10_000
    /// Publications and queries at once of one user's clients.
    public var wishesPerUserMax = 20_000
    /// Publications and queries at once of all clients; the machines take 50,000 queries.
    public var wishesMax = 40_000

    /// What 5,000 programs of one user with a few wishes each need, and one with 5,000.
    public init() {}
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
    var isGreeted = false
    var queries: [QueryID: QueryID] = [:]
    var registrations: [RegistrationID: RegistrationID] = [:]
    /// The numbers of services' further records.
    var further: [RegistrationID: Set<UInt32>] = [:]
    var wishCount = 0
  }

  private struct User: Sendable {
    var clientCount = 0
    var wishCount = 0
  }

  private let configuration: SharedConfiguration
  private let trust: Trust
  private let limits: Limits
  private var clients: [ClientID: Client] = [:]
  private var users: [UInt32: User] = [:]
  private var wishCount = 0
  private var queryOwners: [QueryID: (client: ClientID, id: QueryID)] = [:]
  private var registrationOwners: [RegistrationID: (client: ClientID, id: RegistrationID)] = [:]
  private var interfaces: [InterfaceIndex: String] = [:]
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
  public mutating func handle(_ event: Event, into actions: inout [Action]) {
    switch event {
    case .arrived(let client, let userID): arrived(client, userID, into: &actions)
    case .received(let message, let client): received(message, from: client, into: &actions)
    case .misunderstood(let client): turnAway(client, .misunderstood, into: &actions)
    case .left(let client): forget(client, into: &actions)
    case .request(let request): actions.append(.forward(request))
    case .report(let report): pass(report, into: &actions)
    }
  }

  // MARK: Coming and going

  private mutating func arrived(
    _ id: ClientID, _ userID: UInt32, into actions: inout [Action]
  ) {
    let user = users[userID] ?? User()
    let hasRoom =
      clients.count < limits.clientsMax && user.clientCount < limits.clientsPerUserMax
    guard hasRoom, trust.serves(userID) else {
      actions.append(.send(.turnedAway(hasRoom ? .otherUser : .tooManyClients), to: id))
      return actions.append(.close(id))
    }
    clients[id] = Client(userID: userID)
    users[userID, default: User()].clientCount += 1
  }

  private mutating func turnAway(
    _ id: ClientID, _ refusal: OwnerMessage.Refusal, into actions: inout [Action]
  ) {
    guard clients[id] != nil else { return }
    actions.append(.send(.turnedAway(refusal), to: id))
    actions.append(.close(id))
    forget(id, into: &actions)
  }

  /// Withdraws what a client published and ends what it looked for.
  private mutating func forget(_ id: ClientID, into actions: inout [Action]) {
    guard let client = clients.removeValue(forKey: id) else { return }
    for number in client.registrations.values.sorted(by: { $0.rawValue < $1.rawValue }) {
      registrationOwners[number] = nil
      actions.append(.forward(.withdraw(number)))
    }
    for number in client.queries.values.sorted() {
      queryOwners[number] = nil
      actions.append(.forward(.stopAsking(number)))
    }
    wishCount -= client.wishCount
    users[client.userID]?.wishCount -= client.wishCount
    users[client.userID]?.clientCount -= 1
    if users[client.userID]?.clientCount == 0 { users[client.userID] = nil }
  }

  private mutating func count(_ change: Int, for id: ClientID) {
    guard let userID = clients[id]?.userID else { return }
    clients[id]?.wishCount += change
    users[userID]?.wishCount += change
    wishCount += change
  }

  // MARK: What clients say

  private mutating func received(
    _ message: ClientMessage, from id: ClientID, into actions: inout [Action]
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
      take(request, from: id, into: &actions)
    }
  }

  private mutating func take(
    _ request: HostRequest, from id: ClientID, into actions: inout [Action]
  ) {
    switch request {
    case .ask(let query, let what, let index, let options):
      guard clients[id]?.queries[query] == nil else {
        return turnAway(id, .misunderstood, into: &actions)
      }
      guard mayWish(id) else { return turnAway(id, .tooMuchWanted, into: &actions) }
      let number = QueryID(rawValue: nextNumber(for: id))
      clients[id]?.queries[query] = number
      queryOwners[number] = (id, query)
      actions.append(.forward(.ask(number, what, on: index, options: options)))
    case .publish(let registration, let service):
      guard let number = add(registration, of: id, into: &actions) else { return }
      actions.append(.forward(.publish(number, service)))
    case .publishRecord(let registration, let record):
      guard let number = add(registration, of: id, into: &actions) else { return }
      actions.append(.forward(.publishRecord(number, record)))
    case .stopAsking(let query):
      guard let number = remove(query, of: id) else { return }
      actions.append(.forward(.stopAsking(number)))
    case .withdraw(let registration):
      guard let number = remove(registration, of: id) else { return }
      actions.append(.forward(.withdraw(number)))
    case .updateText(let registration, let text):
      // What is not there was refused, and the client had not heard of it.
      guard let number = clients[id]?.registrations[registration] else { return }
      actions.append(.forward(.updateText(number, text)))
    case .updateRecord(let registration, let data, let ttlSeconds):
      guard let number = clients[id]?.registrations[registration] else { return }
      actions.append(.forward(.updateRecord(number, data, ttlSeconds: ttlSeconds)))
    case .setFurtherRecord(let registration, let further, let data, let ttlSeconds):
      guard let number = clients[id]?.registrations[registration] else { return }
      guard note(further, of: registration, isThere: data != nil, id) else {
        return turnAway(id, .tooMuchWanted, into: &actions)
      }
      actions.append(
        .forward(.setFurtherRecord(number, further, data, ttlSeconds: ttlSeconds)))
    case .doubt: actions.append(.forward(request))
    }
  }

  /// Counts a further record; false if it is one too many.
  private mutating func note(
    _ number: UInt32, of registration: RegistrationID, isThere: Bool, _ id: ClientID
  ) -> Bool {
    let wasThere = clients[id]?.further[registration]?.contains(number) ?? false
    guard isThere != wasThere else { return true }
    if isThere {
      guard mayWish(id) else { return false }
      clients[id]?.further[registration, default: []].insert(number)
    } else {
      clients[id]?.further[registration]?.remove(number)
    }
    count(isThere ? 1 : -1, for: id)
    return true
  }

  private func mayWish(_ id: ClientID) -> Bool {
    guard let client = clients[id], let user = users[client.userID] else { return false }
    return client.wishCount < limits.wishesPerClientMax && user.wishCount < limits.wishesPerUserMax
      && wishCount < limits.wishesMax
  }

  private mutating func nextNumber(for id: ClientID) -> UInt64 {
    lastNumber += 1
    count(1, for: id)
    return lastNumber
  }

  private mutating func add(
    _ registration: RegistrationID, of id: ClientID, into actions: inout [Action]
  ) -> RegistrationID? {
    guard clients[id]?.registrations[registration] == nil else {
      turnAway(id, .misunderstood, into: &actions)
      return nil
    }
    guard mayWish(id) else {
      turnAway(id, .tooMuchWanted, into: &actions)
      return nil
    }
    let number = RegistrationID(rawValue: nextNumber(for: id))
    clients[id]?.registrations[registration] = number
    registrationOwners[number] = (id, registration)
    return number
  }

  private mutating func remove(_ query: QueryID, of id: ClientID) -> QueryID? {
    guard let number = clients[id]?.queries.removeValue(forKey: query) else { return nil }
    queryOwners[number] = nil
    count(-1, for: id)
    return number
  }

  private mutating func remove(_ registration: RegistrationID, of id: ClientID) -> RegistrationID? {
    guard let number = clients[id]?.registrations.removeValue(forKey: registration) else {
      return nil
    }
    let further = clients[id]?.further.removeValue(forKey: registration)?.count ?? 0
    registrationOwners[number] = nil
    count(-1 - further, for: id)
    return number
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
