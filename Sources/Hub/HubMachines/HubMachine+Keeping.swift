package import BluetoothInterface
import Essentials
import HubWire

/// A session whose program has ended, with what a new process of the program gets.
struct KeptSession: Sendable {
  /// The notes in it are those before the events.
  var state: SessionState
  var events = KeptEvents()
  /// How many events the ended process got and did not acknowledge.
  let unhandledCount: Int
  /// The limits that hold for the ended process.
  let limits: HubLimits
  /// The ended process.
  let processID: Int32
  let since: Instant
  let deadline: Instant
}

// A session is kept under its identity when its program ends without a reason of the hub. Its session with the host
// goes on, under the key that it had. A new session of the identity takes it over, or gives it up.

extension HubMachine {
  /// How long the session of an opening is kept when its program ends.
  func keepingTime(_ opening: SessionOpening, holdsName: Bool, of id: HubConnectionID) -> TimeSpan {
    guard holdsName, let connection = connections[id], connection.abilities.contains(.identity)
    else { return .zero }
    return max(.zero, min(opening.keptFor, connection.limits.keptTimeMax))
  }

  // MARK: The end of a program

  /// Keeps a session of a connection that has ended, or closes it.
  mutating func keepOrClose(
    _ state: SessionState, of connection: ConnectionState, now: Instant,
    into actions: inout [Action]
  ) {
    movedSessions[state.hostKey] = nil
    guard let identity = identity(state.manager, connection),
      mayKeep(state, as: identity, connection)
    else { return actions.append(.closeSession(state.hostKey)) }
    var state = state
    let unhandledCount = state.ledger.unhandledCount
    let hostCount = state.ledger.handledAll()
    if hostCount > 0 { actions.append(.acknowledge(state.hostKey, count: hostCount)) }
    for request in state.detach() { actions.append(.send(state.hostKey, request)) }
    let kept = KeptSession(
      state: state, unhandledCount: unhandledCount, limits: connection.limits,
      processID: connection.peer.processID, since: now, deadline: now + state.keptFor)
    keptSessions[identity] = kept
    keptIdentities[state.hostKey] = identity
    users[identity.userID, default: UserLoad()] += kept.load
    nextKeptEnd = min(nextKeptEnd ?? kept.deadline, kept.deadline)
  }

  private mutating func mayKeep(
    _ state: SessionState, as identity: SessionIdentity, _ connection: ConnectionState
  ) -> Bool {
    guard let notes = state.notes, !notes.isEmpty, !isEnding else { return false }
    // Another process of the program goes on, or this one has connected again before its end was noticed.
    let isOpen = connections.values.contains { other in
      other.peer.userID == identity.userID && other.app == identity.app
        && other.sessions.values.contains { $0.manager == identity.manager }
    }
    guard !isOpen else { return false }
    guard notes.lastToken <= HubProtocol.keptTokenMax,
      keptSessions.keys.count(where: { $0.userID == identity.userID })
        < connection.limits.keptSessionCountPerUserMax
    else {
      totals.unkeptSessionCount += 1
      return false
    }
    return true
  }

  // MARK: Events

  /// The host has delivered events of a kept session.
  mutating func keep(
    _ events: [HostEvent], of identity: SessionIdentity, into actions: inout [Action]
  ) {
    guard let before = keptSessions[identity]?.load, let key = keptSessions[identity]?.state.hostKey
    else { return }
    for event in events {
      guard let request = keptSessions[identity]?.take(event) else { continue }
      actions.append(.send(key, request))
    }
    let count = events.count { $0.isAcknowledged }
    if count > 0 { actions.append(.acknowledge(key, count: count)) }
    if let after = keptSessions[identity]?.load, after != before {
      users[identity.userID, default: UserLoad()] += after - before
    }
    withdrawIfReset(events, at: key, into: &actions)
  }

