import DNSWire
import Essentials

extension Querier {
  /// One client's query.
  struct Client: Sendable {
    let id: QueryID
    let request: QueryRequest
    /// The only interface that counts; nil if all do.
    let interface: InterfaceIndex?
    let options: QueryOptions
    /// When it ends by itself.
    let endsAt: Instant?
    /// The keys that it queries, including the targets of aliases.
    var keys: [QuestionKey] = []
    /// The aliases it follows: from which name to which.
    var aliases: [DNSName: DNSName] = [:]
    /// Its resolutions, by interface.
    var resolutions: [InterfaceIndex: Resolution] = [:]

    /// Whether its results are resolutions, which are composed of several records.
    var isResolving: Bool {
      if case .resolve = request { true } else { false }
    }

    /// Whether records of an interface are for it. Services that are local to this machine are
    /// found on all; the host's name has other addresses there, which are not.
    func isInterested(in index: InterfaceIndex) -> Bool {
      if let interface { return interface == index }
      guard index == .localOnly else { return true }
      switch request {
      case .browse, .resolve, .serviceTypes: return true
      case .records, .addresses, .domains: return false
      }
    }

    /// Whether a query for one type gets a record of another: an alias, perhaps.
    func isNotified(_ type: DNSType, askedFor asked: DNSType) -> Bool {
      type == asked || asked == .any || (type == .cname && options.reportsAliases)
    }
  }

  // MARK: Coming and going

  mutating func open(
    _ id: QueryID, _ request: QueryRequest, on index: InterfaceIndex?, _ options: QueryOptions,
    now: Instant, into actions: inout [Action]
  ) {
    do throws(QueryError) {
      guard clients[id] == nil else { throw .identifierInUse }
      guard clients.count < QuerierLimits.clientsMax else { throw .tooManyClients }
      let keys = try request.keys()
      for key in keys where !options.reachesBeyondLink && !key.name.isOnThisLink {
        throw .notOnThisLink(key.name)
      }
      let endsAt = options.timeout.map { now + $0 }
      if let endsAt { remember(endsAt, of: id) }
      clients[id] = Client(
        id: id, request: request, interface: index, options: options, endsAt: endsAt)
      if case .domains = request {
        // The domain that is always there (RFC 6763, §11).
        actions.append(.deliver(id, .domainAdded(.local), on: nil, moreComing: false))
      }
      for key in keys { subscribe(id, to: key, now: now, into: &actions) }
    } catch {
      actions.append(.deliver(id, .failed(error), on: nil, moreComing: false))
    }
  }

  /// Remembers when a client ends. Those that ended earlier are forgotten now and then: there may
  /// be any number of them.
  private mutating func remember(_ end: Instant, of id: QueryID) {
    if clientEnds.count > 2 * clients.count + 64 {
      clientEnds.prune { clients[$1]?.endsAt == $0 }
    }
    clientEnds.insert(id, at: end)
  }

  mutating func close(_ id: QueryID) {
    guard let client = clients.removeValue(forKey: id) else { return }
    for key in client.keys { unsubscribe(client, from: key) }
  }

  /// Subscribes a client to one more key, and reports cached records.
  private mutating func subscribe(
    _ id: QueryID, to key: QuestionKey, now: Instant, into actions: inout [Action]
  ) {
    guard let client = clients[id], !client.keys.contains(key) else { return }
    assert(
      client.keys.count <= 2 * (1 + QuerierLimits.aliasesMax), "aliases lead to too many names")
    clients[existing: id].keys.append(key)
    let subscription = Subscription(query: id, type: key.type, startedAt: now)
    subscriptions[key.name, default: []].append(subscription)
    for position in interfaces.indices where isInScope(client, interfaces[position]) {
      let index = interfaces[position].interface.index
      interfaces[position].start(key, isProvoked: false, now: now)
      for entry in interfaces[position].cache.answers(to: key)
      where subscription.isNotified(ofOneThatLeftAt: entry.goodbyeAt) {
        report(id, entry.record, isAdded: true, on: index, into: &actions)
      }
      let aliases = interfaces[position].cache.answers(to: QuestionKey(key.name, .cname))
        .filter { $0.goodbyeAt == nil }
      if interfaces[position].cache.denies(key), aliases.isEmpty {
        reportAbsent(id, key, on: index, into: &actions)
      }
      for entry in aliases where key.type != .cname {
        if key.type != .any, client.isNotified(.cname, askedFor: key.type) {
          report(id, entry.record, isAdded: true, on: index, into: &actions)
        }
        follow(entry.record, for: id, now: now, into: &actions)
      }
    }
  }

