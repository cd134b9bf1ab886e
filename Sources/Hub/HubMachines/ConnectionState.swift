import BluetoothInterface
import Essentials
import HubWire

/// The hub's side of one connection.
struct ConnectionState: Sendable {
  /// How far a connection is.
  enum Phase: Sendable {
    /// The greeting has to arrive by a time.
    case greeting(deadline: Instant)
    /// The program with this name is served.
    case served(app: String)
  }

  /// Counts the answers of a program to questions of virtual time.
  struct SettlingCount: Sendable {
    /// The number of answers at a time.
    var answers = 0
    var answersAt: Instant?
    /// The number of timers, since a time, that wait for a time that has passed.
    var pastWakes = 0
    var pastWakesSince: Instant?
  }

  let peer: HubPeer
  /// The hub's limits, with the quotas of the program in their place.
  let limits: HubLimits
  var phase: Phase
  /// The abilities of the program's library, once it is served.
  var abilities: HubAbilities = []
  private(set) var sessions: [HubSessionID: SessionState] = [:]
  /// The load of all sessions.
  private(set) var sessionLoad = SessionState.Load()
  /// The number of completions by the hub itself that the program has not handled.
  private(set) var ownCompletionCount = 0
  var reader = HubFrameReader(byteCountMax: HubProtocol.greetingByteCountMax)
  /// Messages that are written at the end of the turn.
  var writer = HubFrameWriter(capacity: 0)
  /// The number of bytes that the system has not taken when it was last asked.
  private(set) var untakenByteCount = 0
  /// The number of bytes that were written since.
  var offeredByteCount = 0
  /// Whether the program's messages are not read for now.
  var isPaused = false
  /// When the greeting was accepted.
  var servedSince: Instant?
  /// Why and when the program last made the radio work.
  var lastUse: (reason: RadioUse.Reason, time: Instant)?
  /// The number of a question for the state of the hub that is not answered.
  var statusQuestion: UInt64?
  /// The virtual time that the program was last told.
  var toldTime: Instant?
  var settlingCount = SettlingCount()
  /// Whether it was reported that a scan is beyond the program's quota.
  var hasReportedScan = false
  /// What the limits of the user have counted so far.
  var counted = UserLoad()

  init(_ peer: HubPeer, _ limits: HubLimits, deadline: Instant) {
    self.peer = peer
    self.limits = limits
    phase = .greeting(deadline: deadline)
  }

  /// The name of the program, once it is served.
  var app: String? {
    if case .served(let app) = phase { app } else { nil }
  }

  /// The number of bytes that wait for the program.
  var waitingByteCount: Int { untakenByteCount + offeredByteCount + writer.byteCount }

  /// What this connection adds to the load of its user.
  var load: UserLoad {
    UserLoad(
      connectionCount: 1, sessionCount: sessions.count, waitingByteCount: waitingByteCount,
      incompleteByteCount: reader.byteCount, ownCompletionCount: ownCompletionCount,
      sessions: sessionLoad)
  }

  // MARK: Changes

  /// What changes of a connection mean to the hub.
  struct Change {
    var userID: UInt32
    var waitingByteCount: Int
    /// Whether messages are to be written at the end of the turn.
    var hasMessages: Bool
    /// Whether more bytes wait than may.
    var isBeyondLimit: Bool
    /// Whether they do without those that the system may take at once.
    var isUntakenBeyondLimit: Bool
    /// What the limits of the user have not counted yet.
    var addedLoad: UserLoad?
    /// Whether the program's messages are read from now on; nil if that hasn't changed.
    var isReading: Bool?
  }

  // The state is changed where it is, and what follows is returned: a copy of it for each message costs more than
  // the message.