  /// A host that resets a program may have withdrawn what that publishes and advertises. A running program publishes it
  /// anew, and the next process of one that has ended, too: it has nothing of it to restore.
  mutating func withdrawIfReset(
    _ events: [HostEvent], at key: HubSessionKey, into actions: inout [Action]
  ) {
    let isReset = events.contains { if case .stateChanged(.resetting) = $0 { true } else { false } }
    guard isReset else { return }
    for request in holdings(of: key)?.withdrawals ?? [] {
      self.request(request, of: key, into: &actions)
    }
  }

  // MARK: A new process

  /// Gives a kept session to the one that is opened, which then is open; returns false if nothing is kept for it.
  mutating func resume(
    _ opening: SessionOpening, keptFor: TimeSpan, of id: HubConnectionID,
    into actions: inout [Action]
  ) -> Bool {
    guard let connection = connections[id], let identity = identity(opening.manager, connection),
      let kept = forget(identity)
    else { return false }
    guard opening.keptFor > .zero, !opening.beginsAnew, connection.abilities.contains(.identity)
    else {
      actions.append(.closeSession(kept.state.hostKey))
      return false
    }
    let attachment = SessionAttachment(holdsName: true, keptFor: keptFor, holdings: kept.holdings)
    do throws(HubWireError) {
      try connections[id]?.writer.append(HubMessage.attached(opening.id, attachment))
    } catch {
      // Services with more bytes than a message are no reason to end the connection.
      totals.unkeptSessionCount += 1
      actions.append(.closeSession(kept.state.hostKey))
      return false
    }
    var state = kept.state
    let first = state.notes?.firstEvents ?? []
    for event in kept.events.events { state.told(event) }
    state.attach(opening, keptFor: keptFor)
    connections[id]?.open(state, opening.id)
    connections[id]?.sendKept(first + kept.events.events, of: opening.id)
    movedSessions[state.hostKey] = HubSessionKey(id, opening.id)
    return true
  }

  // MARK: The end of keeping

  /// Closes the sessions whose time is over.
  mutating func endKept(at now: Instant, into actions: inout [Action]) {
    guard let next = nextKeptEnd, next <= now else { return }
    closeKept(into: &actions) { $1.deadline <= now }
  }

  /// A program wants kept sessions to be forgotten. Root and the hub's user decide about all, others about their own.
  mutating func forget(
    _ filter: KeptSessionFilter, _ number: UInt64, by id: HubConnectionID, now: Instant,
    into actions: inout [Action]
  ) {
    guard let peer = connections[id]?.peer else { return }
    guard forgetting.requested(by: peer.userID, at: now, limits) else {
      let text = "The user's programs had the hub forget sessions too often within a second."
      return refuse(id, HubRefusal(.limitReached, text), now: now, into: &actions)
    }
    var filter = filter
    if peer.userID != 0, peer.userID != configuration.userID {
      guard filter.userID ?? peer.userID == peer.userID else {
        connections[id]?.send(.forgotten(number, count: nil))
        return
      }
      filter.userID = peer.userID
    }
    let count = closeKept(into: &actions) { identity, _ in
      filter.contains(app: identity.app, userID: identity.userID)
    }
    connections[id]?.send(.forgotten(number, count: count))
    forgetting.forgot(count, for: peer)
    reportForgotten(now: now, into: &actions)
  }

  /// Reports forgotten sessions of each user, unless the last report was a moment ago.
  mutating func reportForgotten(now: Instant, into actions: inout [Action]) {
    for (peer, count) in forgetting.due(at: now, limits) {
      actions.append(.report(.forgotten(sessionCount: count, by: peer)))
    }
  }

  /// Closes kept sessions, in the order in which they were opened. Returns their number.
  @discardableResult
  mutating func closeKept(
    into actions: inout [Action], where isEnded: (SessionIdentity, KeptSession) -> Bool
  ) -> Int {
    let ended = keptSessions.filter { isEnded($0.key, $0.value) }.sorted {
      let (a, b) = ($0.value.state.hostKey, $1.value.state.hostKey)
      return (a.connection.rawValue, a.session.rawValue) < (
        b.connection.rawValue, b.session.rawValue
      )
    }
    for (identity, kept) in ended {
      _ = forget(identity)
      actions.append(.closeSession(kept.state.hostKey))
    }
    return ended.count
  }

