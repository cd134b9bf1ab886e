import DNSWire
import DiscoveryMachines
public import Essentials

/// What a host of Bonjour wants and was told, kept so that any owner of port 5353 can take over from
/// any other: everything is asked for and published again, and only what differs is told.
///
/// Whoever owns it hands it what happens, performs its actions, and calls ``wake(now:into:)`` at
/// ``nextWake``.
public struct SharingClient: Sendable {
  /// Who runs the machines for the host.
  public enum Owner: Hashable, Sendable {
    /// This process, until the host ends.
    case thisProcess
    /// Another process, which may end.
    case another
  }

  /// What happens.
  public enum Event: Hashable, Sendable {
    /// The host wants something.
    case request(HostRequest)
    /// Somebody runs the machines from now on.
    case began(Owner)
    /// Nobody does any more.
    case ended
    /// What the owner says.
    case report(HostReport)
  }

  /// What is to be done.
  public enum Action: Hashable, Sendable {
    /// Ask the owner for it.
    case forward(HostRequest)
    /// Tell the host.
    case tell(HostReport)
    /// The owner says more than can be true: go without it.
    case leave
  }

  /// Sizes and times.
  public enum Limits {
    /// How long an owner that has just begun may take to find what the one before had found. The
    /// first three questions go out within it. RFC 6762, §10.4 gives as much to records in doubt.
    public static let settlingTime = TimeSpan.seconds(10)
    /// How much another process may tell us and not take back: more than all its caches hold.
    public static let factsMax = 500_000
  }

  private let factsMax: Int
  private var owner: Owner?
  private var queries: [QueryID: TrackedQuery] = [:]
  private var publications: [RegistrationID: TrackedPublication] = [:]
  private var settlesAt: Instant?
  private var factCount = 0

  /// A client without an owner, whose host wants nothing.
  ///
  /// - Parameter factsMax: how much another process may tell.
  public init(factsMax: Int = Limits.factsMax) { self.factsMax = factsMax }

  /// When ``wake(now:into:)`` is to be called; nil if there is nothing to wait for.
  public var nextWake: Instant? { settlesAt }

  /// Whether there is anything to be published.
  public var publishes: Bool { !publications.isEmpty }

  /// Takes what happened and appends what is to be done.
  public mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch event {
    case .request(let request):
      remember(request, now: now)
      if owner != nil { actions.append(.forward(request)) }
    case .began(let owner): begin(owner, now: now, into: &actions)
    case .ended: end(into: &actions)
    case .report(let report): take(report, into: &actions)
    }
  }

  /// Does what is due by now: what was told and is not there any more is told to have ended.
  public mutating func wake(now: Instant, into actions: inout [Action]) {
    guard let due = settlesAt, due <= now else { return }
    settlesAt = nil
    for id in queries.keys.sorted() { change(id, into: &actions) { $0.settle(into: &$1) } }
    if owner == .thisProcess { forgetCertain() }
  }

  // MARK: Requests

  private mutating func remember(_ request: HostRequest, now: Instant) {
    // What begins in this process ends with it: there will be no other owner to be told.
    let isNew = owner != .thisProcess
    switch request {
    case .ask(let id, let query, let index, let options):
      if isNew { queries[id] = TrackedQuery(query, on: index, options, now: now) }
    case .stopAsking(let id):
      if let query = queries.removeValue(forKey: id) { factCount -= query.count }
    case .publish(let id, let service):
      if isNew { publications[id] = TrackedPublication(content: .service(service)) }
    case .publishRecord(let id, let record):
      if isNew { publications[id] = TrackedPublication(content: .record(record)) }
    case .updateText(let id, let text): publications[id]?.update(text)
    case .updateRecord(let id, let data, let ttlSeconds):
      publications[id]?.update(data, ttlSeconds: ttlSeconds)
    case .setFurtherRecord(let id, let number, let data, let ttlSeconds):
      publications[id]?.further[number] = data.map { ($0, ttlSeconds) }
    case .withdraw(let id): publications[id] = nil
    case .doubt: break
    }
  }

  // MARK: Owners

  private mutating func begin(_ owner: Owner, now: Instant, into actions: inout [Action]) {
    self.owner = owner
    for id in publications.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      actions += (publications[id]?.requests(id) ?? []).map { .forward($0) }
    }
    for id in queries.keys.sorted() {
      if let query = queries[id] { actions.append(.forward(query.request(id, now: now))) }
    }
    if queries.values.contains(where: { !$0.isCertain }) { settlesAt = now + Limits.settlingTime }
    if owner == .thisProcess { forgetCertain() }
  }

  /// There will be no other owner who would have to be asked again.
  private mutating func forgetCertain() {
    queries = queries.filter { !$0.value.isCertain }
    factCount = queries.values.reduce(0) { $0 + $1.count }
  }

  private mutating func end(into actions: inout [Action]) {
    owner = nil
    settlesAt = nil
    for id in queries.keys.sorted() {
      change(id, into: &actions) { query, tellings in
        query.release(moreComing: false, into: &tellings)
        query.doubtEverything()
      }
    }
  }

  // MARK: Reports

  private mutating func take(_ report: HostReport, into actions: inout [Action]) {
    switch report {
    case .found(let id, let event, let index, let moreComing):
      guard queries[id] != nil else {
        // One that began here; or one that has ended, and the news crossed the request.
        if owner == .thisProcess { actions.append(.tell(report)) }
        return
      }
      change(id, into: &actions) {
        $0.take(event, on: index, moreComing: moreComing, into: &$1)
      }
      if case .failed = event, let query = queries.removeValue(forKey: id) {
        factCount -= query.count
      }
      if owner == .another, factCount > factsMax { actions.append(.leave) }
    case .published(let id, let name):
      guard let publication = publications[id] else {
        if owner == .thisProcess { actions.append(.tell(report)) }
        return
      }
      publications[id]?.name = name
      if publication.name != name { actions.append(.tell(report)) }
      if owner == .thisProcess { publications[id] = nil }
    case .refused(let id, _):
      guard publications.removeValue(forKey: id) != nil || owner == .thisProcess else { return }
      actions.append(.tell(report))
    case .interfaces: actions.append(.tell(report))
    }
  }

  /// Changes a query and tells what follows from it.
  private mutating func change(
    _ id: QueryID, into actions: inout [Action],
    _ body: (inout TrackedQuery, inout [Telling]) -> Void
  ) {
    guard var query = queries.removeValue(forKey: id) else { return }
    var tellings: [Telling] = []
    factCount -= query.count
    body(&query, &tellings)
    factCount += query.count
    queries[id] = query
    for telling in tellings {
      actions.append(
        .tell(
          .found(
            id, telling.event, on: telling.interface, moreComing: telling.moreComing)))
    }
  }
}
