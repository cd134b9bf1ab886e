package import DNSWire
import Essentials

/// The name and the type of a question. The class is always IN.
package struct QuestionKey: Hashable, Sendable {
  /// The name of the question.
  package var name: DNSName
  /// The type of the question; `any` for all.
  package var type: DNSType

  /// Creates a key from a name and a type.
  package init(_ name: DNSName, _ type: DNSType) {
    self.name = name
    self.type = type
  }
}

/// The records that were received on one interface, for as long as they are valid (RFC 6762, §10).
///
/// Bounded in number and bytes: records without a query are evicted, the oldest first, and where
/// all records have a query new ones are refused. So a flood of records costs neither memory nor
/// the answers in use.
struct RecordCache: Sendable {
  enum Limits {
    /// Records at once: five thousand services with everything that belongs to them.
    static let recordsMax = 24_576
    /// Bytes of names and data at once, as on the wire; in memory it is some four times as much.
    static let byteCountMax = 4 << 20
    /// How long a record is kept after its goodbye, or after a newer record that replaces it: time
    /// for other hosts to object (RFC 6762, §10.1 and §10.2).
    static let grace = TimeSpan.seconds(1)
    /// How long a record is kept without an answer after its reconfirmation (RFC 6762, §10.4 and
    /// §10.5).
    static let reconfirm = TimeSpan.seconds(10)
    /// How many unanswered questions of other hosts cause a reconfirmation (RFC 6762, §10.5).
    static let unansweredMax = 2
    /// Questions closer together than this are one: it came over both versions of IP.
    static let questionSpacing = TimeSpan.milliseconds(500)
    /// The longest time to live that the DNS knows (RFC 2181, §8).
    static let ttlSecondsMax: UInt32 = 0x7FFF_FFFF
    /// When a record with a query is refreshed, in hundredths of its TTL, and by how much that is
    /// delayed at random (RFC 6762, §5.2).
    static let refreshPercents: [Int64] = [80, 85, 90, 95]
    static let refreshJitterPercent = 2.0
  }

  /// A change of a record with time.
  enum Event: Sendable, Equatable {
    /// It is no longer valid; with the time of its goodbye.
    case removed(DNSRecord, goodbyeAt: Instant?)
    /// It is in use and should be refreshed.
    case refreshDue(QuestionKey)
  }

  /// The result of inserting a received record.
  enum Outcome: Sendable, Equatable {
    /// It is new.
    case added
    /// It was known; its time starts anew.
    case renewed
    /// The same, after its goodbye: queries that began since then did not get it.
    case restored(goodbyeAt: Instant)
    /// A goodbye for a known record, which will be removed.
    case goodbye
    /// It was not known and is not valid, or there is no room for it.
    case ignored
  }

  struct Entry: Sendable {
    var record: DNSRecord
    var receivedAt: Instant
    var expiresAt: Instant
    /// Whether its end was brought forward: by a goodbye, a newer record or a reconfirmation.
    var isExpiring = false
    /// The time of its goodbye; nil if there was none, or the record was received again.
    var goodbyeAt: Instant?
    /// How many of its refreshes are past.
    var refreshStage = 0
    var refreshAt = Instant.distantFuture
    var unansweredCount = 0
    var lastUnansweredAt = Instant.zero
    /// Whether there is a query for it.
    var isWanted: Bool
    /// The deadline under which it is queued; none of its others is earlier.
    var queuedAt = Instant.distantFuture
    /// Its position among the records of its name.
    var position: Int
    /// Its neighbours among the records without a query, in the order of arrival.
    var older: Int?
    var newer: Int?
    /// Distinguishes it from earlier records of its slot.
    let serial: UInt64

    var key: QuestionKey { QuestionKey(record.name, record.type) }
    var deadline: Instant { min(expiresAt, refreshAt) }
    /// How much of the names' and data's bytes it accounts for.
    var byteCount: Int { RecordCache.byteCount(record) }
  }

  struct Identity: Hashable {
    var name: DNSName
    var data: DNSRecordData
  }

  struct Ticket {
    var slot: Int
    var serial: UInt64
  }

  let recordsMax: Int
  let byteCountMax: Int
  private(set) var count = 0
  private(set) var byteCount = 0
  var slots: [Entry?] = []
  var freeSlots: [Int] = []
  var slotsByIdentity: [Identity: Int] = [:]
  var slotsByName: [DNSName: [Int]] = [:]
  var wants: [QuestionKey: Int] = [:]
  var queue = DeadlineQueue<Ticket>()
  var oldestIdle: Int?
  var newestIdle: Int?
  var lastSerial: UInt64 = 0
  private var rng: SeededGenerator

