import DNSWire
import Essentials

/// The queries and the cache of one interface: each question is sent once for all clients that
/// share it, and no more often than RFC 6762 allows.
struct InterfaceQuerier: Sendable {
  /// Packets to send and changes to report.
  enum Output: Sendable, Equatable {
    /// Send this to the group of that version.
    case send([UInt8], IPVersion)
    /// A new record; or a known one that is received again after its goodbye: queries that began
    /// since then did not get it.
    case added(DNSRecord, goodbyeAt: Instant? = nil)
    /// A record is no longer valid. Queries that began after its goodbye did not get it.
    case removed(DNSRecord, goodbyeAt: Instant?)
    /// A negative answer: the name has no such record.
    case absent(QuestionKey)
  }

  /// A question that is sent repeatedly.
  struct Ask: Sendable {
    var clientCount = 1
    /// When the series may begin, along with others.
    var earliestAt: Instant
    /// When to send it next; never while its answer is known to be complete.
    var dueAt: Instant
    /// The pause that ends at `dueAt`.
    var interval = TimeSpan.zero
    /// How often it was sent in this series.
    var sentCount = 0
    /// Whether one of its records should be refreshed.
    var isRefreshDue = false
    /// Until when unicast answers are welcome.
    var unicastUntil = Instant(nanoseconds: .min)
    /// When another host last sent the same question with no more known answers than ours.
    var heardAt: [IPVersion: Instant] = [:]
    /// The deadline under which it is queued.
    var queuedAt = Instant.distantFuture
  }

  struct Reconfirmation {
    var record: DNSRecord
    var nextAt: Instant
    var round = 0
    var firstAt: Instant

    var key: QuestionKey { QuestionKey(record.name, record.type) }
  }

  private(set) var interface: NetworkInterface
  private(set) var cache: RecordCache
  var asks: [QuestionKey: Ask] = [:]
  var askedTypes: [DNSName: [DNSType]] = [:]
  var queue = DeadlineQueue<QuestionKey>()
  var reconfirmations: [Reconfirmation] = []
  /// Questions with records to refresh since the last packet.
  var refreshes: [QuestionKey] = []
  /// When something new was last multicast on the link.
  private var newsAt: Instant?
  private var rng: SeededGenerator
  private var cacheEvents: [RecordCache.Event] = []

  init(_ interface: NetworkInterface, rng: SeededGenerator) {
    self.interface = interface
    self.rng = rng
    cache = RecordCache(rng: self.rng.fork())
  }

  // MARK: Questions

  /// One more client queries this key. Cached records are not output.
  ///
  /// - Parameter isProvoked: Whether a packet caused the query, perhaps on other hosts as well.
  mutating func start(_ key: QuestionKey, isProvoked: Bool, now: Instant) {
    cache.want(key, now: now)
    if asks[key] != nil {
      asks[existing: key].clientCount += 1
      return
    }
    asks[key] = Ask(earliestAt: now, dueAt: .distantFuture)
    askedTypes[key.name, default: []].append(key.type)
    if !cache.isSettled(key, now: now) {
      let isNews = newsAt.map { now - $0 < QuerierLimits.newsSpan } ?? false
      begin(key, isProvoked: isProvoked || isNews, now: now)
    } else if cache.denies(key) {
      sleepWhileDenied(key, now: now)
    }
  }

  /// One client fewer queries this key.
  mutating func stop(_ key: QuestionKey) {
    guard let ask = asks[key] else { return assertionFailure("\(key) is not asked") }
    cache.unwant(key)
    if ask.clientCount > 1 {
      asks[existing: key].clientCount -= 1
      return
    }
    asks[key] = nil
    askedTypes[existing: key.name].removeAll { $0 == key.type }
    if askedTypes[existing: key.name].isEmpty { askedTypes[key.name] = nil }
  }

  /// The interface has other addresses.
  mutating func update(_ interface: NetworkInterface) {
    precondition(interface.index == self.interface.index, "\(interface) is another one")
    self.interface = interface
  }

  /// The link may be another one: all questions are sent again, and records without an answer are
  /// removed.
  mutating func restart(now: Instant) {
    cache.reconfirmAll(now: now)
    for key in asks.keys.sorted(by: Self.isBefore) { begin(key, isProvoked: true, now: now) }
  }

