internal import DNSWire
internal import Essentials

extension Responder {
  mutating func register(
    _ id: RegistrationID, _ content: Content, name: DNSName, now: Instant,
    into actions: inout [Action]
  ) {
    precondition(id != .host && entries[id] == nil, "a registration's number is used once")
    entries[id] = Entry(content: content, name: name)
    guard !isTaken(name, by: id) || reviseName(of: id) else {
      return refuse(id, now: now, into: &actions)
    }
    startHost(neededBy: id, now: now)
    begin(id, now: now, into: &actions)
  }

  mutating func setHostLabel(_ label: [UInt8], now: Instant, into actions: inout [Action]) {
    guard let host = entries[.host], let name = try? DNSName.local.prepending(label),
      name != host.name
    else { return }
    for id in host.sets { sayGoodbye(to: id, now: now) }
    setHost(label, name)
    begin(.host, now: now, into: &actions)
    retargetServices(now: now)
  }

  private mutating func setHost(_ label: [UInt8], _ name: DNSName) {
    entries[existing: .host].content = .host(label: label)
    entries[existing: .host].name = name
  }

  /// Makes the record sets of a registration under its present name and starts it on its links.
  mutating func begin(
    _ id: RegistrationID, notBefore: Instant? = nil, now: Instant, into actions: inout [Action]
  ) {
    let entry = entries[existing: id]
    let added = addedRecords(of: id)
    dropSets(of: id)
    for set in sets(of: entry, id) { adopt(set, by: id) }
    for (number, record) in added {
      insertAdded(record.data, ttlSeconds: record.ttlSeconds, number, of: id)
    }
    entries[existing: id].phases = [:]
    for link in links(of: entry) where id != .host || needsHost(on: link) {
      start(id, on: link, notBefore: notBefore, now: now)
    }
    report(id, into: &actions)
  }

  /// Adds a set to a registration, or the registration to the set if others have the same already.
  private mutating func adopt(_ set: RecordSet, by id: RegistrationID) {
    guard let twin = store.twin(of: set) else {
      return entries[existing: id].sets.append(store.insert(set))
    }
    // A service may name a subtype twice.
    guard !entries[existing: id].sets.contains(twin) else { return }
    store.update(twin) { $0.owners.append(id) }
    entries[existing: id].sets.append(twin)
  }

  /// Removes the sets of a registration, without goodbye records.
  private mutating func dropSets(of id: RegistrationID) {
    for set in entries[id]?.sets ?? [] {
      if let owners = store[set]?.owners, owners.count > 1 {
        store.update(set) { set in set.owners.removeAll { $0 == id } }
      } else {
        store.remove(set)
      }
    }
    entries[existing: id].sets = []
    entries[existing: id].addedSets = [:]
  }

  mutating func handOver(_ id: RegistrationID, now: Instant) {
    remove(id, saysGoodbye: id == .host && !isHostNeeded, now: now)
  }

  mutating func remove(_ id: RegistrationID, saysGoodbye: Bool, now: Instant) {
    guard let entry = entries[id] else { return }
    if saysGoodbye {
      // Sets that other registrations share stay.
      for set in entry.sets where store[set]?.owners.count == 1 { sayGoodbye(to: set, now: now) }
    }
    dropSets(of: id)
    entries[id] = nil
  }

  // MARK: Record sets

  private func sets(of entry: Entry, _ id: RegistrationID) -> [RecordSet] {
    switch entry.content {
    case .host: interfaces.values.sorted { $0.index < $1.index }.flatMap { addressSets(of: $0) }
    case .service(let service): serviceSets(service, id)
    case .record(let registration): [recordSet(registration, id)]
    }
  }

  private func recordSet(_ registration: RecordRegistration, _ id: RegistrationID) -> RecordSet {
    let kind: RecordSet.Kind =
      switch registration.ownership {
      case .shared: .shared
      case .unique: .unique(isProbed: true)
      case .knownUnique: .unique(isProbed: false)
      }
    return RecordSet(
      name: registration.record.name, type: registration.record.type, kind: kind,
      interface: registration.interface, owner: id, records: [registration.record])
  }

  /// The PTR records of a service and of its type, SRV and TXT (RFC 6763, §4, §6, §7.1 and §9). A
  /// service without a port only reserves its name (§7), and has no PTR records.
  private func serviceSets(_ service: ServiceRegistration, _ id: RegistrationID) -> [RecordSet] {
    let name = service.name.name
    let typeName = name.parent ?? .root
    var listing = ([typeName] + service.subtypeNames).map { ($0, DNSRecordData.ptr(name)) }
    // A domain whose name is too long has no listing of types.
    if let metaName = try? DNSName.serviceTypes.replacingDomain(with: service.name.domain) {
      listing.append((metaName, .ptr(typeName)))
    }
    if service.port == 0 { listing = [] }
    var sets = listing.map { owner, data in
      RecordSet(
        name: owner, type: .ptr, kind: .shared, interface: service.interface, owner: id,
        records: [
          DNSRecord(name: owner, ttlSeconds: Constants.otherTTLSeconds, data: data)
        ])
    }
    let location = DNSService(port: service.port, target: service.host ?? hostName)
    sets.append(unique(name, .srv(location), Constants.hostTTLSeconds, service.interface, id))
    sets.append(unique(name, .txt(service.text), Constants.otherTTLSeconds, service.interface, id))
    sets.append(
      RecordSet(
        name: name, type: .nsec, kind: .negative, interface: service.interface, owner: id,
        records: []))
    return sets
  }

