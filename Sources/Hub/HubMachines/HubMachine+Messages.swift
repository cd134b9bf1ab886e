import BluetoothInterface
import Essentials
import HubWire

extension HubMachine {
  /// Handles all messages that are complete.
  mutating func received(
    _ id: HubConnectionID, _ bytes: [UInt8], now: Instant, into actions: inout [Action]
  ) {
    guard connections[id] != nil else { return }
    connections[id]?.reader.append(bytes)
    do throws(HubWireError) {
      while let (message, byteCount) = try nextMessage(id) {
        handle(message, byteCount, from: id, now: now, into: &actions)
      }
    } catch {
      return refuse(id, HubRefusal(error), now: now, into: &actions)
    }
    changed(id, now: now, into: &actions)
  }

  /// The next message of a connection, with its length; nil if none is complete, or the connection has ended.
  private mutating func nextMessage(
    _ id: HubConnectionID
  ) throws(HubWireError) -> (AppMessage, byteCount: Int)? {
    guard let before = connections[id]?.reader.byteCount else { return nil }
    guard let message = try connections[id]?.reader.next(AppMessage.self) else { return nil }
    return (message, before - (connections[id]?.reader.byteCount ?? 0))
  }

  private mutating func handle(
    _ message: AppMessage, _ byteCount: Int, from id: HubConnectionID, now: Instant,
    into actions: inout [Action]
  ) {
    let isServed = connections[id]?.app != nil
    switch message {
    case .greeting(let greeting) where !isServed:
      greeted(greeting, by: id, now: now, into: &actions)
    case .greeting:
      let text = "A second greeting is not allowed."
      refuse(id, HubRefusal(.invalidMessage, text), now: now, into: &actions)
    case _ where !isServed:
      let text = "The first message must be a greeting."
      refuse(id, HubRefusal(.invalidMessage, text), now: now, into: &actions)
    case .ping(let number): connections[id]?.send(.pong(number))
    case .status(let number): asked(number, by: id, now: now, into: &actions)
    case .forget(let number, let filter):
      forget(filter, number, by: id, now: now, into: &actions)
    case .openSession(let opening): open(opening, of: id, now: now, into: &actions)
    case .request(let session, let request):
      send(request, byteCount, of: HubSessionKey(id, session), now: now, into: &actions)
    case .eventsHandled(let session, let count):
      handled(count, of: HubSessionKey(id, session), into: &actions)
    case .settled(let number, let wake):
      settled(number, wake, by: id, now: now, into: &actions)
    case .hasWork(let session):
      hasWork(HubSessionKey(id, session), now: now, into: &actions)
    case .closeSession(let session):
      guard let closed = connections[id]?.close(session) else { return }
      if let connection = connections[id] { release(closed, of: connection) }
      count(id)
      close(closed, into: &actions)
      askAgain(id, into: &actions)
    }
  }

  // MARK: Greetings and sessions

  private mutating func greeted(
    _ greeting: HubGreeting, by id: HubConnectionID, now: Instant, into actions: inout [Action]
  ) {
    let own = HubProtocol.versions
    let version = min(own.upperBound, greeting.versions.upperBound)
    if let refusal = refusal(of: greeting, version) {
      return refuse(id, refusal, now: now, into: &actions)
    }
    greetings[id] = nil
    totals.programCount += 1
    let app = connections[id]?.peer.app ?? greeting.app
    connections[id]?.phase = .served(app: app)
    connections[id]?.abilities = greeting.abilities
    connections[id]?.servedSince = now
    connections[id]?.reader.byteCountMax = HubProtocol.messageByteCountMax
    let welcome = HubWelcome(
      version: version, abilities: abilities, isSimulated: configuration.isSimulated)
    connections[id]?.send(.welcome(welcome))
    if openings.opened(id, at: now, limits) { reportOpening(of: id, into: &actions) }
    for opening in greeting.openings { open(opening, of: id, now: now, into: &actions) }
  }

  private var abilities: HubAbilities {
    let abilities: HubAbilities = [.bluetooth, .status, .identity, .forgetting]
    return configuration.hasVirtualTime ? abilities.union(.virtualTime) : abilities
  }

