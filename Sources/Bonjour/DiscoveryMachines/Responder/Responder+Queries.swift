internal import DNSWire
internal import Essentials

/// The records that an asker knows already, with the time it still believes them.
struct KnownAnswers: Sendable {
  private struct Key: Hashable {
    var name: DNSName
    var data: DNSRecordData
  }

  private var ttlSeconds: [Key: UInt32] = [:]

  init(_ records: [DNSRecord]) {
    for record in records where record.recordClass == .in {
      let key = Key(name: record.name, data: record.data)
      ttlSeconds[key] = max(ttlSeconds[key] ?? 0, record.ttlSeconds)
    }
  }

  var isEmpty: Bool { ttlSeconds.isEmpty }

  /// Whether all of these are known for at least half of their time (RFC 6762, §7.1). A set of
  /// unique records is sent whole or not at all (§10.2).
  func contain(_ records: [DNSRecord]) -> Bool {
    guard !isEmpty else { return false }
    return records.allSatisfy { record in
      let known = ttlSeconds[Key(name: record.name, data: record.data)]
      return known.map { UInt64($0) * 2 >= UInt64(record.ttlSeconds) } ?? false
    }
  }
}

extension Responder {
  /// Takes a message, if it is of this link and of a kind that means something.
  mutating func received(
    _ received: ReceivedMessage, now: Instant, into actions: inout [Action]
  ) {
    let header = received.message.header
    guard header.operation == 0, header.responseCode == 0, received.source.port != 0,
      links[received.link] != nil, let interface = interfaces[received.link.interface]
    else { return }
    let isOnLink = interface.isOnLink(received.source.address)
    // A multicast packet was sent on the link, even if its source address is of another subnet; a
    // unicast one may come from anywhere (RFC 6762, §11).
    guard received.isMulticast || isOnLink else { return }
    let isLegacy = received.source.port != multicastDNSPort
    expireMappings(now: now)
    if header.isResponse {
      if !isLegacy { receivedResponse(received, now: now, into: &actions) }
    } else if !isLegacy {
      receivedQuery(received, isOnLink: isOnLink, now: now, into: &actions)
    } else if isOnLink {
      answerLegacyQuery(received, now: now, into: &actions)
    }
  }

  /// What answers one question.
  private struct Answer {
    var set: RecordSetID
    var wantsUnicast: Bool
  }

  private mutating func receivedQuery(
    _ received: ReceivedMessage, isOnLink: Bool, now: Instant, into actions: inout [Action]
  ) {
    let message = received.message
    let plainQuestion = Self.plainQuestion(of: received)
    if let plainQuestion, let end = links[received.link]?.quietQuestions[plainQuestion], now < end {
      return
    }
    let known = KnownAnswers(message.answers)
    let isProbe = !message.authorities.isEmpty
    if isProbe { compareProposals(received, now: now) }
    takeMoreKnownAnswers(known, of: received, now: now)

    var answers: [Answer] = []
    var seen: Set<RecordSetID> = []
    var isSoleResponder = true
    for question in Self.withoutRepetitions(message.questions) {
      let ids = setsAnswering(question, on: received.link)
      isSoleResponder = isSoleResponder && !ids.isEmpty
      for id in ids {
        guard let set = store[id] else { continue }
        if set.isShared || isReverseMapping(set) { isSoleResponder = false }
        let isKnown = !known.isEmpty && known.contain(records(of: set, on: received.link))
        guard !isKnown, seen.insert(id).inserted else { continue }
        answers.append(
          Answer(
            set: id,
            wantsUnicast: isOnLink && (question.wantsUnicastResponse || !received.isMulticast)))
      }
    }
    guard !answers.isEmpty else { return }
    let mayWait = !isProbe && received.isMulticast
    if message.header.isTruncated, mayWait, waitForMore(answers.map(\.set), received, now: now) {
      return
    }
    let isAtOnce = isProbe || isSoleResponder
    reply(answers, to: received, isProbe: isProbe, isAtOnce: isAtOnce, now: now, into: &actions)
    if let plainQuestion {
      noteQuiet(plainQuestion, answers.map(\.set), isAtOnce: isAtOnce, on: received.link, now: now)
    }
  }

  static func withoutRepetitions(_ questions: [DNSQuestion]) -> [DNSQuestion] {
    guard questions.count > 1 else { return questions }
    var asked: Set<DNSQuestion> = []
    return questions.filter { asked.insert($0).inserted }
  }

  /// The question of a multicast query with one question and no known answers.
  private static func plainQuestion(of received: ReceivedMessage) -> DNSQuestion? {
    let message = received.message
    guard message.questions.count == 1, let question = message.questions.first,
      !question.wantsUnicastResponse, received.isMulticast, !message.header.isTruncated,
      message.answers.isEmpty, message.authorities.isEmpty
    else { return nil }
    return question
  }