  private mutating func unsubscribe(_ client: Client, from key: QuestionKey) {
    subscriptions[existing: key.name].removeAll { $0.query == client.id && $0.type == key.type }
    if subscriptions[existing: key.name].isEmpty { subscriptions[key.name] = nil }
    for position in interfaces.indices where isInScope(client, interfaces[position]) {
      interfaces[position].stop(key)
    }
  }

  private func isInScope(_ client: Client, _ interface: InterfaceQuerier) -> Bool {
    client.isInterested(in: interface.interface.index)
  }

  // MARK: Aliases

  /// A query for an aliased name includes the name of its target (RFC 1034, §3.6.2).
  mutating func follow(_ record: DNSRecord, now: Instant, into actions: inout [Action]) {
    guard case .cname = record.data else { return }
    let ids = Set((subscriptions[record.name] ?? []).filter { $0.type != .cname }.map(\.query))
    for id in ids.sorted() { follow(record, for: id, now: now, into: &actions) }
  }

  private mutating func follow(
    _ record: DNSRecord, for id: QueryID, now: Instant, into actions: inout [Action]
  ) {
    guard case .cname(let target) = record.data, let client = clients[id],
      client.request.followsAliases, client.aliases[record.name] == nil,
      client.aliases.count < QuerierLimits.aliasesMax,
      target != record.name, client.aliases[target] == nil,
      client.options.reachesBeyondLink || target.isOnThisLink
    else { return }
    clients[existing: id].aliases[record.name] = target
    for key in client.keys where key.name == record.name && key.type != .cname {
      subscribe(id, to: QuestionKey(target, key.type), now: now, into: &actions)
    }
  }

  /// An alias ended: results for its target are removed. Another alias may follow.
  mutating func unfollow(_ record: DNSRecord, now: Instant, into actions: inout [Action]) {
    guard case .cname(let target) = record.data else { return }
    for id in Set((subscriptions[record.name] ?? []).map(\.query)).sorted() {
      guard let client = clients[id], client.aliases[record.name] == target,
        !interfaces.contains(where: { isInScope(client, $0) && $0.cache.isKnown(record) })
      else { continue }
      forget(aliasesFrom: record.name, for: id, into: &actions)
      for interface in interfaces where isInScope(client, interface) {
        for entry in interface.cache.answers(to: QuestionKey(record.name, .cname))
        where entry.goodbyeAt == nil {
          follow(entry.record, for: id, now: now, into: &actions)
        }
      }
    }
  }

  /// Stops asking for everything that a row of aliases leads to.
  private mutating func forget(
    aliasesFrom name: DNSName, for id: QueryID, into actions: inout [Action]
  ) {
    var owner = name
    while let target = clients[id]?.aliases.removeValue(forKey: owner), let client = clients[id] {
      clients[existing: id].keys.removeAll { $0.name == target }
      for key in client.keys where key.name == target {
        let subscription = subscriptions[target]?.first { $0.query == id && $0.type == key.type }
        unsubscribe(client, from: key)
        for interface in interfaces where isInScope(client, interface) {
          let index = interface.interface.index
          for entry in interface.cache.answers(to: QuestionKey(key.name, .any))
          where client.isNotified(entry.record.type, askedFor: key.type)
            && subscription?.isNotified(ofOneThatLeftAt: entry.goodbyeAt) ?? true
          {
            report(id, entry.record, isAdded: false, on: index, into: &actions)
          }
        }
      }
      owner = target
    }
  }

  // MARK: Reporting

  /// Reports a record to all clients that subscribed to it. After its goodbye, clients that got it
  /// before get its end, and all others get it as new.
  mutating func report(
    _ record: DNSRecord, isAdded: Bool, _ goodbyeAt: Instant?, on index: InterfaceIndex,
    into actions: inout [Action]
  ) {
    for subscription in subscriptions[record.name] ?? [] {
      guard let client = clients[subscription.query], client.isInterested(in: index),
        client.isNotified(record.type, askedFor: subscription.type),
        goodbyeAt == nil || client.isResolving
          || subscription.isNotified(ofOneThatLeftAt: goodbyeAt) != isAdded
      else { continue }
      report(client.id, record, isAdded: isAdded, on: index, into: &actions)
    }
  }

