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
    /// What it asks for, those behind aliases included.
    var keys: [QuestionKey] = []
    /// The aliases it follows: from which name to which.
    var aliases: [DNSName: DNSName] = [:]
    /// What it was told about a service, by interface.
    var resolutions: [InterfaceIndex: Resolution] = [:]

    /// Whether it is told places, which are put together of several records.
    var isResolving: Bool {
      if case .resolve = request { true } else { false }
    }

    /// Whether what is heard on an interface counts. Services of this machine only are found
    /// everywhere; its name means other addresses there, which are not for all.
    func isInterested(in index: InterfaceIndex) -> Bool {
      if let interface { return interface == index }
      guard index == .localOnly else { return true }
      switch request {
      case .browse, .resolve, .serviceTypes: return true
      case .records, .addresses, .domains: return false
      }
    }

    /// Whether who asked for one type is told a record of another: an alias on the way, perhaps.
    func isTold(_ type: DNSType, askedFor asked: DNSType) -> Bool {
      type == asked || asked == .any || (type == .cname && options.tellsAliases)
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

  /// Remembers when a client ends. Those that ended earlier are forgotten now and then: there may be
  /// any number of them.
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

  /// Asks for one more thing on a client's behalf, and tells what is known already.
  private mutating func subscribe(
    _ id: QueryID, to key: QuestionKey, now: Instant, into actions: inout [Action]
  ) {
    guard let client = clients[id], !client.keys.contains(key) else { return }
    clients[id]?.keys.append(key)
    let subscription = Subscription(query: id, type: key.type, startedAt: now)
    subscriptions[key.name, default: []].append(subscription)
    for place in interfaces.indices where isInScope(client, interfaces[place]) {
      let index = interfaces[place].interface.index
      interfaces[place].start(key, isProvoked: false, now: now)
      for entry in interfaces[place].cache.answers(to: key)
      where subscription.isTold(ofOneThatLeftAt: entry.goodbyeAt) {
        tell(id, entry.record, isAdded: true, on: index, into: &actions)
      }
      let aliases = interfaces[place].cache.answers(to: QuestionKey(key.name, .cname))
        .filter { $0.goodbyeAt == nil }
      if interfaces[place].cache.denies(key), aliases.isEmpty {
        tellAbsent(id, key, on: index, into: &actions)
      }
      for entry in aliases where key.type != .cname {
        if key.type != .any, client.isTold(.cname, askedFor: key.type) {
          tell(id, entry.record, isAdded: true, on: index, into: &actions)
        }
        follow(entry.record, for: id, now: now, into: &actions)
      }
    }
  }

  private mutating func unsubscribe(_ client: Client, from key: QuestionKey) {
    subscriptions[key.name]?.removeAll { $0.query == client.id && $0.type == key.type }
    if subscriptions[key.name]?.isEmpty == true { subscriptions[key.name] = nil }
    for place in interfaces.indices where isInScope(client, interfaces[place]) {
      interfaces[place].stop(key)
    }
  }

  private func isInScope(_ client: Client, _ interface: InterfaceQuerier) -> Bool {
    client.isInterested(in: interface.interface.index)
  }

  // MARK: Aliases

  /// Whoever asks for an aliased name asks for the name behind it, too (RFC 1034, §3.6.2).
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
    clients[id]?.aliases[record.name] = target
    for key in client.keys where key.name == record.name && key.type != .cname {
      subscribe(id, to: QuestionKey(target, key.type), now: now, into: &actions)
    }
  }

  /// An alias ended: what was found behind it no longer counts. Another one may take its place.
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
      clients[id]?.keys.removeAll { $0.name == target }
      for key in client.keys where key.name == target {
        let subscription = subscriptions[target]?.first { $0.query == id && $0.type == key.type }
        unsubscribe(client, from: key)
        for interface in interfaces where isInScope(client, interface) {
          let index = interface.interface.index
          for entry in interface.cache.answers(to: QuestionKey(key.name, .any))
          where client.isTold(entry.record.type, askedFor: key.type)
            && subscription?.isTold(ofOneThatLeftAt: entry.goodbyeAt) ?? true
          {
            tell(id, entry.record, isAdded: false, on: index, into: &actions)
          }
        }
      }
      owner = target
    }
  }

  // MARK: Telling

  /// Tells everybody whose question a record answers. If it had said goodbye, whoever was told of it
  /// before that is told of its end, and everybody else that it is there again.
  mutating func tell(
    _ record: DNSRecord, isAdded: Bool, _ goodbyeAt: Instant?, on index: InterfaceIndex,
    into actions: inout [Action]
  ) {
    for subscription in subscriptions[record.name] ?? [] {
      guard let client = clients[subscription.query], client.isInterested(in: index),
        client.isTold(record.type, askedFor: subscription.type),
        goodbyeAt == nil || client.isResolving
          || subscription.isTold(ofOneThatLeftAt: goodbyeAt) != isAdded
      else { continue }
      tell(client.id, record, isAdded: isAdded, on: index, into: &actions)
    }
  }

  private mutating func tell(
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
  mutating func tellAbsent(
    _ key: QuestionKey, on index: InterfaceIndex, into actions: inout [Action]
  ) {
    guard let place = place(of: index),
      interfaces[place].cache.answers(to: QuestionKey(key.name, .cname))
        .allSatisfy({ $0.goodbyeAt != nil })
    else { return }
    for subscription in subscriptions[key.name] ?? [] where subscription.type == key.type {
      guard let client = clients[subscription.query], client.isInterested(in: index) else {
        continue
      }
      tellAbsent(client.id, key, on: index, into: &actions)
    }
  }

  private mutating func tellAbsent(
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
  /// Whether the name may be an alias: that of a host, or any. Services and their types are what
  /// their own names say; behind an alias the same service would be found twice.
  var followsAliases: Bool {
    switch self {
    case .records, .addresses: true
    case .browse, .resolve, .serviceTypes, .domains: false
    }
  }

  /// What has to be asked.
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

  /// What a client with this request is told of a record; nil if it says nothing to it.
  func event(for record: DNSRecord, isAdded: Bool) -> QueryEvent? {
    switch (self, record.data) {
    case (.records, _): return isAdded ? .recordAdded(record) : .recordRemoved(record)
    case (.browse(let type, _, _), .ptr(let target)):
      guard let service = ServiceName(target), service.type == type else { return nil }
      return isAdded ? .serviceAdded(service) : .serviceRemoved(service)
    case (.addresses, .a(let address)):
      let address = IPAddress.v4(address)
      return isAdded
        ? .addressAdded(address, ttlSeconds: record.ttlSeconds) : .addressRemoved(address)
    case (.addresses, .aaaa(let address)):
      let address = IPAddress.v6(address)
      return isAdded
        ? .addressAdded(address, ttlSeconds: record.ttlSeconds) : .addressRemoved(address)
    case (.serviceTypes, .ptr(let target)):
      guard let type = ServiceType(labelsOf: target) else { return nil }
      return isAdded ? .typeAdded(type) : .typeRemoved(type)
    case (.domains, .ptr(let domain)):
      // That one was told at the beginning.
      guard domain != .local else { return nil }
      return isAdded ? .domainAdded(domain) : .domainRemoved(domain)
    case (.browse, _), (.resolve, _), (.addresses, _), (.serviceTypes, _), (.domains, _):
      return nil
    }
  }
}
