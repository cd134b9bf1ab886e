import DNSWire
import Essentials

// What must hold between the clients, the interfaces and the questions whenever a querier is not at
// work.

extension Querier {
  /// Stops a debug build whose tables contradict each other. Release builds check nothing. Only so
  /// many entries of a table are checked: there may be thousands.
  func assertInvariants() {
    let limit = 4
    assert(
      violations(perTable: limit).isEmpty, violations(perTable: limit).joined(separator: "; "))
  }

  /// How the tables contradict each other; a sentence for each contradiction.
  ///
  /// - Parameter limit: How many entries of each table are checked.
  package func violations(perTable limit: Int = .max) -> [String] {
    var found: [String] = []
    if !unsettled.isEmpty { found.append("a resolution is not settled") }
    if clients.count > QuerierLimits.clientsMax { found.append("\(clients.count) clients") }
    for (id, client) in clients.prefix(limit) { found += violations(of: client, id) }
    for (name, row) in subscriptions.prefix(limit) {
      found += violations(of: row.prefix(limit), to: name)
    }
    for (interface, next) in zip(interfaces, interfaces.dropFirst())
    where interface.interface.index >= next.interface.index {
      found.append("the interfaces are in no order")
    }
    for interface in interfaces {
      found += interface.violations(perTable: limit)
      for (key, ask) in interface.asks.prefix(limit) {
        let row = subscriptions[key.name] ?? []
        guard row.count <= max(limit, 16) else { continue }
        let count = row.count { subscription in
          subscription.type == key.type
            && clients[subscription.query]?.isInterested(in: interface.interface.index) == true
        }
        if count != ask.clientCount { found.append("\(count) clients, not \(ask.clientCount)") }
      }
    }
    return found
  }

  private func violations(of client: Client, _ id: QueryID) -> [String] {
    var found: [String] = []
    if client.id != id { found.append("query \(id.rawValue) has another number") }
    if Set(client.keys).count != client.keys.count {
      found.append("query \(id.rawValue) has a question twice")
    }
    for key in client.keys {
      let row = subscriptions[key.name] ?? []
      if row.count <= 16, !row.contains(where: { $0.query == id && $0.type == key.type }) {
        found.append("query \(id.rawValue) has no answers to one of its questions")
      }
    }
    if client.aliases.count > QuerierLimits.aliasesMax {
      found.append("query \(id.rawValue) follows \(client.aliases.count) aliases")
    }
    if client.endsAt != nil, clientEnds.count == 0 { found.append("a timeout is forgotten") }
    for (index, resolution) in client.resolutions {
      if !client.isResolving || position(of: index) == nil {
        found.append("query \(id.rawValue) resolves for nothing")
      }
      if let choice = resolution.choice, resolution.reported == nil, resolution.textDueAt == nil {
        found.append("query \(id.rawValue) waits for no text of \(choice.target)")
      }
    }
    return found
  }

  private func violations(of row: ArraySlice<Subscription>, to name: DNSName) -> [String] {
    var found = row.isEmpty ? ["a name without subscriptions"] : []
    for subscription in row
    where clients[subscription.query]?.keys.contains(QuestionKey(name, subscription.type)) != true {
      found.append("query \(subscription.query.rawValue) gets what it doesn't ask for")
    }
    return found
  }
}

extension InterfaceQuerier {
  /// How the tables contradict each other; a sentence for each contradiction.
  ///
  /// - Parameter limit: How many entries of each table are checked.
  func violations(perTable limit: Int) -> [String] {
    var found = cache.violations(perTable: limit)
    if !refreshes.isEmpty { found.append("a refresh is left") }
    if reconfirmations.count > QuerierLimits.reconfirmationsMax {
      found.append("\(reconfirmations.count) reconfirmations")
    }
    for (key, ask) in asks.prefix(limit) {
      if ask.clientCount < 1 { found.append("a question is asked for \(ask.clientCount) clients") }
      if cache.wantCount(key) != ask.clientCount {
        found.append("records are kept for \(cache.wantCount(key)) of \(ask.clientCount) clients")
      }
      if askedTypes[key.name]?.count(where: { $0 == key.type }) != 1 {
        found.append("a question is not found by its name")
      }
      if ask.queuedAt > ask.dueAt { found.append("a question is queued after it is due") }
      if ask.queuedAt < .distantFuture, queue.next.map({ $0 > ask.queuedAt }) ?? true {
        found.append("a question is not queued")
      }
    }
    if asks.count <= limit, askedTypes.values.reduce(0, { $0 + $1.count }) != asks.count {
      found.append("a name has a question that is not asked")
    }
    return found
  }
}
