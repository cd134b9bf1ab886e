internal import DNSWire
internal import Essentials

extension Responder {
  /// Whether another registration of ours has the name on one of the same links.
  func isTaken(_ name: DNSName, by id: RegistrationID) -> Bool {
    guard let entry = entries[id] else { return false }
    if case .record(let record) = entry.content, record.ownership == .shared { return false }
    let isRecord = if case .record = entry.content { true } else { false }
    return store.sets(named: name).contains { set in
      guard set.isProbed, let owner = set.owners.first, owner != id, let other = entries[owner]
      else { return false }
      // Records that are registered one by one may have the same name.
      if isRecord, case .record = other.content { return false }
      let (a, b) = (entry.interface, set.interface)
      return a == nil || b == nil || a == b
    }
  }

  /// Gives a registration the next name that no other registration of this host has. Returns false
  /// if its policy is to refuse, or no name is left.
  mutating func reviseName(of id: RegistrationID) -> Bool {
    guard entries[id]?.conflictPolicy == .rename else { return false }
    repeat {
      guard takeNextName(id) else { return false }
    } while entries[id].map { isTaken($0.name, by: id) } ?? false
    return true
  }

  /// Ends a registration whose name another host has.
  mutating func refuse(_ id: RegistrationID, now: Instant, into actions: inout [Action]) {
    guard let name = entries[id]?.name else { return }
    remove(id, saysGoodbye: false, now: now)
    actions.append(.refused(id, name))
  }

  /// False where the domain is so long that a longer label does not fit before it.
  private mutating func takeNextName(_ id: RegistrationID) -> Bool {
    switch entries[id]?.content {
    case .host(let label):
      let next = NameRevision.host(after: label)
      guard let name = try? DNSName.local.prepending(next) else { return false }
      entries[existing: id].content = .host(label: next)
      entries[existing: id].name = name
    case .service(var service):
      let next = NameRevision.instance(after: service.name.instance)
      guard let domain = service.name.name.parent, let name = try? domain.prepending(next),
        let serviceName = ServiceName(name)
      else { return false }
      service.name = serviceName
      entries[existing: id].content = .service(service)
      entries[existing: id].name = name
    case .record, nil: return false
    }
    return true
  }

  // MARK: Responses of others

  /// Checks the records of a response against our names and records.
  mutating func receivedResponse(
    _ received: ReceivedMessage, now: Instant, into actions: inout [Action]
  ) {
    let message = received.message
    for record in message.answers + message.authorities + message.additionals
    where record.recordClass == .in {
      noteMapping(record, on: received.link, now: now)
      for id in store.ids(saying: record, on: received.link.interface) {
        guard let set = store[id] else { continue }
        confirm(id, set, record, on: received.link, now: now)
      }
      // There is no conflict about shared records.
      guard store.hasOwn(named: record.name) else { continue }
      let isOurs = record.type == .nsec || record.data.isMalformed || store.owns(record)
      if !isOurs { dispute(record, on: received.link, now: now, into: &actions) }
    }
  }

  /// Another host sent one of our records, or another program of this host, which has the same name and
  /// addresses.
  private mutating func confirm(
    _ id: RecordSetID, _ set: RecordSet, _ record: DNSRecord, on link: MulticastLink, now: Instant
  ) {
    guard isVisible(set, on: link) else { return }
    if UInt64(record.ttlSeconds) * 2 < UInt64(set.ttlSeconds) {
      // It is about to vanish from caches, although it is still true (RFC 6762, §6.6): a second after
      // a goodbye, which may have come less than a second after ours was sent.
      let sent = set.lastMulticast(on: link) ?? .zero
      let earliest = max(now + Constants.sharedDelayMin, sent + Constants.defenceInterval)
      let latest = max(now + Constants.sharedDelayMax, earliest)
      links[existing: link].enqueue(
        [id], within: earliest...latest, interval: Constants.defenceInterval, rng: &rng)
    } else if set.records.count == 1, record.ttlSeconds >= set.ttlSeconds {
      // It need not be sent twice (RFC 6762, §7.4).
      links[existing: link].suppress(id)
    }
  }