  private func unique(
    _ name: DNSName, _ data: DNSRecordData, _ ttlSeconds: UInt32, _ interface: InterfaceIndex?,
    _ id: RegistrationID
  ) -> RecordSet {
    RecordSet(
      name: name, type: data.type, kind: .unique(isProbed: true), interface: interface, owner: id,
      records: [
        DNSRecord(name: name, flushesCache: true, ttlSeconds: ttlSeconds, data: data)
      ])
  }

  // MARK: Changes

  mutating func updateText(_ id: RegistrationID, _ text: TXTRecord, now: Instant) {
    guard case .service(var service) = entries[id]?.content, service.text != text else { return }
    service.text = text
    entries[existing: id].content = .service(service)
    guard let set = entries[id]?.sets.first(where: { store[$0]?.type == .txt }) else { return }
    change(set, to: .txt(text), ttlSeconds: nil, now: now)
  }

  mutating func updateRecord(
    _ id: RegistrationID, _ data: DNSRecordData, ttlSeconds: UInt32, now: Instant
  ) {
    guard case .record(var registration) = entries[id]?.content,
      registration.record.type == data.type, let set = entries[id]?.sets.first
    else { return }
    registration.record.data = data
    registration.record.ttlSeconds = ttlSeconds
    entries[existing: id].content = .record(registration)
    startHost(neededBy: id, now: now)
    change(set, to: data, ttlSeconds: ttlSeconds, now: now)
  }

  mutating func setRecord(
    _ id: RegistrationID, _ number: UInt32, _ data: DNSRecordData?, ttlSeconds: UInt32,
    now: Instant
  ) {
    guard let entry = entries[id], case .service = entry.content else { return }
    let old = entry.addedSets[number]
    guard let data else {
      if let old { removeAdded(old, number, of: id, now: now) }
      return
    }
    if let old, store[old]?.type == data.type {
      return change(old, to: data, ttlSeconds: ttlSeconds, now: now)
    }
    if let old { removeAdded(old, number, of: id, now: now) }
    guard let set = insertAdded(data, ttlSeconds: ttlSeconds, number, of: id) else { return }
    announceChange(of: set, now: now)
  }

  private mutating func removeAdded(
    _ set: RecordSetID, _ number: UInt32, of id: RegistrationID, now: Instant
  ) {
    sayGoodbye(to: set, now: now)
    entries[existing: id].addedSets[number] = nil
    entries[existing: id].sets.removeAll { $0 == set }
    store.remove(set)
  }

  /// Creates the set of an added record under the service's present name.
  @discardableResult
  private mutating func insertAdded(
    _ data: DNSRecordData, ttlSeconds: UInt32, _ number: UInt32, of id: RegistrationID
  ) -> RecordSetID? {
    guard let entry = entries[id] else { return nil }
    let set = store.insert(unique(entry.name, data, ttlSeconds, entry.interface, id))
    entries[existing: id].addedSets[number] = set
    entries[existing: id].sets.append(set)
    return set
  }

  /// The added records of a service with their numbers; they follow when it is renamed.
  private func addedRecords(of id: RegistrationID) -> [(UInt32, DNSRecord)] {
    let sets = (entries[id]?.addedSets ?? [:]).sorted { $0.key < $1.key }
    return sets.compactMap { number, set in (store[set]?.records.first).map { (number, $0) } }
  }

  /// Gives a set of one record other data (RFC 6762, §8.4).
  private mutating func change(
    _ id: RecordSetID, to data: DNSRecordData, ttlSeconds: UInt32?, now: Instant
  ) {
    guard let old = store[id], let record = old.records.first,
      record.data != data || ttlSeconds.map({ $0 != record.ttlSeconds }) ?? false
    else { return }
    if old.isShared, record.data != data { sayGoodbye(to: id, now: now) }
    var new = record
    new.data = data
    if let ttlSeconds { new.ttlSeconds = ttlSeconds }
    store.setRecords(of: id, to: [new])
    announceChange(of: id, now: now)
  }

  /// Announces new data on the links where the name was probed, at a limited rate.
  mutating func announceChange(of id: RecordSetID, now: Instant) {
    guard let set = store[id], !set.isNegative, !isReverseMapping(set) else { return }
    let affected = linkOrder.filter { isVisible(set, on: $0) }
    guard !affected.isEmpty else { return }
    var time: Instant?
    store.update(id) { time = $0.updateTime(now: now) }
    guard let time else { return }
    for link in affected {
      for index in links[link]?.announcementRounds.indices ?? 0..<0 {
        links[existing: link].announcementRounds[index].sets.removeAll { $0 == id }
      }
      links[existing: link].announce([id], within: time...time)
    }
  }

  /// Updates the SRV records of services after the host was renamed.
  mutating func retargetServices(now: Instant) {
    let target = hostName
    for id in idOrder {
      guard let entry = entries[id], case .service(let service) = entry.content,
        service.host == nil
      else { continue }
      for id in entry.sets {
        guard case .srv(var service) = store[id]?.records.first?.data else { continue }
        service.target = target
        change(id, to: .srv(service), ttlSeconds: nil, now: now)
      }
    }
  }
}

extension DNSName {
  /// This name of the link's domain in another domain.
  fileprivate func replacingDomain(with domain: DNSName) throws(DNSWireError) -> DNSName {
    let prefix = Array(labels.dropLast(DNSName.local.labelCount))
    return try DNSName(labels: prefix).appending(domain)
  }
}