  /// Stores until when the same question needs no new answer: its answers are scheduled, or were
  /// multicast less than a second before they could be again. New records are announced anyway.
  private mutating func noteQuiet(
    _ question: DNSQuestion, _ ids: [RecordSetID], isAtOnce: Bool, on link: MulticastLink,
    now: Instant
  ) {
    let delay = isAtOnce ? TimeSpan.zero : Constants.sharedDelayMax
    var end = Instant.distantFuture
    for id in ids {
      guard let sent = store[id]?.lastMulticast(on: link),
        sent + Constants.multicastInterval > now + delay
      else {
        end = now + (isAtOnce ? .zero : Constants.sharedDelayMin)
        break
      }
      let again = sent + Constants.multicastInterval
      end = min(end, now + (again - (now + delay)))
    }
    if end > now { links[existing: link].noteQuiet(question, until: end) }
  }

  /// The sets that answer a question on a link; the negative one where the name is ours but has no
  /// records of the type (RFC 6762, §6.1). An alias answers every question for its name (RFC 1034,
  /// §3.6.2).
  func setsAnswering(
    _ question: DNSQuestion, on link: MulticastLink, countMax: Int = .max
  ) -> [RecordSetID] {
    guard question.questionClass == .in || question.questionClass == .any else { return [] }
    var answers: [RecordSetID] = []
    var negative: RecordSetID?
    for id in store.ids(
      named: question.name, asked: question.type, on: link.interface)
    {
      guard let set = store[id], isVisible(set, on: link) else { continue }
      if set.isNegative {
        negative = id
      } else if [.any, set.type].contains(question.type) || set.type == .cname {
        answers.append(id)
        if answers.count >= countMax { break }
      }
    }
    return answers.isEmpty ? negative.map { [$0] } ?? [] : answers
  }

  /// Sends answers by unicast or by multicast, at once or together with others. Unicast answers
  /// above the limit are multicast.
  private mutating func reply(
    _ answers: [Answer], to received: ReceivedMessage, isProbe: Bool, isAtOnce: Bool,
    now: Instant, into actions: inout [Action]
  ) {
    let link = received.link
    let mayBeUnicast =
      answers.contains(where: \.wantsUnicast)
      && links[link]?.unicastBudget.admits(received.source.address, now: now) == true
    var unicast: [RecordSetID] = []
    var multicast: [RecordSetID] = []
    for answer in answers {
      let isFresh = store[answer.set]?.wasMulticastRecently(on: link, now: now) ?? false
      let isUnicast = answer.wantsUnicast && mayBeUnicast
      if isUnicast, isFresh || !received.isMulticast { unicast.append(answer.set) }
      if !isUnicast || !isFresh { multicast.append(answer.set) }
    }
    if !unicast.isEmpty {
      send(unicast, on: link, to: .unicast(received.source), now: now, into: &actions)
    }
    let interval = isProbe ? Constants.defenceInterval : Constants.multicastInterval
    let range =
      isAtOnce
      ? now...now : now + Constants.sharedDelayMin...now + Constants.sharedDelayMax
    let due = multicast.filter {
      store[$0]?.mayBeMulticast(on: link, at: range.upperBound, interval: interval) ?? false
    }
    links[existing: link].enqueue(due, within: range, interval: interval, rng: &rng)
  }

  // MARK: Known answers in several packets

  /// Delays answers until the remaining known answers of a truncated query have arrived; false if
  /// too many queries are waiting already.
  private mutating func waitForMore(
    _ sets: [RecordSetID], _ received: ReceivedMessage, now: Instant
  ) -> Bool {
    guard let count = links[received.link]?.truncatedQueries.count else { return false }
    let earlier = links[received.link]?.truncatedQueries[received.source]
    guard earlier != nil || count < Constants.truncatedQueriesMax else { return false }
    let due = now + rng.span(Constants.truncatedWaitMin, Constants.truncatedWaitMax)
    lastRoundNumber += 1
    var query =
      earlier ?? LinkState.TruncatedQuery(number: lastRoundNumber, due: due, sets: [])
    let waiting = Set(query.sets)
    query.sets += sets.filter { !waiting.contains($0) }
    query.due = due
    links[existing: received.link].truncatedQueries[received.source] = query
    return true
  }

  /// Removes answers that turn out to be known, and waits longer if this packet is truncated, too.
  private mutating func takeMoreKnownAnswers(
    _ known: KnownAnswers, of received: ReceivedMessage, now: Instant
  ) {
    guard !known.isEmpty, var query = links[received.link]?.truncatedQueries[received.source]
    else { return }
    query.sets.removeAll { id in
      store[id].map { known.contain(records(of: $0, on: received.link)) } ?? true
    }
    if received.message.header.isTruncated {
      query.due = now + rng.span(Constants.truncatedWaitMin, Constants.truncatedWaitMax)
    }
    links[existing: received.link].truncatedQueries[received.source] =
      query.sets.isEmpty ? nil : query
  }

  /// Answers truncated queries whose known answers were waited for long enough.
  mutating func releaseTruncatedQueries(on link: MulticastLink, now: Instant) {
    guard let queries = links[link]?.truncatedQueries, !queries.isEmpty else { return }
    for (source, query) in queries.sorted(by: { $0.value.number < $1.value.number })
    where query.due <= now {
      links[existing: link].truncatedQueries[source] = nil
      let sets = query.sets.filter {
        store[$0]?.mayBeMulticast(on: link, at: now, interval: Constants.multicastInterval)
          ?? false
      }
      links[existing: link].enqueue(
        sets, within: now...now, interval: Constants.multicastInterval, rng: &rng)
    }
  }
}