  init(
    recordsMax: Int = Limits.recordsMax, byteCountMax: Int = Limits.byteCountMax,
    rng: SeededGenerator
  ) {
    precondition(recordsMax > 0 && byteCountMax > 0, "a cache has room")
    self.recordsMax = recordsMax
    self.byteCountMax = byteCountMax
    self.rng = rng
  }

  static func byteCount(_ record: DNSRecord) -> Int {
    let dataByteCount =
      switch record.data {
      case .a: 4
      case .aaaa: 16
      case .ptr(let name), .cname(let name), .ns(let name): name.wireBytes.count
      case .srv(let service): 6 + service.target.wireBytes.count
      case .txt(let text): text.wireBytes.count
      case .hinfo(let processor, let system): processor.count + system.count
      case .nsec(let next, let types): next.wireBytes.count + types.wireBytes.count
      case .opt(let bytes), .opaque(_, let bytes): bytes.count
      }
    return record.name.wireBytes.count + dataByteCount + 10
  }

  // MARK: Hearing

  /// Inserts a received record of class IN.
  mutating func insert(_ record: DNSRecord, now: Instant) -> Outcome {
    if let slot = slotsByIdentity[Identity(name: record.name, data: record.data)] {
      let goodbyeAt = self[slot].goodbyeAt
      if record.ttlSeconds == 0 {
        expire(slot, by: now + Limits.grace)
        self[slot].goodbyeAt = goodbyeAt ?? now
        return .goodbye
      }
      renew(slot, as: record, now: now)
      return goodbyeAt.map { .restored(goodbyeAt: $0) } ?? .renewed
    }
    guard record.ttlSeconds > 0 else { return .ignored }
    let isWanted =
      wants[QuestionKey(record.name, record.type)] != nil
      || wants[QuestionKey(record.name, .any)] != nil
    guard makeRoom(for: Self.byteCount(record)) else { return .ignored }
    add(record, isWanted: isWanted, now: now)
    return .added
  }

  /// Records of these names and types were received at `now` with the cache-flush bit: those that
  /// were received more than a second ago end in a second (RFC 6762, §10.2).
  mutating func flush(_ keys: [QuestionKey], now: Instant) {
    for (name, types) in Self.typesByName(keys) {
      for slot in slotsByName[name] ?? [] {
        let entry = self[slot]
        guard types.contains(entry.record.type), now - entry.receivedAt > Limits.grace else {
          continue
        }
        expire(slot, by: now + Limits.grace)
      }
    }
  }

  /// Processes the multicast questions of another host's message, with its known answers. Two
  /// questions without an answer cause a reconfirmation (RFC 6762, §10.5).
  mutating func receivedQuestions(
    _ keys: [QuestionKey], knownAnswers: [DNSRecord], now: Instant
  ) {
    let known = Set(
      knownAnswers.compactMap { slotsByIdentity[Identity(name: $0.name, data: $0.data)] })
    for (name, types) in Self.typesByName(keys) {
      for slot in slotsByName[name] ?? [] where !known.contains(slot) {
        var entry = self[slot]
        guard types.contains(entry.record.type) || types.contains(.any),
          entry.unansweredCount == 0 || now - entry.lastUnansweredAt >= Limits.questionSpacing
        else { continue }
        entry.unansweredCount += 1
        entry.lastUnansweredAt = now
        self[slot] = entry
        if entry.unansweredCount == Limits.unansweredMax {
          expire(slot, by: now + Limits.reconfirm)
        }
      }
    }
  }

  /// The types of each name, in the order of the names. A hostile message may have a thousand types
  /// of one name that has all records of the cache, which are gone over only once.
  private static func typesByName(_ keys: [QuestionKey]) -> [(DNSName, Set<DNSType>)] {
    var indices: [DNSName: Int] = [:]
    var groups: [(DNSName, Set<DNSType>)] = []
    for key in keys {
      if let index = indices[key.name] {
        groups[index].1.insert(key.type)
      } else {
        indices[key.name] = groups.count
        groups.append((key.name, [key.type]))
      }
    }
    return groups
  }

