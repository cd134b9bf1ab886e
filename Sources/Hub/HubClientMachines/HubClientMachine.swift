package import BluetoothInterface
package import Essentials
package import HubWire

/// An app's side of the connection with the hub, and its sessions over it, as one state machine.
///
/// It connects while there are sessions, greets the hub and checks its answer, pings it when it is silent, leaves
/// one that doesn't answer or that sends what no hub sends, and connects again. To the clients of its sessions a
/// hub that is gone is a radio that is gone: links and requests end, the state becomes `poweredOff`; what they
/// want of the radio is kept, and asked for again when a hub is back.
package struct HubClientMachine: Sendable {
  /// What happens to the machine.
  package enum Input: Sendable {
    /// A client opens a session. Its identifier is higher than those before. The name is empty for one that
    /// ends with the app. A session with a name may request that the hub keeps it for a time when this process
    /// has ended.
    case sessionOpened(
      HubSessionID, name: String = "", acknowledgesEvents: Bool, keptFor: TimeSpan = .zero)
    /// A client's request. Ignored if the session is closed.
    case request(HubSessionID, HostRequest)
    /// A client that acknowledges events has handled this number of additional events.
    case eventsHandled(HubSessionID, count: Int)
    /// A client closes its session, and gets no more events.
    case sessionClosed(HubSessionID)
    /// The app wants to know what kind of radio the hub has, without a session.
    case wanted
    /// The socket that was asked for is connected, and its other end is believed. Bytes that come before report
    /// the same.
    case opened
    /// The socket could not be connected or is not believed, has ended, or its other end doesn't read.
    case closed(HubFailure)
    /// Bytes came from the hub.
    case received([UInt8])
    /// The clients have handled all events before the action `settle` with this number. The machine is given what follows
    /// from them first. The time is that of the first timer.
    case settled(UInt64, wake: Instant?)
    /// A client has work that no event caused.
    case hasWork(HubSessionID)
  }

  /// What the driver does for the machine.
  package enum Action: Equatable, Sendable {
    /// Connect a socket to the hub, then report `opened` or `closed`.
    case open
    /// Close the socket, if there is one, or end the attempt to connect. Nothing is reported.
    case close
    /// Send these bytes.
    case send([UInt8])
    /// Deliver events to a client. For clients that don't acknowledge events, they count as handled when this
    /// has returned: the driver performs the next action only then.
    case deliver(HubSessionID, [HostEvent])
    /// Tell a client the hub's answer to the opening of a session with a name. Events follow.
    case attached(HubSessionID, SessionAttachment)
    /// There is no connection, for this reason. The driver tells people.
    case failed(HubFailure)
    /// The hub has answered the greeting.
    case connected(HubWelcome)
    /// Something that a client wants is beyond what a hub does, or could not be restored after a restart of the
    /// hub; a sentence for people.
    case lost(String)
    /// The time of the hub's radio is virtual, and this.
    case time(Instant)
    /// The virtual time waits until the clients have handled the events before this; then report `settled`.
    case settle(UInt64)
  }

  enum Phase: Sendable {
    /// No session wants a connection.
    case idle
    /// A socket is being connected.
    case opening(deadline: Instant)
    /// The greeting was sent.
    case greeting(Greeting)
    /// The hub has answered.
    case connected(Connection)
    /// The hub was left or not reached, and is tried again then.
    case pausing(until: Instant, HubFailure)
    /// No hub can be used.
    case unusable(HubFailure)
  }

  struct Greeting: Sendable {
    var deadline: Instant
    /// The sessions that the greeting opens.
    var openings: [HubSessionID]
    var reader = HubFrameReader(byteCountMax: HubProtocol.greetingByteCountMax)
    /// Whether the deadline has passed and the arrived bytes are being read.
    var isLastLook = false
  }

  struct Connection: Sendable {
    var reader: HubFrameReader
    var abilities: HubAbilities
    var beganAt: Instant
    /// When the hub's last message arrived, or a part of one. Messages that are skipped don't count: the hub that
    /// sends them may understand nothing.
    var lastReceived: Instant
    /// Since when the hub has not shown that it answers what it is sent; nil if nothing was sent since it has.
    var owedSince: Instant?
    var ping: Ping?
  }

  struct Ping: Sendable {
    var number: UInt64
    var sentAt: Instant
    var deadline: Instant
    /// Whether the deadline has passed and the arrived bytes are being read.
    var isLastLook = false
    /// Whether this process was stopped while it waited, and has given the hub more time.
    var isExtended = false
  }

  /// The name of the app, which the hub knows it by.
  let app: String
  /// The silence after which a hub is pinged of which nothing is wanted.
  let idleSilence: TimeSpan
  var phase: Phase
  var sessions: [HubSessionID: ClientSession] = [:]
  var epoch = HubEpoch()
  /// The highest identifier of a session.
  var lastSession: UInt64 = 0
  /// The highest identifier of a session that this connection opened.
  var lastOpened: UInt64 = 0
  var lastPing: UInt64 = 0
  var pause = HubClientLimits.pauseMin
  /// How long a hub that was there may be gone before the radio's state is another one.
  let outage: TimeSpan
  /// Until when that holds now.
  var outageEnd: Instant?
  /// Whether a connection is wanted without sessions, for a moment.
  var isWanted = false
  /// When sessions request again what the hub has refused.
  var retries: [HubSessionID: Instant] = [:]
  /// Pauses before that which begin now.
  var retryPauses: [HubSessionID: TimeSpan] = [:]
  var writer = HubFrameWriter()
  /// Consecutive events of one session, until they are delivered.
  var batch: (session: HubSessionID, events: [HostEvent])?

  /// Creates a machine without a connection.
  ///
  /// - Parameters:
  ///   - app: The name of the app.
  ///   - problem: The reason why no hub can be used, such as an invalid setting. Then none is tried.
  ///   - idleSilence: The silence after which a hub is pinged of which nothing is wanted.
  ///   - outage: How long a hub that was there may be gone before sessions hear of another state of the radio. They hear
  ///     of ended links and failed requests at once.
  package init(
    app: String, problem: HostError? = nil, idleSilence: TimeSpan = HubClientLimits.idleSilence,
    outage: TimeSpan = .zero
  ) {
    self.app = app
    self.idleSilence = idleSilence
    self.outage = outage
    phase = problem.map { .unusable(.unusable($0)) } ?? .idle
    if app.utf8.count > HubProtocol.textByteCountMax {
      phase = .unusable(.unusable(.unsupported("The name of the app is too long for the hub.")))
    }
  }

  /// Handles an input and appends the actions for it.
  package mutating func handle(_ input: Input, now: Instant, into actions: inout [Action]) {
    handle([input], now: now, into: &actions)
  }

  /// Handles inputs that came together: what they have the machine send is sent in one piece.
  package mutating func handle(_ inputs: [Input], now: Instant, into actions: inout [Action]) {
    for input in inputs { take(input, now: now, into: &actions) }
    flush(now: now, into: &actions)
    assert(violations().isEmpty, violations().joined(separator: "; "))
  }

  private mutating func take(_ input: Input, now: Instant, into actions: inout [Action]) {
    switch input {
    case .sessionOpened(let id, let name, let acknowledgesEvents, let keptFor):
      var outputs = SessionOutputs()
      let session = ClientSession(
        id: id, name: bounded(name, into: &outputs), acknowledgesEvents: acknowledgesEvents,
        keptFor: keptFor, epoch: epoch)
      open(session, outputs, now: now, into: &actions)
    case .request(let id, let request): take(request, of: id, into: &actions)
    case .eventsHandled(let id, let count):
      guard let owed = sessions[id]?.ledger.handled(count) else { break }
      acknowledge(owed, of: id)
    case .sessionClosed(let id): close(id)
    case .wanted:
      isWanted = true
      connectIfIdle(now: now, into: &actions)
    case .opened: opened(now: now, into: &actions)
    case .closed(let failure):
      if isOpen { fail(failure, mustClose: false, now: now, into: &actions) }
    case .received(let bytes): receive(bytes, now: now, into: &actions)
    case .settled(let number, let wake):
      if hasVirtualTime { write(.settled(number, wake: wake)) }
    case .hasWork(let id):
      // A session that is being opened is settled anyway.
      if hasVirtualTime, sessions[id] != nil, id.rawValue <= lastOpened { write(.hasWork(id)) }
    }
  }

  /// Sends the written messages.
  mutating func flush(now: Instant, into actions: inout [Action]) {
    flushEvents(into: &actions)
    beginRetryPauses(now: now)
    guard writer.byteCount > 0 else { return }
    if case .connected(var connection) = phase, connection.owedSince == nil {
      phase = .idle  // the reader's bytes are not copied
      connection.owedSince = now
      phase = .connected(connection)
    }
    actions.append(.send(writer.takeBytes()))
  }

  private mutating func beginRetryPauses(now: Instant) {
    for (id, pause) in retryPauses where sessions[id] != nil {
      retries[id] = max(retries[id] ?? now, now + pause)
    }
    retryPauses = [:]
  }

  mutating func flushEvents(into actions: inout [Action]) {
    guard let batch else { return }
    self.batch = nil
    actions.append(.deliver(batch.session, batch.events))
  }

  /// Whether there is a socket, or an attempt to connect one.
  var isOpen: Bool {
    switch phase {
    case .opening, .greeting, .connected: true
    case .idle, .pausing, .unusable: false
    }
  }

  /// Whether the hub waits for this app before its time advances.
  var hasVirtualTime: Bool {
    if case .connected(let connection) = phase {
      connection.abilities.contains(.virtualTime)
    } else {
      false
    }
  }

  var isConnected: Bool { if case .connected = phase { true } else { false } }

  // MARK: Sessions

  private mutating func open(
    _ session: ClientSession, _ outputs: SessionOutputs, now: Instant, into actions: inout [Action]
  ) {
    let id = session.id
    guard id.rawValue > lastSession else { return }
    lastSession = id.rawValue
    var (session, outputs) = (session, outputs)
    switch phase {
    case .connected(let connection):
      openAtHub(session)
      session.opened(by: connection.abilities, into: &outputs)
    case .idle, .opening, .greeting: session.setState(.unknown, into: &outputs)
    case .pausing(_, let failure), .unusable(let failure):
      session.setState(failure.radioState, into: &outputs)
    }
    sessions[id] = session
    take(outputs, of: id, into: &actions)
    connectIfIdle(now: now, into: &actions)
  }

  private mutating func take(
    _ request: HostRequest, of id: HubSessionID, into actions: inout [Action]
  ) {
    var outputs = SessionOutputs()
    let request = sessions[id]?.bounded(request, into: &outputs) ?? request
    switch phase {
    case .connected where sessions[id]?.awaitsAttachment == true:
      sessions[id]?.answer(request, mayWait: true, .radioNotReady, into: &outputs)
    case .connected: sessions[id]?.forward(request, into: &outputs)
    case .idle, .opening, .greeting:
      sessions[id]?.answer(request, mayWait: true, .radioNotReady, into: &outputs)
    case .pausing(_, let failure), .unusable(let failure):
      sessions[id]?.answer(request, mayWait: false, failure.hostError, into: &outputs)
    }
    take(outputs, of: id, into: &actions)
  }

  private mutating func close(_ id: HubSessionID) {
    guard sessions.removeValue(forKey: id) != nil else { return }
    retries[id] = nil
    if isConnected { write(.closeSession(id)) }
  }

  /// A name without what no message has room for.
  private func bounded(_ name: String, into outputs: inout SessionOutputs) -> String {
    let limit = HubProtocol.textByteCountMax
    guard name.utf8.count > limit else { return name }
    outputs.losses.append(
      "The hub doesn't know a manager by its restore identifier, which has more than \(limit) bytes."
    )
    return ""
  }

  /// Opens a session with the hub.
  mutating func openAtHub(_ session: ClientSession) {
    write(.openSession(session.opening))
    lastOpened = max(lastOpened, session.id.rawValue)
  }

  /// Performs what a session has the machine do.
  mutating func take(
    _ outputs: SessionOutputs, of id: HubSessionID, into actions: inout [Action]
  ) {
    for loss in outputs.losses { actions.append(.lost(loss)) }
    if let pause = outputs.retryPause { retryPauses[id] = max(retryPauses[id] ?? pause, pause) }
    if let attachment = outputs.attachment {
      flushEvents(into: &actions)
      actions.append(.attached(id, attachment))
    }
    deliver(outputs.events, to: id, into: &actions)
    for request in outputs.requests { send(request, of: id, into: &actions) }
    guard let session = sessions[id], !session.acknowledgesEvents else { return }
    // Sent behind the events' delivery.
    acknowledge(sessions[id]?.ledger.handledAll() ?? 0, of: id)
  }

  private mutating func deliver(
    _ events: [HostEvent], to id: HubSessionID, into actions: inout [Action]
  ) {
    guard !events.isEmpty else { return }
    if batch?.session == id {
      batch?.events += events
    } else {
      flushEvents(into: &actions)
      batch = (id, events)
    }
  }

  /// Sends a request, or completes it if it fits in no message.
  private mutating func send(
    _ request: HostRequest, of id: HubSessionID, into actions: inout [Action]
  ) {
    do throws(HubWireError) {
      try writer.append(AppMessage.request(id, .known(request)))
    } catch {
      var outputs = SessionOutputs()
      let failure = HostError.invalidArgument("The request can't be sent to the hub: \(error).")
      sessions[id]?.requestFailed(request, failure, into: &outputs)
      take(outputs, of: id, into: &actions)
    }
  }

  private mutating func acknowledge(_ count: Int, of id: HubSessionID) {
    if count > 0, isConnected { write(.eventsHandled(id, count: count)) }
  }

  /// Writes a message that fits in any case.
  mutating func write(_ message: AppMessage) {
    do throws(HubWireError) { try writer.append(message) } catch {
      preconditionFailure("\(message) has no message: \(error)")
    }
  }
}