  /// Reconfirms a record for a client that could not use it (RFC 6762, §10.4).
  mutating func reconfirm(_ record: DNSRecord, now: Instant) {
    guard reconfirmations.count < QuerierLimits.reconfirmationsMax,
      cache.reconfirm(record, now: now),
      !reconfirmations.contains(where: { $0.record.hasSameContent(as: record) })
    else { return }
    let firstAt = now + delay(isProvoked: true)
    reconfirmations.append(Reconfirmation(record: record, nextAt: firstAt, firstAt: firstAt))
  }

  /// Begins the question's series.
  private mutating func begin(_ key: QuestionKey, isProvoked: Bool, now: Instant) {
    guard var ask = asks[key] else { return assertionFailure("\(key) is not asked") }
    ask.earliestAt = isProvoked ? now + QuerierLimits.firstDelay.shortest : now
    ask.dueAt = now + delay(isProvoked: isProvoked)
    ask.interval = .zero
    ask.sentCount = 0
    ask.heardAt = [:]
    asks[key] = ask
    enqueue(key)
  }

  private mutating func delay(isProvoked: Bool) -> TimeSpan {
    let range = isProvoked ? QuerierLimits.firstDelay : QuerierLimits.clientDelay
    return rng.span(range.shortest, range.longest)
  }

  private mutating func enqueue(_ key: QuestionKey) {
    guard let ask = asks[key], ask.dueAt < ask.queuedAt else { return }
    asks[existing: key].queuedAt = ask.dueAt
    queue.insert(key, at: ask.dueAt)
    if queue.count > 2 * asks.count + 256 {
      let asks = asks
      queue.prune { instant, key in asks[key]?.queuedAt == instant }
    }
  }

  /// An order that does not depend on the process, as that of a dictionary does.
  private static func isBefore(_ a: QuestionKey, _ b: QuestionKey) -> Bool {
    a.name.wireBytes == b.name.wireBytes
      ? a.type < b.type : a.name.wireBytes.lexicographicallyPrecedes(b.name.wireBytes)
  }

  // MARK: Hearing

  /// Takes a message that came in on this interface.
  mutating func receive(_ received: ReceivedMessage, now: Instant, into outputs: inout [Output]) {
    if received.message.header.isResponse {
      guard accepts(received, now: now) else { return }
      let count = outputs.count
      take(received.message, now: now, into: &outputs)
      if received.isMulticast, outputs.count > count { newsAt = now }
    } else {
      overhear(received, now: now)
    }
  }

  /// Whether a response is accepted: from port 5353, and by multicast, or by unicast after a
  /// question that requested that and from this link (RFC 6762, §6 and §11). An alias, or a
  /// negative answer, counts as an answer, too.
  private func accepts(_ received: ReceivedMessage, now: Instant) -> Bool {
    guard received.source.port == multicastDNSPort else { return false }
    if received.isMulticast { return true }
    return interface.isOnLink(received.source.address)
      && received.message.answers.contains { record in
        (askedTypes[record.name] ?? []).contains { type in
          (type == record.type || type == .any || record.type == .cname || record.type == .nsec)
            && asks[QuestionKey(record.name, type)].map { now <= $0.unicastUntil } ?? false
        }
      }
  }

  private mutating func take(
    _ message: DNSMessage, now: Instant, into outputs: inout [Output]
  ) {
    var flushed: [QuestionKey] = []
    var negativeNames: [DNSName] = []
    for record in message.answers + message.additionals {
      guard record.recordClass == .in, record.type != .any, record.type != .opt,
        !record.data.isMalformed
      else { continue }
      let key = QuestionKey(record.name, record.type)
      let outcome = cache.insert(record, now: now)
      if record.flushesCache, record.ttlSeconds > 0 {
        flushed.append(key)
        // A complete answer: no question is due before its refresh.
        if asks[key] != nil, outcome != .ignored { asks[existing: key].dueAt = .distantFuture }
      }
      switch outcome {
      case .added: outputs.append(.added(record))
      case .restored(let goodbyeAt): outputs.append(.added(record, goodbyeAt: goodbyeAt))
      case .renewed, .goodbye, .ignored: continue
      }
      if record.type == .nsec { negativeNames.append(record.name) }
    }
    cache.flush(flushed, now: now)
    var seen: Set<DNSName> = []
    for name in negativeNames where seen.insert(name).inserted {
      denied(name, now: now, into: &outputs)
    }
  }