  /// Reconfirms a record: it ends in ten seconds, unless it is received again. False if it is not
  /// known.
  mutating func reconfirm(_ record: DNSRecord, now: Instant) -> Bool {
    guard let slot = slotsByIdentity[Identity(name: record.name, data: record.data)] else {
      return false
    }
    expire(slot, by: now + Limits.reconfirm)
    return true
  }

  /// Reconfirms all records with a query, and removes the others: the link may be another one.
  mutating func reconfirmAll(now: Instant) {
    while let slot = oldestIdle { remove(slot) }
    for slot in slots.indices where slots[slot] != nil {
      expire(slot, by: now + Limits.reconfirm)
    }
  }

  // MARK: Looking up

  /// Whether there are records of that name.
  func knows(_ name: DNSName) -> Bool { slotsByName[name] != nil }

  /// The valid records that answer a question.
  func answers(to key: QuestionKey) -> [Entry] {
    (slotsByName[key.name] ?? []).compactMap { slot in
      let entry = self[slot]
      return key.type == entry.record.type || key.type == .any ? entry : nil
    }
  }

  /// What a question lists as known: records with at least half of their time left, and that time
  /// in seconds (RFC 6762, §7.1).
  func knownAnswers(to key: QuestionKey, now: Instant) -> [(record: DNSRecord, ttlSeconds: UInt32)]
  {
    answers(to: key).compactMap { entry in
      guard Self.isWorthListing(entry, now: now) else { return nil }
      var record = entry.record
      record.flushesCache = false
      return (record, UInt32(clamping: (entry.expiresAt - now).nanoseconds / 1_000_000_000))
    }
  }

  /// Whether our own question would list this record as known.
  func lists(_ record: DNSRecord, now: Instant) -> Bool {
    guard let slot = slotsByIdentity[Identity(name: record.name, data: record.data)] else {
      return false
    }
    return Self.isWorthListing(self[slot], now: now)
  }

  /// Whether the record is known and not yet over.
  func isKnown(_ record: DNSRecord) -> Bool {
    slotsByIdentity[Identity(name: record.name, data: record.data)] != nil
  }

  /// Whether the record is known and its end was not brought forward.
  func isTrusted(_ record: DNSRecord) -> Bool {
    guard let slot = slotsByIdentity[Identity(name: record.name, data: record.data)] else {
      return false
    }
    return !self[slot].isExpiring
  }

  /// Whether the question needs not be sent now: there is a complete answer, or a negative one, and
  /// it is not time yet to refresh it.
  func isSettled(_ key: QuestionKey, now: Instant) -> Bool {
    guard key.type != .any else { return false }
    if denies(key) { return true }
    let entries = answers(to: key)
    return !entries.isEmpty
      && entries.allSatisfy { entry in
        entry.record.flushesCache && !entry.isExpiring && now < Self.refreshInstant(entry, stage: 0)
      }
  }

  /// Whether there is a negative answer for that type (NSEC; RFC 6762, §6.1).
  func denies(_ key: QuestionKey) -> Bool {
    guard key.type != .any, key.type != .nsec else { return false }
    let isDenied = answers(to: QuestionKey(key.name, .nsec)).contains { entry in
      guard case .nsec(let next, let types) = entry.record.data, !entry.isExpiring else {
        return false
      }
      return next == key.name && !types.contains(key.type)
    }
    return isDenied && answers(to: key).isEmpty
  }

  private static func isWorthListing(_ entry: Entry, now: Instant) -> Bool {
    let left = entry.expiresAt - now
    return !entry.isExpiring && left * 2 >= lifetime(entry.record)
  }

  // MARK: Interest

  /// A query began: its answers are kept and refreshed in time.
  mutating func want(_ key: QuestionKey, now: Instant) {
    wants[key, default: 0] += 1
    guard wants[key] == 1 else { return }
    for slot in slotsByName[key.name] ?? [] {
      let entry = self[slot]
      guard !entry.isWanted,
        key.type == entry.record.type || key.type == .any
      else { continue }
      unlinkIdle(slot)
      self[slot].isWanted = true
      scheduleRefresh(slot, now: now)
    }
  }

  /// The last query for this key ended.
  mutating func unwant(_ key: QuestionKey) {
    guard let count = wants[key] else { return assertionFailure("no query is for \(key)") }
    wants[key] = count == 1 ? nil : count - 1
    guard count == 1 else { return }
    for slot in slotsByName[key.name] ?? [] {
      let entry = self[slot]
      guard entry.isWanted, wants[entry.key] == nil,
        wants[QuestionKey(key.name, .any)] == nil
      else { continue }
      self[slot].isWanted = false
      self[slot].refreshAt = .distantFuture
      linkIdle(slot)
    }
  }

