import BluetoothInterface
package import Essentials
import HubWire

/// The hub's side of all connections of programs: greetings, sessions, limits, reading and writing.
///
/// Bytes and events come in, bytes and requests go out. A program that breaks a rule loses its connection,
/// with the reason as the last message; others don't notice.
///
/// A program that doesn't read what it gets, or doesn't handle it, acknowledges no events. The host then
/// stops the peers that cause them, or drops and counts what it can't stop, so that what waits here is
/// bounded. Beyond `HubLimits`, the connection ends.
package struct HubMachine: Sendable {
  /// The hub's user, radio and limits.
  package struct Configuration: Sendable {
    /// The user of the hub. This user and root may use it, unless a rule denies it.
    package var userID: UInt32
    /// Whether the hub's radio is simulated.
    package var isSimulated: Bool
    /// Whether the time of its radio is virtual, and waits for programs.
    package var hasVirtualTime: Bool
    /// The limits.
    package var limits: HubLimits
    /// Which other programs may use it, and how much each of them may take.
    package var rules: HubRules

    package init(
      userID: UInt32, isSimulated: Bool, hasVirtualTime: Bool = false,
      limits: HubLimits = HubLimits(), rules: HubRules = HubRules()
    ) {
      self.userID = userID
      self.isSimulated = isSimulated
      self.hasVirtualTime = hasVirtualTime
      self.limits = limits
      self.rules = rules
    }
  }

  let configuration: Configuration
  var limits: HubLimits { configuration.limits }
  var connections: [HubConnectionID: ConnectionState] = [:]
  /// What connections of a user take, all together.
  var users: [UInt32: UserLoad] = [:]
  var processes: [Int32: Int] = [:]
  /// Connections without a greeting, and until when they may be.
  var greetings = GreetingQueue()
  /// The first one of the open sessions of each identity.
  var holders: [SessionIdentity: HubSessionKey] = [:]
  /// Sessions whose programs have ended.
  var keptSessions: [SessionIdentity: KeptSession] = [:]
  /// Their identities, by the host's sessions.
  var keptIdentities: [HubSessionKey: SessionIdentity] = [:]
  /// The sessions that were kept and are open again, by the host's sessions.
  var movedSessions: [HubSessionKey: HubSessionKey] = [:]
  /// When the first of the kept sessions ends.
  var nextKeptEnd: Instant?
  /// Connections with something to write.
  var unwritten: Set<HubConnectionID> = []
  /// Connections with a question for the state of the hub, in the order of the questions.
  var statusAskers: [HubConnectionID] = []
  /// The user of the program that got the last answer.
  var lastStatusUser: UInt32?
  var isEnding = false
  var openings = OpeningReports()
  /// What was done so far.
  var totals = HubTotals()
  var forgetting = ForgettingBudget()
  /// The virtual time, as far as it is known.
  var virtualNow: Instant?
  /// The programs that virtual time waits for, in the order in which it began to.
  var settlings: [Settling] = []
  private var lastRefusalReport: Instant?
  private var unreportedCount = 0
  /// How many connections were refused, or ended for a reason of the hub.
  package private(set) var refusedCount = 0
  /// How many of the hub's own completions were errors for requests beyond a limit.
  package internal(set) var limitedRequestCount = 0

  package init(_ configuration: Configuration) { self.configuration = configuration }

  /// When to report `wake`; nil while nothing is waited for.
  package var nextWake: Instant? {
    [
      greetings.next, openings.nextWake(limits), nextKeptEnd, forgetting.nextWake(limits),
      settlings.first?.deadline,
    ]
    .compactMap { $0 }.min()
  }

  /// Handles an event. Once the hub is ending, nothing but the end of connections follows.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch event {
    case .connected(let id, let peer): connected(id, peer, now: now, into: &actions)
    case .received(let id, let bytes): received(id, bytes, now: now, into: &actions)
    case .disconnected(let id): remove(id, because: nil, now: now, into: &actions)
    case .delivered(let key, let events): delivered(key, events, now: now, into: &actions)
    case .written(let id, let count): written(id, count, now: now, into: &actions)
    case .statusRead(let host): statusRead(host, now: now, into: &actions)
    case .turnEnded: turnEnded(into: &actions)
    case .wake: wake(now: now, into: &actions)
    case .keepingEnded(let key): endKeeping(key, into: &actions)
    case .requested(let key, let request): self.request(request, of: key, into: &actions)
    case .time(let time): virtualNow = time
    case .settle(let key, let number): settle(key, number, now: now, into: &actions)
    case .ending: end(now: now, into: &actions)
    }
    assert(violations(perTable: 8).isEmpty, "\(violations(perTable: 8)) after \(event)")
  }

  // MARK: Connections

  private mutating func connected(
    _ id: HubConnectionID, _ peer: HubPeer, now: Instant, into actions: inout [Action]
  ) {
    precondition(connections[id] == nil, "a connection has the identifier of another one")
    let verdict = configuration.rules.verdict(on: peer, hubUserID: configuration.userID)
    let limits = verdict.quotas.limits(limits)
    if let refusal = refusal(of: peer, verdict, limits) {
      var writer = HubFrameWriter(capacity: 0)
      // It always fits.
      try? writer.append(HubMessage.refusal(refusal))
      actions.append(.write(id, writer.takeBytes()))
      actions.append(.close(id))
      return refused(peer, refusal, now: now, into: &actions)
    }
    let deadline = now + limits.greetingTime
    connections[id] = ConnectionState(peer, limits, deadline: deadline)
    greetings[id] = deadline
    processes[peer.processID, default: 0] += 1
    count(id)
  }

  /// The reason not to serve a program, before its greeting; nil if there is no such reason.
  private func refusal(
    of peer: HubPeer, _ verdict: HubRules.Verdict, _ limits: HubLimits
  ) -> HubRefusal? {
    if isEnding { return HubRefusal(.ending, "The hub ends.") }
    if case .denied(let reason) = verdict { return HubRefusal(.denied, reason) }
    // Processes in other PID namespaces have the number 0 here, all of them: only their user is bounded.
    if peer.processID != 0,
      processes[peer.processID, default: 0] >= limits.connectionCountPerProcessMax
    {
      return HubRefusal(
        .limitReached,
        "The program has \(limits.connectionCountPerProcessMax) connections with the hub already.")
    }
    let userCount = users[peer.userID]?.connectionCount ?? 0
    if userCount >= limits.connectionCountPerUserMax
      || connections.count >= limits.connectionCountMax
    {
      return HubRefusal(.limitReached, "The hub serves as many programs as it can.")
    }
    return nil
  }

  mutating func refused(
    _ peer: HubPeer, _ refusal: HubRefusal, now: Instant, into actions: inout [Action]
  ) {
    refusedCount += 1
    totals.refused(refusal.reason)
    if let last = lastRefusalReport, now < last + limits.reportSpacing {
      unreportedCount += 1
      return
    }
    lastRefusalReport = now
    actions.append(.report(.refused(peer, refusal, unreportedCount: unreportedCount)))
    unreportedCount = 0
  }

  /// Tells a program why its connection ends, and ends it.
  mutating func refuse(
    _ id: HubConnectionID, _ refusal: HubRefusal, now: Instant, into actions: inout [Action]
  ) {
    guard connections[id] != nil else { return }
    connections[id]?.send(.refusal(refusal))
    write(id, into: &actions)
    actions.append(.close(id))
    remove(id, because: refusal, now: now, into: &actions)
  }

  /// Forgets a connection, and ends its sessions.
  private mutating func remove(
    _ id: HubConnectionID, because refusal: HubRefusal?, now: Instant,
    into actions: inout [Action]
  ) {
    guard let connection = connections.removeValue(forKey: id) else { return }
    greetings[id] = nil
    unwritten.remove(id)
    endSettling(of: id, into: &actions)
    let peer = connection.peer
    var load = users[peer.userID] ?? UserLoad()
    load = load - connection.counted
    users[peer.userID] = load == UserLoad() ? nil : load
    let processCount = processes[peer.processID, default: 1] - 1
    processes[peer.processID] = processCount > 0 ? processCount : nil
    for (_, state) in connection.sessions.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      release(state, of: connection)
      if refusal == nil {
        keepOrClose(state, of: connection, now: now, into: &actions)
      } else {
        close(state, into: &actions)
      }
    }
    if let app = connection.app {
      if openings.closed(id) {
        if let refusal {
          refusedCount += 1
          totals.refused(refusal.reason)
        }
        actions.append(.report(.closed(id, app: app, refusal)))
      } else if let refusal {
        refused(peer, refusal, now: now, into: &actions)
      }
    } else if let refusal {
      refused(peer, refusal, now: now, into: &actions)
    }
  }

  private mutating func wake(now: Instant, into actions: inout [Action]) {
    endKept(at: now, into: &actions)
    endSettlings(at: now, into: &actions)
    let span = limits.greetingTime.seconds
    for id in greetings.due(at: now) {
      let refusal = HubRefusal(.invalidMessage, "No greeting arrived within \(span) s.")
      refuse(id, refusal, now: now, into: &actions)
    }
    let (opened, unreportedCount) = openings.due(at: now, limits)
    if unreportedCount > 0 {
      actions.append(.report(.unreported(programCount: unreportedCount)))
    }
    for id in opened { reportOpening(of: id, into: &actions) }
    reportForgotten(now: now, into: &actions)
  }

  /// Reports that a program is served.
  func reportOpening(of id: HubConnectionID, into actions: inout [Action]) {
    guard let connection = connections[id], let app = connection.app else {
      preconditionFailure("a program is reported that is not served")
    }
    actions.append(.report(.opened(id, app: app, connection.peer)))
  }

  private mutating func end(now: Instant, into actions: inout [Action]) {
    isEnding = true
    closeKept(into: &actions) { _, _ in true }
    for id in connections.keys.sorted() {
      refuse(id, HubRefusal(.ending, "The hub ends."), now: now, into: &actions)
    }
  }

  // MARK: Writing

  private mutating func delivered(
    _ key: HubSessionKey, _ events: [HostEvent], now: Instant, into actions: inout [Action]
  ) {
    // Mostly both are empty, and each batch of events comes here.
    if !keptIdentities.isEmpty, let identity = keptIdentities[key] {
      return keep(events, of: identity, into: &actions)
    }
    totals.passed(events)
    guard !movedSessions.isEmpty, let current = movedSessions[key] else {
      sendTime(to: key.connection)
      connections[key.connection]?.send(events, of: key.session)
      withdrawIfReset(events, at: key, into: &actions)
      return changed(key.connection, now: now, into: &actions)
    }
    var events = events
    let count = events.count
    for request in connections[current.connection]?.removeEarlier(&events, of: current.session)
      ?? []
    {
      actions.append(.send(key, request))
    }
    if events.count < count { actions.append(.acknowledge(key, count: count - events.count)) }
    sendTime(to: current.connection)
    connections[current.connection]?.send(events, of: current.session)
    withdrawIfReset(events, at: key, into: &actions)
    changed(current.connection, now: now, into: &actions)
  }

  /// Something may have been appended for a connection: bounds it, and writes it with the turn's end.
  mutating func changed(_ id: HubConnectionID, now: Instant, into actions: inout [Action]) {
    guard let change = connections[id]?.takeChange() else { return }
    if change.hasMessages { unwritten.insert(id) }
    record(change, of: id, into: &actions)
    guard boundWaiting(change, of: id, now: now, into: &actions) else { return }
    boundUser(change.userID, now: now, into: &actions)
  }

  /// Has the system take bytes now where more than the limit wait, or ends the connection where the system has not
  /// taken them: a program that reads doesn't end because of the messages of one turn. Returns whether it is
  /// served.
  mutating func boundWaiting(
    _ change: ConnectionState.Change, of id: HubConnectionID, now: Instant,
    into actions: inout [Action]
  ) -> Bool {
    guard change.isBeyondLimit else { return true }
    guard change.isUntakenBeyondLimit else {
      write(id, into: &actions)
      return true
    }
    let refusal = HubRefusal(
      .limitReached, "The program didn't read \(change.waitingByteCount) bytes.")
    refuse(id, refusal, now: now, into: &actions)
    return false
  }

  /// Ends the connections with the most, while a user's programs take too much.
  private mutating func boundUser(
    _ userID: UInt32, now: Instant, into actions: inout [Action]
  ) {
    while let load = users[userID], load.waitingByteCount > limits.waitingByteCountPerUserMax {
      refuseLargest(of: userID, "read too many bytes", \.waitingByteCount, now: now, into: &actions)
    }
    while let load = users[userID],
      load.incompleteByteCount > limits.incompleteByteCountPerUserMax
    {
      refuseLargest(
        of: userID, "complete too many bytes", \.incompleteByteCount, now: now, into: &actions)
    }
    while let load = users[userID],
      load.ownCompletionCount > limits.ownCompletionCountPerUserMax
    {
      refuseLargest(
        of: userID, "handle too many answers", \.ownCompletionCount, now: now, into: &actions)
    }
  }

  private mutating func refuseLargest(
    of userID: UInt32, _ deed: String, _ size: KeyPath<UserLoad, Int>, now: Instant,
    into actions: inout [Action]
  ) {
    let own = connections.filter { $0.value.peer.userID == userID }
    let largest = own.max { a, b in
      let (sizeA, sizeB) = (a.value.counted[keyPath: size], b.value.counted[keyPath: size])
      return sizeA == sizeB ? a.key < b.key : sizeA < sizeB
    }
    guard let largest else { preconditionFailure("user \(userID) has no connection with bytes") }
    let text = "Programs of the user didn't \(deed), and this one the most."
    refuse(largest.key, HubRefusal(.limitReached, text), now: now, into: &actions)
  }

  private mutating func turnEnded(into actions: inout [Action]) {
    guard !unwritten.isEmpty else { return }
    for id in unwritten.sorted() { write(id, into: &actions) }
    unwritten.removeAll(keepingCapacity: true)
  }

  private mutating func write(_ id: HubConnectionID, into actions: inout [Action]) {
    guard let bytes = connections[id]?.writer.takeBytes(), !bytes.isEmpty else { return }
    // Until the system has taken them.
    connections[id]?.offeredByteCount += bytes.count
    actions.append(.write(id, bytes))
  }

  private mutating func written(
    _ id: HubConnectionID, _ byteCount: Int, now: Instant, into actions: inout [Action]
  ) {
    guard let change = connections[id]?.written(untaken: byteCount) else { return }
    record(change, of: id, into: &actions)
    guard boundWaiting(change, of: id, now: now, into: &actions), change.waitingByteCount == 0
    else { return }
    acknowledgeTaken(id, into: &actions)
  }

  /// Acknowledges the events of sessions that don't do it, since the system has taken all of them.
  private mutating func acknowledgeTaken(_ id: HubConnectionID, into actions: inout [Action]) {
    guard let open = connections[id]?.sessions.filter({ !$0.value.acknowledgesEvents }).keys,
      !open.isEmpty
    else { return }
    for session in open.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let count = connections[id]?.handledAll(of: session), count > 0 else { continue }
      acknowledge(HubSessionKey(id, session), count, into: &actions)
    }
  }

  /// Counts what a connection takes for its user.
  mutating func count(_ id: HubConnectionID) {
    guard let (userID, added) = connections[id]?.takeLoad() else { return }
    users[userID, default: UserLoad()] += added
  }

  /// Counts what a connection takes, and reads its program's messages or doesn't.
  private mutating func record(
    _ change: ConnectionState.Change, of id: HubConnectionID, into actions: inout [Action]
  ) {
    if let added = change.addedLoad { users[change.userID, default: UserLoad()] += added }
    if let isReading = change.isReading { actions.append(.setReading(id, isReading)) }
  }
}