  /// Removes a session from those that are kept.
  private mutating func forget(_ identity: SessionIdentity) -> KeptSession? {
    guard let kept = keptSessions.removeValue(forKey: identity) else { return nil }
    keptIdentities[kept.state.hostKey] = nil
    let load = (users[identity.userID] ?? UserLoad()) - kept.load
    users[identity.userID] = load == UserLoad() ? nil : load
    if kept.deadline == nextKeptEnd { nextKeptEnd = keptSessions.values.map(\.deadline).min() }
    return kept
  }

  // MARK: Invariants

  /// How the tables of kept and of moved sessions contradict each other.
  func violationsOfKeeping(perTable limit: Int) -> [String] {
    var found: [String] = []
    if keptSessions.count != keptIdentities.count {
      found.append("the keys of kept sessions are not theirs")
    }
    if (nextKeptEnd == nil) != keptSessions.isEmpty {
      found.append("no end of keeping is waited for")
    }
    if isEnding, !keptSessions.isEmpty { found.append("a hub that ends keeps sessions") }
    for (identity, kept) in keptSessions.prefix(limit) {
      found += kept.state.violations() + kept.events.violations(kept.limits)
      if holders[identity] != nil { found.append("\(identity.manager) is kept, and held") }
      if keptIdentities[kept.state.hostKey] != identity {
        found.append("the events of \(identity.manager) are not kept")
      }
      if let next = nextKeptEnd, kept.deadline < next {
        found.append("\(identity.manager) is kept for too long")
      }
      if connections[kept.state.hostKey.connection] != nil {
        found.append("\(identity.manager) is kept while its connection lasts")
      }
    }
    for (hostKey, key) in movedSessions.prefix(limit) {
      let session = connections[key.connection]?.sessions[key.session]
      if session?.hostKey != hostKey { found.append("events go to a session that is gone") }
    }
    return found
  }
}

extension KeptSession {
  /// What the session adds to the load of its user.
  var load: UserLoad {
    var load = UserLoad()
    load.sessionCount = 1
    load.sessions = state.load
    return load
  }

  /// The answer to a new process.
  var holdings: SessionHoldings? {
    var holdings = state.notes?.holdings
    holdings?.unhandledCount = unhandledCount
    holdings?.droppedCount = events.droppedCount
    return holdings
  }

  /// Takes an event of the host. Returns what to answer.
  mutating func take(_ event: HostEvent) -> HostRequest? {
    // The next process hears of the change.
    _ = state.receivedUntold(event)
    switch event {
    case .completed(_, .success(.channel(let info))), .channelOpened(let info):
      return .closeChannel(info.id)
    case .completed, .acknowledgementRequested, .channelReceived, .channelClosed: return nil
    case .pairingPrompt(_, _, let id): return .answerPairing(id, .reject)
    case .serverRequest(let request):
      events.drop()
      return request.needsResponse ? .refusing(request.id) : nil
    case .stateChanged, .discovered, .linkOpened, .linkUpdated, .linkClosed, .connected,
      .connectionFailed, .disconnected, .pairingEnded, .bondNotKept, .valueUpdated, .valuesDropped,
      .servicesChanged, .writesDropped, .requestsExpired, .subscribed, .unsubscribed:
      for folded in events.append(event, limits) { state.told(folded) }
      return nil
    }
  }
}

extension SessionHoldings {
  /// The requests that withdraw what is advertised and published.
  package var withdrawals: [HostRequest] {
    (advertising == nil ? [] : [.stopAdvertising]) + (services.isEmpty ? [] : [.removeAllServices])
  }
}