  /// The question was sent, which refreshes its records.
  mutating func asked(_ key: QuestionKey, now: Instant) {
    for slot in slotsByName[key.name] ?? [] {
      let entry = self[slot]
      guard key.type == entry.record.type || key.type == .any,
        entry.isWanted, now >= Self.refreshInstant(entry, stage: entry.refreshStage)
      else { continue }
      scheduleRefresh(slot, now: now)
    }
    passOver()
  }

  // MARK: Time

  /// When `expire` should be called next.
  var nextWake: Instant? { queue.next }

  /// Performs the refreshes and removals that are due.
  mutating func expire(now: Instant, into events: inout [Event]) {
    while let (instant, ticket) = queue.popDue(now) {
      guard let entry = slots[ticket.slot], entry.serial == ticket.serial,
        entry.queuedAt == instant
      else { continue }
      self[ticket.slot].queuedAt = .distantFuture
      if entry.expiresAt <= now {
        remove(ticket.slot)
        events.append(.removed(entry.record, goodbyeAt: entry.goodbyeAt))
      } else {
        if entry.refreshAt <= now {
          events.append(.refreshDue(entry.key))
          scheduleRefresh(ticket.slot, now: now)
        }
        enqueue(ticket.slot)
      }
    }
    passOver()
  }

  /// Queues the first entry anew if it is due later by now, to avoid a wake without work.
  private mutating func passOver() {
    while let (instant, ticket) = queue.first {
      let entry = slots[ticket.slot]
      let isCurrent = entry?.serial == ticket.serial && entry?.queuedAt == instant
      if isCurrent, let entry, entry.deadline <= instant { return }
      queue.removeFirst()
      guard isCurrent else { continue }
      self[ticket.slot].queuedAt = .distantFuture
      enqueue(ticket.slot)
    }
  }

  /// The entry in a slot that is known to be in use: its index was found in one of the other tables.
  private subscript(slot: Int) -> Entry {
    get {
      guard let entry = slots[slot] else { preconditionFailure("no record is in slot \(slot)") }
      return entry
    }
    _modify {
      guard var entry = slots[slot] else { preconditionFailure("no record is in slot \(slot)") }
      // The only reference, so that nothing is copied when it is changed.
      slots[slot] = nil
      defer { slots[slot] = entry }
      yield &entry
    }
  }

  /// Every record, in no order that means anything.
  var entries: [Entry] { slots.compactMap { $0 } }
}

// MARK: - Slots

extension RecordCache {
  private static func lifetime(_ record: DNSRecord) -> TimeSpan {
    .seconds(Int64(min(record.ttlSeconds, Limits.ttlSecondsMax)))
  }

  /// The time when the stage's percentage of the TTL has passed, without the random part.
  private static func refreshInstant(_ entry: Entry, stage: Int) -> Instant {
    guard stage < Limits.refreshPercents.count else { return .distantFuture }
    let percent = Limits.refreshPercents[stage]
    return entry.receivedAt
      + TimeSpan(nanoseconds: lifetime(entry.record).nanoseconds / 100 * percent)
  }

  /// Schedules the next refresh.
  private mutating func scheduleRefresh(_ slot: Int, now: Instant) {
    var entry = self[slot]
    while entry.refreshStage < Limits.refreshPercents.count,
      Self.refreshInstant(entry, stage: entry.refreshStage) <= now
    {
      entry.refreshStage += 1
    }
    entry.refreshAt = .distantFuture
    if !entry.isExpiring, entry.refreshStage < Limits.refreshPercents.count {
      let jitter =
        Double(Self.lifetime(entry.record).nanoseconds) / 100 * Limits.refreshJitterPercent
        * rng.unit()
      entry.refreshAt =
        Self.refreshInstant(entry, stage: entry.refreshStage) + .nanoseconds(Int64(jitter))
    }
    self[slot] = entry
    enqueue(slot)
  }