  /// The changes since this was last called.
  mutating func takeChange() -> Change {
    let waitingByteCount = waitingByteCount
    var change = Change(
      userID: peer.userID, waitingByteCount: waitingByteCount, hasMessages: writer.byteCount > 0,
      isBeyondLimit: waitingByteCount > limits.waitingByteCountMax,
      isUntakenBeyondLimit: untakenByteCount > limits.waitingByteCountMax,
      addedLoad: takeLoad()?.added)
    let mayWait = isPaused ? limits.waitingByteCountLow : limits.waitingByteCountHigh
    if isPaused != (waitingByteCount > mayWait) {
      isPaused.toggle()
      change.isReading = !isPaused
    }
    return change
  }

  /// The system was asked to take all bytes that were written, and has not taken this number of them.
  mutating func written(untaken byteCount: Int) -> Change {
    untakenByteCount = byteCount
    offeredByteCount = 0
    return takeChange()
  }

  /// What the limits of the user have not counted yet, and from now on have; nil for nothing.
  mutating func takeLoad() -> (userID: UInt32, added: UserLoad)? {
    let load = load
    guard load != counted else { return nil }
    defer { counted = load }
    return (peer.userID, load - counted)
  }

  // MARK: Sessions

  /// Adds a session.
  mutating func open(_ session: SessionState, _ id: HubSessionID) {
    sessions[id] = session
    sessionLoad += session.load
  }

  /// Removes a session; nil for an unknown one.
  mutating func close(_ session: HubSessionID) -> SessionState? {
    guard let closed = sessions.removeValue(forKey: session) else { return nil }
    sessionLoad = sessionLoad - closed.load
    ownCompletionCount -= closed.ledger.ownCount
    return closed
  }

  // The state of a session is changed where it is, never copied, as its tables may be long.

  /// A request of a session is sent to the host.
  mutating func sent(_ request: HostRequest, byteCount: Int, of session: HubSessionID) {
    let before = sessions[session]?.load
    sessions[session]?.sent(request, byteCount: byteCount)
    countChange(of: session, since: before)
  }

  /// The program has handled events of a session that acknowledges them; returns how many of them are the host's.
  mutating func handled(_ count: Int, of session: HubSessionID) -> Int {
    guard sessions[session]?.acknowledgesEvents == true else { return 0 }
    return changeLedger(of: session) { $0.handled(count) }
  }

  /// All events of a session are handled; returns how many of them are the host's.
  mutating func handledAll(of session: HubSessionID) -> Int {
    changeLedger(of: session) { $0.handledAll() }
  }

  private mutating func changeLedger(
    of session: HubSessionID, _ change: (inout EventLedger) -> Int
  ) -> Int {
    guard let before = sessions[session]?.ledger.ownCount else { return 0 }
    let hostCount = change(&sessions[existing: session].ledger)
    ownCompletionCount += sessions[existing: session].ledger.ownCount - before
    return hostCount
  }

  private mutating func countChange(
    of session: HubSessionID, since before: SessionState.Load?
  ) {
    guard let before, let after = sessions[session]?.load, after != before else { return }
    sessionLoad += after - before
  }

  // MARK: Sending

  /// Appends a message of the hub, which always fits.
  mutating func send(_ message: HubMessage) {
    do throws(HubWireError) { try writer.append(message) } catch {
      preconditionFailure("the hub's own message can't be sent: \(error)")
    }
  }

  /// Appends an event that the hub makes.
  mutating func sendOwn(_ event: HostEvent, of session: HubSessionID) {
    send(.events(session, HubEvents([event])))
    guard sessions[session] != nil else { return }
    sessions[existing: session].ledger.deliveredOwn()
    ownCompletionCount += 1
  }

  /// Appends events of the host. Replies that are longer than a message become errors.
  mutating func send(_ events: [HostEvent], of session: HubSessionID) {
    guard let before = sessions[session]?.load else { return }
    let events = reduced(events)
    sessions[session]?.received(events)
    countChange(of: session, since: before)
    guard events.contains(where: \.mayBeTooLong) else { return append(events[...], of: session) }
    var start = 0
    for index in events.indices where events[index].mayBeTooLong {
      append(events[start..<index], of: session)
      appendLong(events[index], of: session)
      start = index + 1
    }
    append(events[start...], of: session)
  }

