internal import DNSWire
internal import Essentials

extension Responder {
  /// Begins to probe for a registration's name on a link or, if there is nothing to be probed for,
  /// announces its records.
  mutating func start(
    _ id: RegistrationID, on link: MulticastLink, notBefore: Instant? = nil, now: Instant
  ) {
    guard entries[id] != nil else { return }
    let isProbed = sets(of: id, on: link.interface).contains { set in
      store[set].map {
        $0.isProbed && ($0.interface.map { $0 == link.interface } ?? true)
      } ?? false
    }
    // A host that has no address on the interface does not need its name there yet.
    if id == .host, !isProbed { return }
    if isProbed {
      let earliest = notBefore ?? now
      joinProbeRound(id, on: link, within: earliest...earliest + Constants.probeWaitMax)
    } else {
      entries[existing: id].phases[link] = .established
      let time = now + rng.span(Constants.sharedDelayMin, Constants.sharedDelayMax)
      let sets = announcedSets(of: id, on: link)
      links[existing: link].announce(sets, within: now...time)
    }
  }

  /// Probes with others whose first probe is due at about the same time.
  private mutating func joinProbeRound(
    _ id: RegistrationID, on link: MulticastLink, within range: ClosedRange<Instant>
  ) {
    let found = links[link]?.probeRounds.firstIndex {
      $0.sentCount == 0 && range.contains($0.at)
    }
    if let found, let number = links[link]?.probeRounds[found].number {
      links[existing: link].probeRounds[found].members.append(id)
      entries[existing: id].phases[link] = .probing(round: number)
    } else {
      lastRoundNumber += 1
      let time = range.lowerBound + rng.span(.zero, range.upperBound - range.lowerBound)
      links[existing: link].probeRounds.append(
        LinkState.ProbeRound(number: lastRoundNumber, at: time, members: [id]))
      entries[existing: id].phases[link] = .probing(round: lastRoundNumber)
    }
  }

  /// Sends the probes that are due, and completes probing of names without an answer.
  mutating func probe(on link: MulticastLink, now: Instant, into actions: inout [Action]) {
    guard var rounds = links[link]?.probeRounds, rounds.contains(where: { $0.at <= now }) else {
      return
    }
    links[existing: link].probeRounds = []
    for index in rounds.indices where rounds[index].at <= now {
      let number = rounds[index].number
      rounds[index].members.removeAll { id in
        if case .probing(number) = entries[id]?.phases[link] { false } else { true }
      }
      if rounds[index].sentCount < Constants.probeCount {
        sendProbes(for: rounds[index].members, on: link, into: &actions)
        rounds[index].sentCount += 1
        rounds[index].at = now + Constants.probeInterval
      } else {
        establish(rounds[index].members, on: link, now: now, into: &actions)
        rounds[index].members = []
      }
    }
    rounds.removeAll { $0.members.isEmpty }
    links[existing: link].probeRounds += rounds
  }

  private mutating func establish(
    _ ids: [RegistrationID], on link: MulticastLink, now: Instant, into actions: inout [Action]
  ) {
    for id in ids { entries[existing: id].phases[link] = .established }
    // What several registrations share is announced once.
    var known: Set<RecordSetID> = []
    let sets = ids.flatMap { announcedSets(of: $0, on: link) }
      .filter { known.insert($0).inserted }
    links[existing: link].announce(sets, within: now...now)
    for id in ids { report(id, into: &actions) }
  }

  /// The sets that a registration announces: all but those that another one of the same type has
  /// announced.
  private func announcedSets(of id: RegistrationID, on link: MulticastLink) -> [RecordSetID] {
    sets(of: id, on: link.interface).filter { id in
      guard let set = store[id], !set.isNegative, !isReverseMapping(set),
        set.interface.map({ $0 == link.interface }) ?? true
      else { return false }
      return set.owners.count == 1 || set.lastMulticast(on: link) == nil
    }
  }

  /// Reports the name of a registration, if it is settled and new.
  mutating func report(_ id: RegistrationID, into actions: inout [Action]) {
    guard let entry = entries[id], !entry.isProbing, entry.reportedName != entry.name else {
      return
    }
    // A host without an interface has no name to report.
    if id == .host, entry.phases.isEmpty { return }
    entries[existing: id].reportedName = entry.name
    actions.append(.registered(id, entry.name))
  }

  // MARK: Packets

  /// The records that are proposed for a name on an interface, of all registrations; nil for those
  /// that are proposed on all.
  func proposals(for name: DNSName, on interface: InterfaceIndex?) -> [DNSRecord] {
    store.ownIDs(named: name, on: interface).compactMap { store[$0] }.filter(\.isProbed)
      .flatMap(\.records)
  }

  /// Whether another packet of ours proposes the same: it is an echo, or came from another of our
  /// interfaces.
  func isProposed(_ records: [DNSRecord], for name: DNSName, on interface: InterfaceIndex) -> Bool {
    var places: Set<InterfaceIndex?> = [nil, interface]
    for record in records { places.formUnion(store.interfaces(saying: record)) }
    return places.contains { place in
      let ours = proposals(for: name, on: place)
      return ours.count == records.count && DNSRecord.tieBreak(ours: ours, theirs: records) == 0
    }
  }

  private func sendProbes(
    for ids: [RegistrationID], on link: MulticastLink, into actions: inout [Action]
  ) {
    var known: Set<DNSName> = []
    var names = ids.compactMap { entries[$0]?.name }.filter { known.insert($0).inserted }[...]
    var count = 32
    while !names.isEmpty {
      count = min(count, names.count)
      if let bytes = probePacket(names.prefix(count), on: link, isLast: count == 1) {
        actions.append(.send(OutgoingPacket(bytes, on: link)))
        names = names.dropFirst(count)
        count += 4
      } else {
        guard count > 1 else {
          // Too long for any message: such records can't be probed.
          names = names.dropFirst()
          continue
        }
        count = max(1, count * 9 / 10)
      }
    }
  }

  /// A probe for several names; nil if they don't fit into one packet.
  private func probePacket(
    _ names: ArraySlice<DNSName>, on link: MulticastLink, isLast: Bool
  ) -> [UInt8]? {
    typealias Limits = DNSMessageEncoder.Limits
    var encoder = DNSMessageEncoder(
      header: .query, byteCountMax: isLast ? Limits.byteCountMax : Limits.unfragmentedByteCount)
    for name in names {
      let question = DNSQuestion(
        name: name, type: .any,
        wantsUnicastResponse: interfaces[link.interface]?.receivesUnicast ?? false)
      guard encoder.append(question) else { return nil }
    }
    for name in names {
      for var record in proposals(for: name, on: link.interface) {
        // Proposed records of a probe don't set the cache-flush bit (RFC 6762, §10.2).
        record.flushesCache = false
        guard encoder.append(record, to: .authority) else { return nil }
      }
    }
    return encoder.bytes
  }
}