  private func refusal(of greeting: HubGreeting, _ version: UInt16) -> HubRefusal? {
    let own = HubProtocol.versions
    guard own.contains(version), greeting.versions.contains(version) else {
      return HubRefusal(
        .otherVersion,
        "The hub speaks versions \(own.lowerBound) to \(own.upperBound), the program "
          + "\(greeting.versions.lowerBound) to \(greeting.versions.upperBound).")
    }
    if greeting.app.isEmpty { return HubRefusal(.invalidMessage, "An app needs a name.") }
    return nil
  }

  private mutating func open(
    _ opening: SessionOpening, of id: HubConnectionID, now: Instant, into actions: inout [Action]
  ) {
    // An earlier opening of the greeting may have ended the connection.
    guard let connection = connections[id] else { return }
    if connection.sessions[opening.id] != nil {
      let text = "Session \(opening.id.rawValue) is open already."
      return refuse(id, HubRefusal(.invalidMessage, text), now: now, into: &actions)
    }
    let isKept = identity(opening.manager, connection).map { keptSessions[$0] != nil } ?? false
    let userCount = (users[connection.peer.userID]?.sessionCount ?? 0) - (isKept ? 1 : 0)
    if connection.sessions.count >= limits.sessionCountMax
      || userCount >= limits.sessionCountPerUserMax
    {
      let text = "The program has opened as many sessions as it may."
      return refuse(id, HubRefusal(.limitReached, text), now: now, into: &actions)
    }
    totals.sessionCount += 1
    if opening.keptFor > connection.limits.keptTimeMax { totals.shortenedKeepingCount += 1 }
    let holdsName = hold(opening, of: id)
    let keptFor = keepingTime(opening, holdsName: holdsName, of: id)
    if !resume(opening, keptFor: keptFor, of: id, into: &actions) {
      let key = HubSessionKey(id, opening.id)
      let session = SessionState(opening, key, holdsName: holdsName, keptFor: keptFor)
      connections[id]?.open(session, opening.id)
      if let answer = attachment(opening, session, of: id) { connections[id]?.send(answer) }
      let identity = SessionIdentity(
        userID: connection.peer.userID, app: connection.app ?? "", manager: opening.manager)
      actions.append(.openSession(key, identity))
    }
    count(id)
  }

  /// Closes a session with the host that has no program any more.
  mutating func close(_ session: SessionState, into actions: inout [Action]) {
    movedSessions[session.hostKey] = nil
    actions.append(.closeSession(session.hostKey))
  }

  /// Acknowledges events of a session to the host.
  mutating func acknowledge(_ key: HubSessionKey, _ count: Int, into actions: inout [Action]) {
    guard let hostKey = connections[key.connection]?.sessions[key.session]?.hostKey else { return }
    actions.append(.acknowledge(hostKey, count: count))
  }

  // MARK: Requests

  private mutating func send(
    _ request: HubRequest, _ byteCount: Int, of key: HubSessionKey, now: Instant,
    into actions: inout [Action]
  ) {
    // A program may have closed the session on another thread.
    guard let hostKey = connections[key.connection]?.sessions[key.session]?.hostKey else { return }
    switch request {
    case .unknown(let unknown):
      // Without a token it is ignored: such a request reports no errors.
      guard let token = unknown.token else { return }
      let text = "this version of the hub doesn't know request \(unknown.number)"
      complete(token, .unsupported(text), of: key, now: now, into: &actions)
    case .known(.attendAllPairings(let token)) where !mayAttendPairings(key.connection):
      let text = "The hub's rules don't let this program answer the pairings of others."
      complete(token, .unauthorized(text), of: key, now: now, into: &actions)
    case .known(let request):
      if let error = error(of: request, byteCount, of: key) {
        return refuse(request, error, of: key, now: now, into: &actions)
      }
      if request.token == nil, byteCount > limits.plainRequestByteCountMax {
        let text = "A request without a token has \(byteCount) bytes."
        return refuse(
          key.connection, HubRefusal(.limitReached, text), now: now, into: &actions)
      }
      if request.hasTooManyServices {
        let text = "A scan looks for more than \(HubProtocol.scanServiceCountMax) services."
        return refuse(
          key.connection, HubRefusal(.limitReached, text), now: now, into: &actions)
      }
      totals.requestCount += 1
      connections[key.connection]?.sent(request, byteCount: byteCount, of: key.session)
      if let use = RadioUse.Reason(request) {
        connections[key.connection]?.lastUse = (use, now)
      }
      actions.append(.send(hostKey, request))
    }
  }