  /// An NSEC record of this name was received, which lists the types that the name has.
  private mutating func denied(_ name: DNSName, now: Instant, into outputs: inout [Output]) {
    for type in askedTypes[name] ?? [] {
      let key = QuestionKey(name, type)
      guard cache.denies(key) else { continue }
      sleepWhileDenied(key, now: now)
      outputs.append(.absent(key))
    }
  }

  /// No question is due until the negative answer expires. That record is not refreshed itself, and
  /// may be evicted, so the question has a deadline of its own.
  private mutating func sleepWhileDenied(_ key: QuestionKey, now: Instant) {
    let left = cache.answers(to: QuestionKey(key.name, .nsec)).map { $0.expiresAt - now }.max()
    let fresh = TimeSpan(nanoseconds: (left ?? .zero).nanoseconds / 5 * 4)
    asks[existing: key].dueAt = now + max(fresh, QuerierLimits.firstInterval)
    enqueue(key)
  }

  /// Another host's question: it may replace ours (RFC 6762, §7.3), and it may stay unanswered
  /// (§10.5). Its known answers are never cached (§7.1).
  private mutating func overhear(_ received: ReceivedMessage, now: Instant) {
    guard received.isMulticast, received.source.port == multicastDNSPort,
      !interface.addresses.contains(where: { $0.address == received.source.address })
    else { return }
    let message = received.message
    var keys: [QuestionKey] = []
    var seen: Set<QuestionKey> = []
    for question in message.questions where !question.wantsUnicastResponse {
      let key = QuestionKey(question.name, question.type)
      guard question.questionClass == .in || question.questionClass == .any,
        asks[key] != nil || cache.knows(key.name), seen.insert(key).inserted
      else { continue }
      keys.append(key)
      guard asks[key] != nil, !message.header.isTruncated else { continue }
      let known = message.answers.filter { question.isAnswered(by: $0) }
      if known.allSatisfy({ cache.lists($0, now: now) }) {
        asks[existing: key].heardAt[received.link.version] = now
      }
    }
    let known = message.answers.filter { $0.recordClass == .in }
    cache.receivedQuestions(keys, knownAnswers: known, now: now)
  }

  // MARK: Time

  /// When `wake` should be called next.
  var nextWake: Instant? {
    .earliest(.earliest(cache.nextWake, queue.next), reconfirmations.earliest(\.nextAt))
  }

  /// Performs the work that is due at `now`.
  mutating func wake(now: Instant, into outputs: inout [Output]) {
    expire(now: now, into: &outputs)
    var keys = refreshes
    refreshes.removeAll(keepingCapacity: true)
    let reconfirmed = dueReconfirmations(now: now)
    var postponed: [QuestionKey] = []
    while let next = queue.next, next <= now + QuerierLimits.joinMax {
      guard let (instant, key) = queue.popDue(next) else { break }
      guard var ask = asks[key], ask.queuedAt == instant else { continue }
      ask.queuedAt = .distantFuture
      asks[key] = ask
      if ask.dueAt <= now {
        keys.append(key)
      } else {
        postponed.append(key)
      }
    }
    if !keys.isEmpty || !reconfirmed.isEmpty {
      for key in postponed where canJoin(key, now: now) { keys.append(key) }
      send(keys, reconfirmed: reconfirmed, now: now, into: &outputs)
    }
    for key in postponed { enqueue(key) }
  }

  /// Removes expired records, and collects those to refresh.
  private mutating func expire(now: Instant, into outputs: inout [Output]) {
    cacheEvents.removeAll(keepingCapacity: true)
    cache.expire(now: now, into: &cacheEvents)
    var namesOfRemoved: [DNSName] = []
    for event in cacheEvents {
      switch event {
      case .refreshDue(let key):
        for type in [key.type, .any] {
          let key = QuestionKey(key.name, type)
          guard asks[key]?.isRefreshDue == false else { continue }
          asks[existing: key].isRefreshDue = true
          refreshes.append(key)
        }
      case .removed(let record, let goodbyeAt):
        outputs.append(.removed(record, goodbyeAt: goodbyeAt))
        if askedTypes[record.name] != nil { namesOfRemoved.append(record.name) }
      }
    }
    var seen: Set<DNSName> = []
    for name in namesOfRemoved where seen.insert(name).inserted {
      // A question that slept because its answer was complete begins anew.
      for type in askedTypes[name] ?? [] {
        let key = QuestionKey(name, type)
        if asks[key]?.dueAt == .distantFuture, !cache.isSettled(key, now: now) {
          begin(key, isProvoked: true, now: now)
        }
      }
    }
  }

