import DiscoveryMachines
import Essentials

// What must hold between the tables of an owner whenever it is not at work.

extension OwnerMachine {
  /// Stops a debug build whose tables contradict each other. Release builds check nothing. Only so
  /// many entries of a table are checked: there may be thousands.
  func assertInvariants() {
    let limit = 16
    assert(
      violations(perTable: limit).isEmpty, violations(perTable: limit).joined(separator: "; "))
  }

  /// How the tables contradict each other; a sentence for each contradiction.
  ///
  /// - Parameter limit: How many entries of each table are checked. Sums are where there are no
  ///   more.
  package func violations(perTable limit: Int = .max) -> [String] {
    var found: [String] = []
    for (id, client) in clients.prefix(limit) { found += violations(of: client, id) }
    found += ownerViolations(perTable: limit) + limitViolations(perTable: limit)
    if clients.count <= limit { found += sumViolations() }
    return found
  }

  private func violations(of client: Client, _ id: ConnectionID) -> [String] {
    var found: [String] = []
    if users[client.userID] == nil { found.append("client \(id.rawValue) is of no user") }
    if !client.isGreeted {
      if nextWake == nil { found.append("a greeting is waited for without an end") }
      if client.load != Load() { found.append("client \(id.rawValue) has a load before it greets") }
    }
    if !client.browsers.allSatisfy({ client.queries[$0] != nil }) {
      found.append("client \(id.rawValue) browses with a query that it doesn't have")
    }
    for (query, number) in client.queries.prefix(16) {
      if let owner = queryOwners[number], owner == (id, query) { continue }
      found.append("query \(number.rawValue) is of another client than \(id.rawValue)")
    }
    for (registration, published) in client.registrations.prefix(16) {
      if let owner = registrationOwners[published.number], owner == (id, registration) { continue }
      found.append("registration \(published.number.rawValue) is not of \(id.rawValue)")
    }
    return found
  }

  private func ownerViolations(perTable limit: Int) -> [String] {
    var found: [String] = []
    for (number, owner) in queryOwners.prefix(limit) {
      if clients[owner.client]?.queries[owner.id] != number {
        found.append("query \(number.rawValue) is unknown to its client")
      }
      if number.rawValue <= Self.firstNumber || number.rawValue > lastNumber {
        found.append("the number of query \(number.rawValue) was never given")
      }
    }
    for (number, owner) in registrationOwners.prefix(limit)
    where clients[owner.client]?.registrations[owner.id]?.number != number {
      found.append("registration \(number.rawValue) is unknown to its client")
    }
    return found
  }

  private func limitViolations(perTable limit: Int) -> [String] {
    var found: [String] = []
    if clients.count > limits.clientsMax { found.append("\(clients.count) clients") }
    if !load.fits(limits.inAll) { found.append("the load is too much") }
    for (id, user) in users.prefix(limit) {
      if user.clientCount < 1 || user.clientCount > limits.clientsPerUserMax {
        found.append("user \(id) has \(user.clientCount) clients")
      }
      if !user.load.fits(limits.perUser) { found.append("the load of user \(id) is too much") }
      if user.incompleteByteCount < 0 { found.append("user \(id) owes bytes") }
    }
    return found
  }

  /// What is counted for each client, for each user and in all is the same.
  private func sumViolations() -> [String] {
    var found: [String] = []
    var sums: [UInt32: User] = [:]
    for (id, client) in clients {
      sums[client.userID, default: User()].clientCount += 1
      sums[existing: client.userID].load = sums[existing: client.userID].load + client.load
      sums[existing: client.userID].incompleteByteCount += client.incompleteByteCount
      let loads = client.registrations.values.flatMap { [$0.load] + $0.addedRecords.values }
      let load = loads.reduce(Load(requestCount: client.queries.count), +)
      if client.load != load { found.append("the load of client \(id.rawValue) is another") }
    }
    for (id, user) in users {
      let sum = sums[id] ?? User()
      if (user.clientCount, user.load, user.incompleteByteCount)
        != (sum.clientCount, sum.load, sum.incompleteByteCount)
      {
        found.append("what is counted for user \(id) is not that of the clients")
      }
    }
    if load != users.values.reduce(Load(), { $0 + $1.load }) {
      found.append("the load is not that of the users")
    }
    if incompleteByteCount != users.values.reduce(0, { $0 + $1.incompleteByteCount }) {
      found.append("the bytes that wait are not those of the users")
    }
    if queryOwners.count != clients.values.reduce(0, { $0 + $1.queries.count })
      || registrationOwners.count != clients.values.reduce(0, { $0 + $1.registrations.count })
    {
      found.append("requests of no client")
    }
    return found
  }
}
