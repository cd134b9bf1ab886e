internal import DNSWire
internal import Essentials

extension Responder {
  private typealias Limits = DNSMessageEncoder.Limits

  /// Sends the announcements that are due on a link.
  mutating func announce(on link: MulticastLink, now: Instant, into actions: inout [Action]) {
    guard var rounds = links[link]?.announcementRounds, rounds.contains(where: { $0.at <= now })
    else { return }
    var sets: [RecordSetID] = []
    for index in rounds.indices where rounds[index].at <= now {
      sets += rounds[index].sets
      rounds[index].left -= 1
      assert(rounds[index].left >= 0, "sets are announced once too often")
      rounds[index].at = now + Constants.announcementInterval
      rounds[index].sets.removeAll { store[$0] == nil }
    }
    rounds.removeAll { $0.left == 0 || $0.sets.isEmpty }
    links[existing: link].announcementRounds = rounds
    // Records that were just multicast, in an answer to a probe, need no announcement now.
    let due = sets.filter { id in
      store[id].map {
        isVisible($0, on: link)
          && $0.mayBeMulticast(on: link, at: now, interval: Constants.multicastInterval)
      } ?? false
    }
    send(due, on: link, to: .multicast, withAdditionals: false, now: now, into: &actions)
  }

  /// Sends the answers that are due on a link.
  mutating func answer(on link: MulticastLink, now: Instant, into actions: inout [Action]) {
    guard let batches = links[link]?.batches, batches.contains(where: { $0.due <= now }) else {
      return
    }
    links[existing: link].batches.removeAll { $0.due <= now }
    var sets: [RecordSetID] = []
    var known: Set<RecordSetID> = []
    for batch in batches where batch.due <= now {
      sets += batch.sets.filter { id in
        store[id].map {
          isVisible($0, on: link)
            && $0.mayBeMulticast(on: link, at: now, interval: batch.interval)
        } ?? false && known.insert(id).inserted
      }
    }
    send(sets, on: link, to: .multicast, now: now, into: &actions)
  }

  // MARK: Goodbyes

  /// Schedules goodbyes on the links on which a set was sent (RFC 6762, §10.1).
  mutating func sayGoodbye(to id: RecordSetID, now: Instant) {
    guard let set = store[id], !set.isNegative else { return }
    for link in set.multicastLinks where links[link] != nil {
      let gone = set.records.filter { !isPublished($0, besides: id, on: link) }
      links[existing: link].sayGoodbye(to: gone, now: now)
    }
  }

  /// Whether another set has the record on a link, too, where it stays valid.
  private func isPublished(
    _ record: DNSRecord, besides id: RecordSetID, on link: MulticastLink
  ) -> Bool {
    store.ids(saying: record, on: link.interface).contains { other in
      other != id && store[other].map { isVisible($0, on: link) } ?? false
    }
  }

  mutating func sendGoodbyes(on link: MulticastLink, into actions: inout [Action]) {
    guard var rest = links[link]?.goodbyes[...], !rest.isEmpty else { return }
    links[existing: link].goodbyes = []
    links[existing: link].goodbyesDue = nil
    while !rest.isEmpty {
      var encoder = DNSMessageEncoder(header: .response)
      rest = rest.drop { encoder.append($0, to: .answer, ttlSeconds: 0) }
      if encoder.isEmpty, let large = rest.popFirst() {
        encoder = DNSMessageEncoder(header: .response, byteCountMax: Limits.byteCountMax)
        _ = encoder.append(large, to: .answer, ttlSeconds: 0)
      }
      if !encoder.isEmpty { actions.append(.send(OutgoingPacket(encoder.bytes, on: link))) }
    }
  }

  // MARK: Packets