  private mutating func report(
    _ id: QueryID, _ record: DNSRecord, isAdded: Bool, on index: InterfaceIndex,
    into actions: inout [Action]
  ) {
    guard let client = clients[id] else { return }
    if case .resolve = client.request {
      unsettled.append(Resolving(query: id, interface: index))
    } else if let event = client.request.event(for: record, isAdded: isAdded) {
      actions.append(.deliver(id, event, on: index, moreComing: true))
    }
  }

  /// An alias has no other records, and yet there may be some behind it.
  mutating func reportAbsent(
    _ key: QuestionKey, on index: InterfaceIndex, into actions: inout [Action]
  ) {
    guard let position = position(of: index),
      interfaces[position].cache.answers(to: QuestionKey(key.name, .cname))
        .allSatisfy({ $0.goodbyeAt != nil })
    else { return }
    for subscription in subscriptions[key.name] ?? [] where subscription.type == key.type {
      guard let client = clients[subscription.query], client.isInterested(in: index) else {
        continue
      }
      reportAbsent(client.id, key, on: index, into: &actions)
    }
  }

  private mutating func reportAbsent(
    _ id: QueryID, _ key: QuestionKey, on index: InterfaceIndex, into actions: inout [Action]
  ) {
    switch clients[id]?.request {
    case .records:
      actions.append(.deliver(id, .recordAbsent(key.type), on: index, moreComing: true))
    case .addresses:
      let version: IPVersion = key.type == .a ? .v4 : .v6
      actions.append(.deliver(id, .addressAbsent(version), on: index, moreComing: true))
    case .resolve: unsettled.append(Resolving(query: id, interface: index))
    case .browse, .serviceTypes, .domains, nil: break
    }
  }
}

extension QueryRequest {
  /// Whether the name may be an alias: that of a host, or of any record. Services and their types
  /// may not; behind an alias the same service would be found twice.
  var followsAliases: Bool {
    switch self {
    case .records, .addresses: true
    case .browse, .resolve, .serviceTypes, .domains: false
    }
  }

  /// Whether it queries records of this name that are a host's own.
  func isAbout(_ host: DNSName) -> Bool {
    switch self {
    case .records(let name, _), .addresses(let name, _): name == host
    case .browse, .resolve, .serviceTypes, .domains: false
    }
  }

  /// The keys to query.
  func keys() throws(QueryError) -> [QuestionKey] {
    do {
      switch self {
      case .records(let name, let type): return [QuestionKey(name, type)]
      case .browse(let type, let subtype, let domain):
        let name =
          try subtype.map { try type.name(ofSubtype: $0, in: domain) } ?? type.name(in: domain)
        return [QuestionKey(name, .ptr)]
      case .resolve(let service):
        return [QuestionKey(service.name, .srv), QuestionKey(service.name, .txt)]
      case .addresses(let host, let versions):
        return IPVersion.allCases.filter(versions.contains).map { version in
          QuestionKey(host, version == .v4 ? .a : .aaaa)
        }
      case .serviceTypes(let domain):
        let types: DNSName = "_services._dns-sd._udp."
        return [QuestionKey(try types.appending(domain), .ptr)]
      case .domains(let use): return [QuestionKey(use.name, .ptr)]
      }
    } catch {
      throw .nameTooLong
    }
  }

  /// The event of a record for this request; nil if the record doesn't concern it.
  func event(for record: DNSRecord, isAdded: Bool) -> QueryEvent? {
    switch (self, record.data) {
    case (.records, _): return isAdded ? .recordAdded(record) : .recordRemoved(record)
    case (.browse(let type, _, _), .ptr(let target)):
      guard let service = ServiceName(target), service.type == type else { return nil }
      return isAdded ? .serviceAdded(service) : .serviceRemoved(service)
    case (.addresses, .a(let address)):
      let address = InetAddress.v4(address)
      return isAdded
        ? .addressAdded(address, ttlSeconds: record.ttlSeconds) : .addressRemoved(address)
    case (.addresses, .aaaa(let address)):
      let address = InetAddress.v6(address)
      return isAdded
        ? .addressAdded(address, ttlSeconds: record.ttlSeconds) : .addressRemoved(address)
    case (.serviceTypes, .ptr(let target)):
      guard let type = ServiceType(labelsOf: target) else { return nil }
      return isAdded ? .typeAdded(type) : .typeRemoved(type)
    case (.domains, .ptr(let domain)):
      // That one was reported at the beginning.
      guard domain != .local else { return nil }
      return isAdded ? .domainAdded(domain) : .domainRemoved(domain)
    case (.browse, _), (.resolve, _), (.addresses, _), (.serviceTypes, _), (.domains, _):
      return nil
    }
  }
}
