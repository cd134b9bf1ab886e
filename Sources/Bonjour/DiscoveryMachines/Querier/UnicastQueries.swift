package import Essentials

/// The queries of a host for the system's resolver. A look-up occupies a thread while name servers
/// don't answer, so a few run at once, and the others wait in the order in which they became due:
/// first those of hosts about which nothing is known yet. The work for an event doesn't grow with the
/// number of queries.
package struct UnicastQueries: Machine, Sendable {
  /// What happened.
  package enum Event: Sendable {
    /// A query began, with an identifier that no other had.
    case started(QueryID, UnicastAddresses)
    /// A query was ended by its client.
    case stopped(QueryID)
    /// All queries were ended.
    case allStopped
    /// The resolver answered a look-up; without addresses if it knows none.
    case answered(QueryID, [InetAddress])
    /// The resolver could not be asked now, because other parts of the process use it.
    case busy(QueryID)
  }

  /// What to do.
  package enum Action: Hashable, Sendable {
    /// Ask the resolver for a host. The answer follows as an event, also if the query has ended.
    case lookUp(String, for: QueryID)
    /// Report an event to the client. If it is a failure, the query has ended.
    case deliver(QueryID, QueryEvent, moreComing: Bool)
  }

  /// Limits.
  package enum Limits {
    /// The maximum number of look-ups at once: two fewer than the process may have, so that names
    /// that don't resolve don't keep the process from connecting to others.
    package static let lookUpsMax = 6
    /// How long a look-up counts towards ``lookUpsMax``. Name servers that don't answer hold up
    /// those of others no longer.
    package static let placeTime = TimeSpan.seconds(2)
    /// The maximum number of look-ups with those that take longer: eight fewer than the process may
    /// have. getaddrinfo(3) gives up by itself, by default after ten seconds per name server.
    package static let lookUpsInAllMax = 24
    /// The maximum number of look-ups of hosts that were looked up before, with those that take
    /// longer: name servers that are silent for minutes leave places for new hosts.
    package static let renewalsMax = 4
    /// When a resolver that could not be asked is tried again.
    package static let busyPause = TimeSpan.seconds(1)
  }

  private(set) var queries: [QueryID: UnicastAddresses] = [:]
  /// When queries end, and when they are to be looked up. An entry is outdated if its query has
  /// another time now, or none.
  private(set) var ends = DeadlineQueue<QueryID>()
  private(set) var firstLookUps = DeadlineQueue<QueryID>()
  private(set) var renewals = DeadlineQueue<QueryID>()
  /// The look-ups without an answer, also those of queries that have ended.
  private(set) var underWay: [QueryID: LookUp] = [:]
  private var pausesUntil = Instant.zero

  struct LookUp: Sendable {
    var startedAt: Instant
    var isRenewal: Bool
  }

  package init() {}

  /// Whether the query runs.
  package func contains(_ id: QueryID) -> Bool { queries[id] != nil }

  /// When to call ``wake(now:into:)``; nil if no time is to be waited for.
  package var nextWake: Instant? {
    let renewal = isRoomForRenewals ? renewals.next : nil
    guard let placeFrom, let lookUp = Instant.earliest(firstLookUps.next, renewal) else {
      return ends.next
    }
    return .earliest(ends.next, max(lookUp, placeFrom, pausesUntil))
  }

  /// How many entries of times are kept, for tests.
  package var entryCount: Int { ends.count + firstLookUps.count + renewals.count }

  /// Since when, or from when on, one more look-up has a place; nil if only an answer brings one.
  private var placeFrom: Instant? {
    guard underWay.count < Limits.lookUpsInAllMax else { return nil }
    guard underWay.count >= Limits.lookUpsMax else { return .zero }
    let latestFirst = underWay.values.map(\.startedAt).sorted(by: >)
    return latestFirst[Limits.lookUpsMax - 1] + Limits.placeTime
  }

  private var isRoomForRenewals: Bool {
    underWay.values.count(where: \.isRenewal) < Limits.renewalsMax
  }

  /// Takes an event.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch event {
    case .started(let id, let query):
      queries[id] = query
      change(id, now: now, into: &actions) { $0.handle(.begun, now: now, into: &$1) }
    case .stopped(let id): queries[id] = nil
    case .allStopped: queries = [:]
    case .answered(let id, let addresses):
      lookUpEnded(id)
      pausesUntil = .zero
      change(id, now: now, into: &actions) {
        $0.handle(.answered(addresses), now: now, into: &$1)
      }
    case .busy(let id):
      lookUpEnded(id)
      pausesUntil = now + Limits.busyPause
      change(id, now: now, into: &actions) { $0.handle(.busy, now: now, into: &$1) }
    }
    lookUpNext(now: now, into: &actions)
    assertInvariants()
  }

  /// Does what is due.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    while let (instant, id) = ends.popDue(now) {
      guard queries[id]?.endsAt == instant else { continue }
      change(id, now: now, into: &actions) { $0.wake(now: now, into: &$1) }
    }
    lookUpNext(now: now, into: &actions)
    assertInvariants()
  }

  private mutating func lookUpEnded(_ id: QueryID) {
    let lookUp = underWay.removeValue(forKey: id)
    assert(lookUp != nil, "the look-up of \(id) ended, and had not begun")
  }

  /// Begins the look-ups that are due, as far as there are places.
  private mutating func lookUpNext(now: Instant, into actions: inout [Action]) {
    while pausesUntil <= now, let placeFrom, placeFrom <= now, let id = takeDue(now: now) {
      change(id, now: now, into: &actions) { $0.wake(now: now, into: &$1) }
    }
    dropOutdated()
  }

  /// Takes the next query that is to be looked up now.
  private mutating func takeDue(now: Instant) -> QueryID? {
    while let (instant, id) = firstLookUps.popDue(now) {
      if queries[id]?.lookUpAt == instant { return id }
    }
    guard isRoomForRenewals else { return nil }
    while let (instant, id) = renewals.popDue(now) {
      if queries[id]?.lookUpAt == instant { return id }
    }
    return nil
  }

  /// Changes a query, unless it has ended, and notes when it has something to do.
  private mutating func change(
    _ id: QueryID, now: Instant, into actions: inout [Action],
    _ body: (inout UnicastAddresses, inout [UnicastAddresses.Action]) -> Void
  ) {
    guard var query = queries.removeValue(forKey: id) else { return }
    let (end, lookUp) = (query.endsAt, query.lookUpAt)
    var ownActions: [UnicastAddresses.Action] = []
    body(&query, &ownActions)
    if let instant = query.endsAt, instant != end { ends.insert(id, at: instant) }
    if let instant = query.lookUpAt, instant != lookUp {
      if query.wasAnswered {
        renewals.insert(id, at: instant)
      } else {
        firstLookUps.insert(id, at: instant)
      }
    }
    var hasEnded = false
    for action in ownActions {
      switch action {
      case .lookUp(let host):
        underWay[id] = LookUp(startedAt: now, isRenewal: query.wasAnswered)
        actions.append(.lookUp(host, for: id))
      case .deliver(let event, let moreComing):
        if case .failed = event { hasEnded = true }
        actions.append(.deliver(id, event, moreComing: moreComing))
      }
    }
    if !hasEnded { queries[id] = query }
  }

  private mutating func dropOutdated() {
    let queries = queries
    Self.dropOutdated(of: &ends, queries.count) { queries[$1]?.endsAt == $0 }
    Self.dropOutdated(of: &firstLookUps, queries.count) { queries[$1]?.lookUpAt == $0 }
    Self.dropOutdated(of: &renewals, queries.count) { queries[$1]?.lookUpAt == $0 }
  }

  /// Lets the first entry be one that counts, and bounds the number of others.
  private static func dropOutdated(
    of queue: inout DeadlineQueue<QueryID>, _ count: Int, _ isCurrent: (Instant, QueryID) -> Bool
  ) {
    while let (instant, id) = queue.first, !isCurrent(instant, id) { queue.removeFirst() }
    if queue.count > 2 * count + 64 { queue.prune(isCurrent) }
  }
}
