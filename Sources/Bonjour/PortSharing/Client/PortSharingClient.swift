import DNSWire
package import DiscoveryMachines
package import Essentials

/// Stores the requests of a host and the results reported to it, so that a hub, the next one, or the host's
/// own process can take over: all requests are sent again, and only differences are reported.
///
/// The engine passes events to it, performs its actions, and calls ``wake(now:into:)`` at
/// ``nextWake``.
package struct PortSharingClient: Sendable {
  /// The process that runs the machines for the host.
  package enum Owner: Hashable, Sendable {
    /// This process, until the host is closed, or a hub runs the machines again.
    case thisProcess
    /// Another process, which may end.
    case another
  }

  /// Input of the machine.
  package enum Event: Hashable, Sendable {
    /// A request of the host.
    case request(DiscoveryRequest)
    /// This owner runs the machines from now on.
    case began(Owner)
    /// The owner has ended.
    case ended
    /// The owner has too many clients: all requests fail.
    case refused
    /// A report of the owner.
    case report(DiscoveryReport)
  }

  /// Output of the machine: work for the engine.
  package enum Action: Hashable, Sendable {
    /// Send the request to the owner.
    case forward(DiscoveryRequest)
    /// Deliver a report to the host.
    case notify(DiscoveryReport)
    /// Report to the host that a registration failed.
    case fail(RegistrationID)
    /// Disconnect from the owner, which reports more results than a network can have.
    case disconnect
  }

  /// Limits and times.
  package enum Limits {
    /// The time that a new owner has to find the results of the previous one. The first three
    /// questions are sent within it. RFC 6762, §10.4 gives the same time to records that are
    /// reconfirmed.
    package static let settlingTime = TimeSpan.seconds(10)
    /// The maximum number of results from another process that are not removed again: more than all
    /// its caches hold.
    package static let resultsMax = 500_000
  }

  private let resultsMax: Int
  /// Whether another process may run the machines after this one: what it has to know is kept. It stays so.
  package private(set) var mayMove = false
  var owner: Owner?
  var queries: [QueryID: TrackedQuery] = [:]
  private var registrations: [RegistrationID: TrackedRegistration] = [:]
  var settlesAt: Instant?
  var resultCount = 0

  /// Creates a client without an owner and without requests.
  ///
  /// - Parameter resultsMax: The maximum number of results from another process.
  package init(resultsMax: Int = Limits.resultsMax) { self.resultsMax = resultsMax }

  /// The time to call ``wake(now:into:)``; nil if no timer is running.
  package var nextWake: Instant? { settlesAt }

  /// Whether all requests and reports pass through unchanged from now on, because this process runs
  /// the machines and no query or registration that began earlier is left.
  package var isTransparent: Bool {
    owner == .thisProcess && !mayMove && queries.isEmpty && registrations.isEmpty
  }

  /// Whether the owner has nothing to do for the host.
  package var isIdle: Bool { queries.isEmpty && registrations.isEmpty }

  /// How many queries and registrations are kept for an owner.
  package var requestCount: Int { queries.count + registrations.count }

  /// Whether there are registrations.
  package var publishes: Bool { !registrations.isEmpty }

  /// Keeps from now on what another process would need that runs the machines after this one. To be called
  /// before this one does.
  package mutating func keepForAnother() {
    assert(owner == nil, "requests may have been forgotten")
    mayMove = true
  }

  /// Processes an event and appends the resulting actions.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    defer { assertInvariants() }
    switch event {
    case .request(let request):
      remember(request, now: now)
      if owner != nil { actions.append(.forward(request)) }
    case .began(let owner): begin(owner, now: now, into: &actions)
    case .ended: end(into: &actions)
    case .refused: failAll(into: &actions)
    case .report(let report): take(report, into: &actions)
    }
  }

  /// Reports results as removed that the new owner did not confirm in time.
  package mutating func wake(now: Instant, into actions: inout [Action]) {
    guard let due = settlesAt, due <= now else { return }
    settlesAt = nil
    for id in queries.keys.sorted() { change(id, into: &actions) { $0.settle(into: &$1) } }
    if isLast { forgetCertain() }
    assertInvariants()
  }

  /// Whether this process runs the machines, and none will after it.
  private var isLast: Bool { owner == .thisProcess && !mayMove }

  // MARK: Requests

  private mutating func remember(_ request: DiscoveryRequest, now: Instant) {
    // If this process is the last owner, requests need not be kept for another one.
    let isNew = !isLast
    switch request {
    case .startQuery(let id, let query, let index, let options):
      if isNew { queries[id] = TrackedQuery(query, on: index, options, now: now) }
    case .stopQuery(let id):
      if let query = queries.removeValue(forKey: id) { resultCount -= query.count }
    case .registerService(let id, let service):
      if isNew { registrations[id] = TrackedRegistration(content: .service(service)) }
    case .registerRecord(let id, let record):
      if isNew { registrations[id] = TrackedRegistration(content: .record(record)) }
    case .updateText, .updateRecord, .setRecord, .unregister: registrations.record(request)
    case .reconfirm: break
    }
  }

  // MARK: Owners

  private mutating func begin(_ owner: Owner, now: Instant, into actions: inout [Action]) {
    assert(self.owner != .thisProcess, "this process runs the machines already")
    self.owner = owner
    for id in registrations.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      actions += (registrations[id]?.requests(id) ?? []).map { .forward($0) }
    }
    for id in queries.keys.sorted() {
      if let query = queries[id] { actions.append(.forward(query.request(id, now: now))) }
    }
    if queries.values.contains(where: { !$0.isCertain }) { settlesAt = now + Limits.settlingTime }
    if isLast { forgetCertain() }
  }

  /// There will be no other owner to which requests would have to be sent again.
  private mutating func forgetCertain() {
    queries = queries.filter { !$0.value.isCertain }
    resultCount = queries.values.reduce(0) { $0 + $1.count }
  }

  private mutating func end(into actions: inout [Action]) {
    owner = nil
    settlesAt = nil
    for id in queries.keys.sorted() {
      change(id, into: &actions) { query, notifications in
        query.release(moreComing: false, into: &notifications)
        query.markAllUnconfirmed()
      }
    }
  }

  /// Fails all requests. The host may make them again.
  private mutating func failAll(into actions: inout [Action]) {
    for id in queries.keys.sorted() {
      actions.append(.notify(.found(id, .failed(.tooManyClients), on: nil, moreComing: false)))
    }
    for id in registrations.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      actions.append(.fail(id))
    }
    (owner, queries, registrations, settlesAt, resultCount) = (nil, [:], [:], nil, 0)
  }

  // MARK: Reports

  private mutating func take(_ report: DiscoveryReport, into actions: inout [Action]) {
    switch report {
    case .found(let id, let event, let index, let moreComing):
      guard queries[id] != nil else {
        // A query of this process, or one that ended before the report was delivered.
        if owner == .thisProcess { actions.append(.notify(report)) }
        return
      }
      change(id, into: &actions) {
        $0.take(event, on: index, moreComing: moreComing, into: &$1)
      }
      if case .failed = event, let query = queries.removeValue(forKey: id) {
        resultCount -= query.count
      }
      if owner == .another, resultCount > resultsMax { actions.append(.disconnect) }
    case .answersFromCache: actions.append(.notify(report))
    case .registered(let id, let name):
      guard let registration = registrations[id] else {
        if owner == .thisProcess { actions.append(.notify(report)) }
        return
      }
      registrations[existing: id].name = name
      if registration.name != name { actions.append(.notify(report)) }
      if isLast { registrations[id] = nil }
    case .refused(let id, _):
      guard registrations.removeValue(forKey: id) != nil || owner == .thisProcess else { return }
      actions.append(.notify(report))
    case .interfaces: actions.append(.notify(report))
    }
  }

  /// Changes a query and appends the notifications that follow.
  private mutating func change(
    _ id: QueryID, into actions: inout [Action],
    _ body: (inout TrackedQuery, inout [QueryNotification]) -> Void
  ) {
    guard var query = queries.removeValue(forKey: id) else { return }
    var notifications: [QueryNotification] = []
    resultCount -= query.count
    body(&query, &notifications)
    resultCount += query.count
    queries[id] = query
    for notification in notifications {
      actions.append(
        .notify(
          .found(
            id, notification.event, on: notification.interface, moreComing: notification.moreComing)
        ))
    }
  }
}