  private mutating func renew(_ slot: Int, as record: DNSRecord, now: Instant) {
    assert(record.ttlSeconds > 0, "a goodbye renews \(record.name)")
    var entry = self[slot]
    // The stored name and data stay: they are equal, and shared with other records.
    entry.record.ttlSeconds = record.ttlSeconds
    entry.record.flushesCache = record.flushesCache
    entry.receivedAt = now
    entry.expiresAt = now + Self.lifetime(record)
    entry.isExpiring = false
    entry.goodbyeAt = nil
    entry.refreshStage = 0
    entry.refreshAt = .distantFuture
    entry.unansweredCount = 0
    self[slot] = entry
    if entry.isWanted {
      scheduleRefresh(slot, now: now)
    } else {
      unlinkIdle(slot)
      linkIdle(slot)
      enqueue(slot)
    }
  }

  private mutating func expire(_ slot: Int, by end: Instant) {
    var entry = self[slot]
    entry.isExpiring = true
    entry.expiresAt = min(entry.expiresAt, end)
    entry.refreshAt = .distantFuture
    self[slot] = entry
    enqueue(slot)
  }

  private mutating func add(_ record: DNSRecord, isWanted: Bool, now: Instant) {
    var record = record
    if let sibling = slotsByName[record.name]?.first.map({ self[$0] }),
      sibling.record.name.wireBytes == record.name.wireBytes
    {
      // One name in memory for all of its records.
      record.name = sibling.record.name
    }
    let slot = freeSlots.popLast() ?? slots.count
    if slot == slots.count { slots.append(nil) }
    assert(slots[slot] == nil, "slot \(slot) is free and in use")
    let position = slotsByName[record.name]?.count ?? 0
    slotsByName[record.name, default: []].append(slot)
    slotsByIdentity[Identity(name: record.name, data: record.data)] = slot
    lastSerial += 1
    let entry = Entry(
      record: record, receivedAt: now, expiresAt: now + Self.lifetime(record), isWanted: isWanted,
      position: position, serial: lastSerial)
    slots[slot] = entry
    count += 1
    byteCount += entry.byteCount
    if isWanted {
      scheduleRefresh(slot, now: now)
    } else {
      linkIdle(slot)
      enqueue(slot)
    }
  }

  private mutating func remove(_ slot: Int) {
    let entry = self[slot]
    if !entry.isWanted { unlinkIdle(slot) }
    slotsByIdentity[Identity(name: entry.record.name, data: entry.record.data)] = nil
    let name = entry.record.name
    if let last = slotsByName[existing: name].popLast(), last != slot {
      slotsByName[existing: name][entry.position] = last
      self[last].position = entry.position
    }
    if slotsByName[existing: name].isEmpty { slotsByName[name] = nil }
    slots[slot] = nil
    freeSlots.append(slot)
    count -= 1
    byteCount -= entry.byteCount
    assert(count >= 0 && byteCount >= 0, "\(count) records have \(byteCount) bytes")
  }

  /// Evicts records without a query until one of this size fits. False if it still doesn't.
  private mutating func makeRoom(for added: Int) -> Bool {
    while count >= recordsMax || byteCount + added > byteCountMax {
      guard let oldest = oldestIdle else { return false }
      assert(!self[oldest].isWanted, "a record with a query is evicted")
      remove(oldest)
    }
    return true
  }

  private mutating func enqueue(_ slot: Int) {
    let entry = self[slot]
    guard entry.deadline < entry.queuedAt else { return }
    self[slot].queuedAt = entry.deadline
    queue.insert(Ticket(slot: slot, serial: entry.serial), at: entry.deadline)
    // What a record was queued under before stays until its time; a flood must not pile it up.
    if queue.count > 2 * count + 1_024 {
      let slots = slots
      queue.prune { instant, ticket in
        slots[ticket.slot]?.serial == ticket.serial && slots[ticket.slot]?.queuedAt == instant
      }
    }
  }

  private mutating func linkIdle(_ slot: Int) {
    assert(!self[slot].isWanted && newestIdle != slot, "slot \(slot) is in use, or linked")
    self[slot].older = newestIdle
    self[slot].newer = nil
    if let newestIdle { self[newestIdle].newer = slot }
    newestIdle = slot
    if oldestIdle == nil { oldestIdle = slot }
  }

  private mutating func unlinkIdle(_ slot: Int) {
    let entry = self[slot]
    if let older = entry.older { self[older].newer = entry.newer }
    if let newer = entry.newer { self[newer].older = entry.older }
    if oldestIdle == slot { oldestIdle = entry.newer }
    if newestIdle == slot { newestIdle = entry.older }
    self[slot].older = nil
    self[slot].newer = nil
  }
}