  private func mayAttendPairings(_ id: HubConnectionID) -> Bool {
    guard let peer = connections[id]?.peer else { return false }
    return configuration.rules.mayAttendPairings(peer, hubUserID: configuration.userID)
  }

  private func error(
    of request: HostRequest, _ byteCount: Int, of key: HubSessionKey
  ) -> HostError? {
    let connection = connections[key.connection]
    guard let connection, let state = connection.sessions[key.session] else { return nil }
    if let error = request.listError(limits) { return error }
    if let error = state.error(
      of: request, byteCount: byteCount, connection.sessionLoad, connection.limits)
    {
      return error
    }
    return limits.error(
      of: request, byteCount: byteCount, state.share(of: request),
      takenByUser: sessionLoad(ofUserOf: connection),
      byOthers: users.reduce(into: SessionState.Load()) { sum, user in
        if user.key != connection.peer.userID { sum += user.value.sessions }
      })
  }

  /// What the sessions of a connection's user take now. The connection's own part may not be counted yet.
  private func sessionLoad(ofUserOf connection: ConnectionState) -> SessionState.Load {
    var load = connection.sessionLoad - connection.counted.sessions
    load += users[connection.peer.userID]?.sessions ?? SessionState.Load()
    return load
  }

  /// Ends a request that is beyond a limit.
  private mutating func refuse(
    _ request: HostRequest, _ error: HostError, of key: HubSessionKey, now: Instant,
    into actions: inout [Action]
  ) {
    limitedRequestCount += 1
    if let token = request.token {
      complete(token, error, of: key, now: now, into: &actions)
    } else if case .connect(let address, _) = request {
      connections[key.connection]?.sendOwn(.connectionFailed(address, error), of: key.session)
      boundOwn(key, now: now, into: &actions)
    } else if case .startScan = request {
      reportScan(of: key.connection, into: &actions)
    }
  }

  /// Reports once that a program's scan was not started. The program has no error for it, and finds nothing.
  private mutating func reportScan(of id: HubConnectionID, into actions: inout [Action]) {
    // A program that connects again and again fills no log.
    guard !openings.waiting.contains(id), connections[id]?.hasReportedScan == false,
      let app = connections[id]?.app
    else { return }
    connections[id]?.hasReportedScan = true
    actions.append(.report(.scanRefused(id, app: app)))
  }

  private mutating func complete(
    _ token: RequestToken, _ error: HostError, of key: HubSessionKey, now: Instant,
    into actions: inout [Action]
  ) {
    connections[key.connection]?.sendOwn(.completed(token, .failure(error)), of: key.session)
    boundOwn(key, now: now, into: &actions)
  }

  /// Ends a connection that causes answers of the hub and doesn't handle or read them.
  private mutating func boundOwn(
    _ key: HubSessionKey, now: Instant, into actions: inout [Action]
  ) {
    guard let count = connections[key.connection]?.ownCompletionCount else { return }
    guard count > limits.ownCompletionCountMax else {
      return changed(key.connection, now: now, into: &actions)
    }
    let text = "The program doesn't handle the answers to its requests."
    refuse(key.connection, HubRefusal(.limitReached, text), now: now, into: &actions)
  }

  private mutating func handled(
    _ count: Int, of key: HubSessionKey, into actions: inout [Action]
  ) {
    guard let hostCount = connections[key.connection]?.handled(count, of: key.session),
      hostCount > 0
    else { return }
    acknowledge(key, hostCount, into: &actions)
  }
}