  /// Whether a question that is due soon may go along with one that is due now.
  private func canJoin(_ key: QuestionKey, now: Instant) -> Bool {
    guard let ask = asks[key], !ask.isRefreshDue, ask.dueAt - now <= QuerierLimits.joinMax else {
      return false
    }
    if ask.sentCount == 0 { return now >= ask.earliestAt }
    guard ask.sentCount > 1 else { return false }
    return (ask.dueAt - now) * QuerierLimits.joinDivisor <= ask.interval
  }

  private mutating func dueReconfirmations(now: Instant) -> [QuestionKey] {
    var due: [QuestionKey] = []
    for index in reconfirmations.indices where reconfirmations[index].nextAt <= now {
      // Received again, or removed: the reconfirmation is over.
      guard !cache.isTrusted(reconfirmations[index].record),
        cache.isKnown(reconfirmations[index].record),
        reconfirmations[index].round < QuerierLimits.reconfirmationPauses.count
      else {
        reconfirmations[index].nextAt = .distantFuture
        continue
      }
      due.append(reconfirmations[index].key)
      reconfirmations[index].round += 1
      let pauses = QuerierLimits.reconfirmationPauses
      let round = reconfirmations[index].round
      reconfirmations[index].nextAt =
        round < pauses.count ? reconfirmations[index].firstAt + pauses[round] : .distantFuture
    }
    reconfirmations.removeAll { $0.nextAt == .distantFuture }
    return due
  }

  // MARK: Sending

  private mutating func send(
    _ keys: [QuestionKey], reconfirmed: [QuestionKey], now: Instant, into outputs: inout [Output]
  ) {
    var known: [QuestionKey: [(record: DNSRecord, ttlSeconds: UInt32)]] = [:]
    var pendingBefore: [PendingQuestion] = []
    var packets: [[UInt8]] = []
    for version in IPVersion.allCases where interface.versions.contains(version) {
      var seen: Set<QuestionKey> = []
      var pending: [PendingQuestion] = []
      for key in keys + reconfirmed where seen.insert(key).inserted {
        guard reconfirmed.contains(key) || !isSpared(key, version, now: now) else { continue }
        let answers = known[key] ?? cache.knownAnswers(to: key, now: now)
        known[key] = answers
        pending.append(
          PendingQuestion(
            question: DNSQuestion(
              name: key.name, type: key.type,
              wantsUnicastResponse: interface.receivesUnicast && asks[key]?.sentCount == 0),
            knownAnswers: answers))
      }
      // Mostly the same packets are sent over both versions of IP, and encoded only once.
      if packets.isEmpty || pending.map(\.question) != pendingBefore.map(\.question) {
        packets = QuestionPackets.make(pending)
        pendingBefore = pending
      }
      outputs += packets.map { .send($0, version) }
    }
    for key in keys { sent(key, now: now) }
    for key in reconfirmed { cache.asked(key, now: now) }
  }

  /// Whether another host has just sent the same question over this version of IP.
  private func isSpared(_ key: QuestionKey, _ version: IPVersion, now: Instant) -> Bool {
    guard let ask = asks[key], let heardAt = ask.heardAt[version] else { return false }
    if ask.isRefreshDue { return now - heardAt < QuerierLimits.firstInterval }
    if ask.sentCount == 0 { return true }
    return (now - heardAt) * 2 <= ask.interval
  }

  /// The question was sent, or need not be: schedules the next one of the series.
  private mutating func sent(_ key: QuestionKey, now: Instant) {
    cache.asked(key, now: now)
    guard var ask = asks[key] else { return }
    let isSeries = ask.dueAt <= now || !ask.isRefreshDue
    ask.isRefreshDue = false
    if isSeries {
      if ask.sentCount == 0 { ask.unicastUntil = now + QuerierLimits.unicastTimeout }
      ask.sentCount += 1
      ask.interval =
        ask.sentCount == 1
        ? QuerierLimits.firstInterval
        : min(ask.interval * QuerierLimits.intervalFactor, QuerierLimits.intervalMax)
      assert(ask.interval >= QuerierLimits.firstInterval, "\(key) is sent again too soon")
      ask.dueAt = now + ask.interval
    }
    asks[key] = ask
    enqueue(key)
  }
}