  /// Sends sets in as few packets as possible. With additional records each packet is filled with
  /// complete services: a name together with the records that a client queries next.
  mutating func send(
    _ ids: [RecordSetID], on link: MulticastLink, to destination: OutgoingPacket.Destination,
    withAdditionals: Bool = true, now: Instant, into actions: inout [Action]
  ) {
    var rest = ids[...]
    // Answers, and records in earlier packets, aren't repeated as additional records.
    var known = withAdditionals ? Set(ids) : []
    var sent: [RecordSetID] = []
    while let first = rest.first {
      var encoder = DNSMessageEncoder(header: .response)
      var additionals: [RecordSetID] = []
      var candidates = rest
      if withAdditionals {
        let (count, found) = complete(rest, except: known, on: link, to: destination, now: now)
        (candidates, additionals) = (rest.prefix(max(count, 1)), found)
      }
      var packed = candidates.prefix { append($0, to: .answer, of: &encoder, on: link) }
      if packed.isEmpty {
        // Too large for a frame: alone in a packet that is sent in fragments (RFC 6762, §17).
        encoder = DNSMessageEncoder(header: .response, byteCountMax: Limits.byteCountMax)
        packed = rest.prefix(1)
        guard append(first, to: .answer, of: &encoder, on: link) else {
          rest.removeFirst()
          continue
        }
      }
      rest = rest.dropFirst(packed.count)
      sent += packed
      for id in additionals where append(id, to: .additional, of: &encoder, on: link) {
        known.insert(id)
        sent.append(id)
      }
      if !encoder.isEmpty {
        actions.append(.send(OutgoingPacket(encoder.bytes, on: link, to: destination)))
      }
    }
    guard destination == .multicast else { return }
    for id in sent { store.update(id) { $0.noteMulticast(on: link, now: now) } }
  }

  /// How many of these answers fit into a packet together with their additional records, and those
  /// records. If even the first answer does not, the count is 0 and the records are the first one's.
  private func complete(
    _ answers: ArraySlice<RecordSetID>, except known: Set<RecordSetID>, on link: MulticastLink,
    to destination: OutgoingPacket.Destination, now: Instant
  ) -> (count: Int, additionals: [RecordSetID]) {
    var found: [RecordSetID] = []
    var foundBefore: Set<RecordSetID> = []
    // Only its size matters, which is the same in all sections.
    var trial = DNSMessageEncoder(header: .response)
    for (count, id) in answers.enumerated() {
      let additionals = additionals(for: [id], on: link, to: destination, now: now)
        .filter { !known.contains($0) && !foundBefore.contains($0) }
      // One answer needs no trial: what does not fit beside it is left out.
      guard answers.count > 1 else { return (1, additionals) }
      let doesFit = ([id] + additionals).allSatisfy {
        append($0, to: .answer, of: &trial, on: link)
      }
      guard doesFit else { return (count, count == 0 ? additionals : found) }
      found += additionals
      foundBefore.formUnion(additionals)
    }
    return (answers.count, found)
  }

  /// Appends all records of a set, or none if they don't all fit.
  private func append(
    _ id: RecordSetID, to section: DNSMessageEncoder.Section, of encoder: inout DNSMessageEncoder,
    on link: MulticastLink
  ) -> Bool {
    guard let set = store[id] else { return true }
    let records = records(of: set, on: link)
    guard records.count > 1 else { return records.allSatisfy { encoder.append($0, to: section) } }
    let before = encoder
    if records.allSatisfy({ encoder.append($0, to: section) }) { return true }
    encoder = before
    return false
  }

  /// The additional records for these answers (RFC 6763, §12; RFC 6762, §6.2): SRV, TXT and
  /// addresses of a service, the other addresses of a host or the negative answer.
  private func additionals(
    for answers: ArraySlice<RecordSetID>, on link: MulticastLink,
    to destination: OutgoingPacket.Destination?, now: Instant
  ) -> [RecordSetID] {
    var found: [RecordSetID] = []
    var next = answers.startIndex
    // A packet has room for so few that looking through them costs less than a set of them.
    while next - answers.startIndex < answers.count + found.count {
      let id = next < answers.endIndex ? answers[next] : found[next - answers.endIndex]
      next += 1
      guard let set = store[id] else { continue }
      for follower in followers(of: set, on: link)
      where !answers.contains(follower) && !found.contains(follower) {
        let wasHeard =
          destination == .multicast
          && store[follower]?.mayBeMulticast(
            on: link, at: now, interval: Constants.multicastInterval) == false
        if !wasHeard { found.append(follower) }
      }
    }
    return found
  }