  /// The events without the parameters of links that no session of the program has requested.
  private func reduced(_ events: [HostEvent]) -> [HostEvent] {
    guard events.contains(where: \.hasLinkInfo) else { return events }
    return events.map { event in
      event.reduced { peer in sessions.values.contains { $0.wants(peer) } }
    }
  }

  /// Appends events that the host has delivered before, and the hub has acknowledged.
  mutating func sendKept(_ events: [HostEvent], of session: HubSessionID) {
    guard sessions[session] != nil else { return }
    append(reduced(events)[...], of: session)
    for event in events where event.isAcknowledged {
      sessions[existing: session].ledger.deliveredOwn()
      ownCompletionCount += 1
    }
  }

  /// Removes the events that complete requests of an ended process of the program. Returns the requests that take
  /// back what these have changed, since the new process wasn't told of it.
  mutating func removeEarlier(
    _ events: inout [HostEvent], of session: HubSessionID
  ) -> [HostRequest] {
    guard let count = sessions[session]?.earlierRequestCount, count > 0 else { return [] }
    let before = sessions[session]?.load
    var requests: [HostRequest] = []
    events.removeAll { event in
      guard sessions[existing: session].isOfEarlierProcess(event) else { return false }
      if let request = sessions[existing: session].receivedUntold(event) {
        sessions[existing: session].takenBack(request)
        requests.append(request)
      } else if case .completed(_, .success(.channel(let info))) = event {
        requests.append(.closeChannel(info.id))
      }
      return true
    }
    countChange(of: session, since: before)
    return requests
  }

  private mutating func append(_ events: ArraySlice<HostEvent>, of session: HubSessionID) {
    guard !events.isEmpty else { return }
    do throws(HubWireError) { try writer.append(Array(events), of: session) } catch {
      preconditionFailure("an event of the host doesn't fit in a message: \(error)")
    }
  }

  private mutating func appendLong(_ event: HostEvent, of session: HubSessionID) {
    do throws(HubWireError) { try writer.append([event], of: session) } catch {
      guard case .completed(let token, _) = event else {
        preconditionFailure("only a reply can be longer than a message")
      }
      let error = HostError.limitReached("a reply that is longer than a message")
      append([.completed(token, .failure(error))], of: session)
    }
  }
}

/// What connections of a user take.
struct UserLoad: Hashable, Sendable {
  var connectionCount = 0
  var sessionCount = 0
  var waitingByteCount = 0
  var incompleteByteCount = 0
  var ownCompletionCount = 0
  var sessions = SessionState.Load()

  static func += (a: inout UserLoad, b: UserLoad) {
    a.connectionCount += b.connectionCount
    a.sessionCount += b.sessionCount
    a.waitingByteCount += b.waitingByteCount
    a.incompleteByteCount += b.incompleteByteCount
    a.ownCompletionCount += b.ownCompletionCount
    a.sessions += b.sessions
  }

  static func - (a: UserLoad, b: UserLoad) -> UserLoad {
    UserLoad(
      connectionCount: a.connectionCount - b.connectionCount,
      sessionCount: a.sessionCount - b.sessionCount,
      waitingByteCount: a.waitingByteCount - b.waitingByteCount,
      incompleteByteCount: a.incompleteByteCount - b.incompleteByteCount,
      ownCompletionCount: a.ownCompletionCount - b.ownCompletionCount,
      sessions: a.sessions - b.sessions)
  }
}

extension HostEvent {
  /// Whether the event has a list that a message may have no room for.
  fileprivate var mayBeTooLong: Bool {
    guard case .completed(_, .success(let reply)) = self else { return false }
    switch reply {
    case .services, .characteristics, .descriptors, .values, .published: return true
    case .done, .value, .rssi, .psm, .channel, .outOfBandData: return false
    }
  }
}