  /// Another host sent other data for one of our unique names.
  private mutating func dispute(
    _ record: DNSRecord, on link: MulticastLink, now: Instant, into actions: inout [Action]
  ) {
    // A goodbye is no conflict.
    guard record.ttlSeconds > 0 else { return }
    let sets = store.ownIDs(named: record.name, on: link.interface).compactMap { store[$0] }
    let owners = Set(sets.filter(\.isProbed).flatMap(\.owners))
    for id in owners.sorted(by: { $0.rawValue < $1.rawValue }) {
      switch entries[id]?.phases[link] {
      case .probing(let number):
        let round = links[link]?.probeRounds.first { $0.number == number }
        if let round, round.sentCount > 0 { lose(id, now: now, into: &actions) }
      case .established:
        let isInConflict = entries[id]?.sets.contains { id in
          store[id].map {
            $0.name == record.name && $0.type == record.type && $0.isProbed
              && isVisible($0, on: link)
          } ?? false
        }
        if isInConflict == true { start(id, on: link, now: now) }
      case nil: break
      }
    }
  }

  /// Another host has the name (RFC 6762, §9): another is tried everywhere, or none.
  private mutating func lose(
    _ id: RegistrationID, now: Instant, into actions: inout [Action]
  ) {
    entries[existing: id].conflicts.record(now)
    let notBefore = entries[id]?.conflicts.isSlow == true ? now + Constants.conflictPause : nil
    let lostName = entries[id]?.name
    let isRevised = reviseName(of: id)
    // Shared records that point to the name get goodbyes; the other host's records of the name do
    // not (RFC 6762, §8.4).
    for id in entries[id]?.sets ?? [] {
      guard let set = store[id], set.isShared, set.owners.count == 1 else { continue }
      if isRevised, set.records.first?.data != lostName.map(DNSRecordData.ptr) { continue }
      sayGoodbye(to: id, now: now)
    }
    guard isRevised else { return refuse(id, now: now, into: &actions) }
    begin(id, notBefore: notBefore, now: now, into: &actions)
    if id == .host { retargetServices(now: now) }
  }

  // MARK: Probes of others

  /// Another host probes a name that we probe as well (RFC 6762, §8.2): the one with the
  /// lexicographically later data goes on, the other waits a second and probes again.
  mutating func compareProposals(_ received: ReceivedMessage, now: Instant) {
    let link = received.link
    for record in received.message.authorities { noteMapping(record, on: link, now: now) }
    var seen: Set<DNSName> = []
    for name in received.message.authorities.map(\.name) where seen.insert(name).inserted {
      let sets = store.ownIDs(named: name, on: link.interface).compactMap { store[$0] }
      let owners = Set(sets.filter(\.isProbed).flatMap(\.owners))
      let rivals = owners.filter { id in
        guard case .probing(let number) = entries[id]?.phases[link] else { return false }
        let round = links[link]?.probeRounds.first { $0.number == number }
        return round.map { $0.sentCount > 0 } ?? false
      }
      guard !rivals.isEmpty else { continue }
      let theirs = received.message.authorities.filter { $0.name == name && $0.recordClass == .in }
      let ours = proposals(for: name, on: link.interface)
      guard !isProposed(theirs, for: name, on: link.interface),
        DNSRecord.tieBreak(ours: ours, theirs: theirs) < 0
      else { continue }
      let time = now + Constants.tieBreakWait
      for id in rivals.sorted(by: { $0.rawValue < $1.rawValue }) {
        postpone(id, on: link, until: time)
      }
    }
  }

  private mutating func postpone(_ id: RegistrationID, on link: MulticastLink, until time: Instant)
  {
    lastRoundNumber += 1
    links[existing: link].probeRounds.append(
      LinkState.ProbeRound(number: lastRoundNumber, at: time, members: [id]))
    entries[existing: id].phases[link] = .probing(round: lastRoundNumber)
  }
}