  private func followers(of set: RecordSet, on link: MulticastLink) -> [RecordSetID] {
    switch set.records.first?.data {
    case .ptr(let name):
      return unique(named: name, types: [.srv, .txt], on: link, elseNegative: false)
    case .srv(let service):
      return unique(named: service.target, types: [.a, .aaaa], on: link, elseNegative: true)
    case .a, .aaaa:
      return unique(named: set.name, types: [.a, .aaaa], on: link, elseNegative: true)
    default: return []
    }
  }

  /// Our unique sets of these types at a name and, where one is missing, the negative set.
  private func unique(
    named name: DNSName, types: [DNSType], on link: MulticastLink, elseNegative: Bool
  ) -> [RecordSetID] {
    var found: [RecordSetID] = []
    var foundTypes: [DNSType] = []
    var negative: RecordSetID?
    for id in store.ownIDs(named: name, on: link.interface) {
      guard let set = store[id], isVisible(set, on: link) else { continue }
      if set.isNegative { negative = id }
      if types.contains(set.type) {
        found.append(id)
        if !foundTypes.contains(set.type) { foundTypes.append(set.type) }
      }
    }
    if elseNegative, !found.isEmpty, foundTypes.count < types.count, let negative {
      found.append(negative)
    }
    return found
  }

  // MARK: Legacy queriers

  /// Answers a query from another port than 5353 as an ordinary name server does (RFC 6762, §6.7).
  mutating func answerLegacyQuery(
    _ received: ReceivedMessage, now: Instant, into actions: inout [Action]
  ) {
    let (message, link) = (received.message, received.link)
    var seen: Set<RecordSetID> = []
    // No more than could fit, so that asking for much costs us little.
    let countMax = Limits.unfragmentedByteCount / 12
    var answers = Self.withoutRepetitions(message.questions)
      .flatMap { setsAnswering($0, on: link, countMax: countMax) }
      .filter { seen.insert($0).inserted }[...]
    guard !answers.isEmpty, mayAnswerLegacyQuery(of: received.source.address, on: link, now: now)
    else { return }
    var encoder = DNSMessageEncoder(
      header: DNSHeader(id: message.header.id, flags: DNSHeader.response.flags),
      compression: .legacy)
    for var question in message.questions {
      question.wantsUnicastResponse = false
      guard encoder.append(question) else { return }
    }
    let all = answers
    answers = answers.drop { appendLegacy($0, to: .answer, of: &encoder, on: link) }
    encoder.header.isTruncated = !answers.isEmpty
    if answers.isEmpty {
      _ = additionals(for: all, on: link, to: nil, now: .zero)
        .drop { appendLegacy($0, to: .additional, of: &encoder, on: link) }
    }
    actions.append(
      .send(OutgoingPacket(encoder.bytes, on: link, to: .unicast(received.source))))
  }

  /// Queries from the host's own address, by its own programs, are not limited.
  private mutating func mayAnswerLegacyQuery(
    of source: InetAddress, on link: MulticastLink, now: Instant
  ) -> Bool {
    let isOwn = interfaces[link.interface]?.addresses.contains { $0.address == source } ?? false
    return isOwn || links[link]?.unicastBudget.admits(source, now: now) == true
  }

  private func appendLegacy(
    _ id: RecordSetID, to section: DNSMessageEncoder.Section,
    of encoder: inout DNSMessageEncoder, on link: MulticastLink
  ) -> Bool {
    guard let set = store[id] else { return true }
    return records(of: set, on: link).allSatisfy { record in
      var record = record
      record.flushesCache = false
      let ttlSeconds = min(record.ttlSeconds, Constants.legacyTTLSecondsMax)
      return encoder.append(record, to: section, ttlSeconds: ttlSeconds)
    }
  }
}
