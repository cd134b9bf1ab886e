#if Messaging
  import Essentials
  import XMPPWire

  /// One room: its join, its occupants, its messages in the order of its archive.
  struct Room: Sendable {
    enum Phase: Hashable, Sendable {
      /// Joined as soon as a place is free.
      case idle
      case joining
      /// The room was created, and waits for its configuration (XEP-0045, §10.1).
      case configuring
      case discovering
      case catchingUp
      case ready
      case leaving
      /// Joined again at a time.
      case waiting(RoomEnd, until: Instant)
      case ended(RoomEnd)

      /// Whether this account is an occupant, as far as is known.
      var isInside: Bool {
        switch self {
        case .configuring, .discovering, .catchingUp, .ready, .leaving: true
        case .idle, .joining, .waiting, .ended: false
        }
      }
    }

    struct Awaited: Sendable {
      enum Purpose: Hashable, Sendable { case join, configuration, features, ping, leave }
      var purpose: Purpose
      var id: String
      var since: Instant
      var deadline: Instant
    }

    /// Another nickname that the app wishes for during a stay (XEP-0045, §7.6).
    struct Renaming: Sendable {
      var nickname: String
      var tickets: [UInt64]
      /// The identifier of the request, and when its answer is overdue; nil until the room is used.
      var request: (id: String, deadline: Instant)?
    }

    var stored: StoredRoom
    var phase: Phase
    /// The nickname of this session, which may differ from the wished one.
    var nickname: String
    var nicknameTries = 0
    /// The app has joined the room again under another nickname.
    var renaming: Renaming?
    var pauseStep = 0
    var awaited: Awaited?
    var joinTickets: [UInt64] = []
    var leaveTickets: [UInt64] = []
    var lastHeard = Instant.zero
    var unansweredPings = 0
    var subject = ""
    var isOccupantBoundReported = false
    var occupants: [String: Occupant] = [:]
    var uncountedOccupants = 0
    /// The own identifier in the room (XEP-0421), if the room announces them.
    var occupantID: StanzaID?
    var guardsOccupantIDs = false

    // The archive.
    var hasArchive = false
    var reader: ArchiveReader
    var results: [Result] = []
    var resultByteCount = 0
    var query: ArchiveRequest?
    var readingStart = Instant.zero
    /// Whether the archive is read from a time, so that its identifiers may be new.
    var comparesContent = false
    var held: [Held] = []
    var heldByteCount = 0
    /// Since when the oldest one waits, and since when they wait without a reading of the archive.
    var heldSince: Instant?
    var idleSince: Instant?
    /// Whether messages don't wait for the archive, because it has been silent, has failed or takes too long.
    var goesAhead = false
    /// Whether a row has reported that, in this stay and since the archive was read.
    var isGapReported = false
    /// Whether messages came while the archive was read that were not kept.
    var hasDropped = false

    // Messages of this account, by their ids.
    var outgoing: [String: Outgoing] = [:]
    var queue: [String] = []
    /// Since when they wait for their reflections.
    var underWay: [String: Instant] = [:]
    /// The room may have these. Its archive decides, if it is read after this time.
    var uncertain: [String: Instant] = [:]
    /// Of those in the queue, the ones that the room has returned as those of a stranger, until it tells whether this account
    /// is one.
    var doubtful: Set<String> = []
    /// How often the room has returned messages since it has reflected one.
    var returnCount = 0
    /// The end of the pause that the room has asked for.
    var queuePausedUntil: Instant?

    struct Result: Sendable {
      var mark: ArchiveMark
      var message: RoomMessage?
    }

    struct Held: Sendable {
      var message: RoomMessage
      var archiveID: String?
    }

    struct Outgoing: Sendable {
      var row: OutgoingRoomRow
      var rejectionCount = 0
    }

    init(_ stored: StoredRoom, shared: inout RoomShared) {
      self.stored = stored
      nickname = stored.nickname
      phase = stored.isWanted ? .idle : .ended(stored.ending ?? .left)
      hasArchive = stored.hasReadArchive
      reader = ArchiveReader(
        limits: shared.limits.archive, marks: stored.marks, isNew: !stored.hasReadArchive,
        firstQuery: shared.random.next() >> 16)
    }

    var jid: JID { stored.jid }

    var info: RoomInfo {
      let state: RoomState =
        switch phase {
        case .ready: .joined
        case .waiting(let end, _): .waiting(end)
        case .ended(let end): .ended(end)
        case .leaving: stored.isWanted ? .joining : .ended(.left)
        case .idle, .joining, .configuring, .discovering, .catchingUp: .joining
        }
      return RoomInfo(
        jid: jid, nickname: nickname, state: state, subject: subject,
        occupantCount: occupants.count, uncountedOccupants: uncountedOccupants,
        hasArchive: hasArchive)
    }

    /// When ``wake(_:)`` has something to do; nil without a connection.
    func nextWake(_ shared: RoomShared) -> Instant? {
      guard shared.isOnline else { return waitingEnd(shared) }
      var due = awaited?.deadline
      func add(_ other: Instant?) {
        guard let other else { return }
        due = min(due ?? other, other)
      }
      if case .waiting(_, let until) = phase { add(until) }
      if phase == .ready || phase == .catchingUp { add(reader.wake) }
      add(renaming?.request?.deadline)
      add(waitingEnd(shared))
      if phase == .ready {
        if awaited == nil { add(lastHeard + shared.limits.silence) }
        add(underWay.values.min().map { $0 + shared.limits.reflectionTime })
        add(queuePausedUntil)
      }
      return due
    }

    // MARK: The session

    /// A session has begun, or goes on.
    mutating func connect(isResumed: Bool, _ shared: inout RoomShared) {
      if isResumed, phase.isInside || phase == .joining {
        awaited?.deadline = shared.now + shared.limits.answerTime
        if phase == .catchingUp || phase == .ready && reader.isDue(now: shared.now) {
          startReading(&shared)
        }
        // The service may have removed this occupant, and its notice may be lost.
        if phase == .ready, awaited == nil { ping(&shared) }
        return
      }
      leaveBehind(&shared)
      // A process may have ended before it failed them.
      if !stored.isWanted, let ending = stored.ending, ending.endsMessages {
        failAll(ending, &shared)
      }
      if stored.isWanted {
        pauseStep = 0
        nickname = stored.nickname
        phase = .idle
      }
    }

    mutating func disconnect(_ shared: inout RoomShared) {
      reader.interrupt(now: shared.now)
      waitIdle(shared.now)
      forgetPage()
      stopRenaming()
      answerJoins(.offline, &shared)
      if phase == .leaving {
        doubt(shared.now)
        finishLeaving(&shared)
      }
    }

    private mutating func forgetPage() {
      query = nil
      results = []
      resultByteCount = 0
    }

    /// This account is no occupant any more: messages without their reflections are uncertain.
    mutating func leaveBehind(_ shared: inout RoomShared) {
      awaited = nil
      stopRenaming()
      unansweredPings = 0
      nicknameTries = 0
      reader.stop()
      forgetPage()
      clearOccupants(&shared)
      goesAhead = false
      isGapReported = false
      doubtful = []
      // They are here already, and may not be in the archive when the room is joined again.
      if stored.isWanted { waitIdle(shared.now) } else { dropHeld(&shared) }
      doubt(shared.now)
    }

    // MARK: Joining

    mutating func join(_ shared: inout RoomShared) {
      guard let occupant = JID(local: jid.local, domain: jid.domain, resource: nickname) else {
        return end(.nicknameRefused, &shared)
      }
      phase = .joining
      let presence = PresenceStanza(
        id: wait(.join, shared.limits.joinTime, &shared), to: occupant,
        payload: [RoomEntry(password: stored.password).element])
      shared.send(presence.element)
    }

    mutating func wait(
      _ purpose: Awaited.Purpose, _ time: TimeSpan, _ shared: inout RoomShared
    ) -> StanzaID? {
      let id = shared.makeID()
      awaited = Awaited(
        purpose: purpose, id: id, since: shared.now, deadline: shared.now + time)
      return StanzaID(id)
    }

    mutating func ask(
      _ kind: IQStanza.Kind, _ purpose: Awaited.Purpose, to recipient: JID, _ payload: XMLElement,
      _ shared: inout RoomShared
    ) {
      guard let id = wait(purpose, shared.limits.answerTime, &shared) else { return }
      shared.send(IQStanza(kind, id: id, to: recipient, payload: [payload]).element)
    }

    /// The room's presence of this account shows that the join has succeeded.
    mutating func entered(_ user: RoomUser, _ shared: inout RoomShared) {
      guard phase == .joining else { return shared.notice(.room(info)) }
      if user.statuses.contains(RoomUser.created) {
        phase = .configuring
        return ask(.set, .configuration, to: jid, InstantRoom.element, &shared)
      }
      discover(&shared)
    }

    func failure(_ presence: PresenceStanza) -> RoomEnd {
      let error = StanzaError(in: presence.payload)
      switch error.condition {
      case .notAuthorized: return .passwordRequired
      case .forbidden: return .banned(error.text)
      case .registrationRequired: return .membersOnly
      case .itemNotFound: return .notFound
      case .notAllowed: return .creationRefused
      case .conflict: return .nicknameTaken
      case .notAcceptable, .jidMalformed: return .nicknameRefused
      case .gone, .redirect: return .moved(StanzaError.newAddress(in: presence.payload))
      case .serviceUnavailable where error.kind == .wait: return .full
      case .resourceConstraint: return .full
      case .remoteServerNotFound, .remoteServerTimeout, .internalServerError,
        .recipientUnavailable:
        return .unreachable(error.condition)
      default: return error.kind == .wait ? .unreachable(error.condition) : .refused(error)
      }
    }

    mutating func joinFailed(_ presence: PresenceStanza, _ shared: inout RoomShared) {
      let reason = failure(presence)
      if reason == .nicknameTaken, nicknameTries + 1 < shared.limits.nicknameTryMax {
        nicknameTries += 1
        nickname += "_"
        return join(&shared)
      }
      end(reason, &shared)
    }

    /// This account isn't in the room, for this reason.
    mutating func end(_ reason: RoomEnd, _ shared: inout RoomShared) {
      if reason.endsMessages { failAll(reason, &shared) }
      leaveBehind(&shared)
      nickname = stored.nickname
      if reason.isTransient, stored.isWanted {
        let step = Int64(1) << Int64(min(pauseStep, 10))
        pauseStep += 1
        let pause = min(shared.limits.firstPause * step, shared.limits.longestPause)
        phase = .waiting(reason, until: shared.now + pause)
      } else {
        phase = .ended(reason)
        let ending = reason.isLasting ? reason : stored.ending
        if stored.isWanted || stored.ending != ending {
          if stored.isWanted { stored.isBookmarkDue = false }
          stored.isWanted = false
          stored.ending = ending
          shared.change(.setRoom(stored))
        }
      }
      answerJoins(.ended(reason), &shared)
      shared.notice(.room(info))
    }

    mutating func answerJoins(_ failure: RoomFailure?, _ shared: inout RoomShared) {
      for ticket in joinTickets { shared.actions.append(.answer(ticket: ticket, failure)) }
      joinTickets = []
    }

    mutating func discover(_ shared: inout RoomShared) {
      phase = .discovering
      ask(.get, .features, to: jid, DiscoInfo().element, &shared)
    }

    /// The room's abilities are known; nil if it has not told them, and those of before count.
    mutating func discovered(_ features: [String]?, _ shared: inout RoomShared) {
      hasArchive = features?.contains(Namespace.archive) ?? stored.hasReadArchive
      guardsOccupantIDs = features?.contains(Namespace.occupantID) ?? false
      guard hasArchive else { return becomeReady(isWhole: false, &shared) }
      phase = .catchingUp
      startReading(&shared)
    }

    mutating func becomeReady(isWhole: Bool, _ shared: inout RoomShared) {
      phase = .ready
      lastHeard = shared.now
      if returnCount == 0, isWhole || !hasArchive { pauseStep = 0 }
      queuePausedUntil = nil
      goesAhead = hasArchive && !isWhole
      releaseHeld(&shared)
      if !hasArchive { failUncertain(&shared) }
      answerJoins(nil, &shared)
      shared.notice(.room(info))
      requestNickname(&shared)
      sendQueued(&shared)
    }

    // MARK: Leaving

    mutating func leave(_ ticket: UInt64, _ shared: inout RoomShared) {
      leaveTickets.append(ticket)
      answerJoins(.ended(.left), &shared)
      if stored.isWanted || stored.ending != nil {
        stored.isWanted = false
        stored.ending = nil
        stored.isBookmarkDue = true
        shared.change(.setRoom(stored))
      }
      guard shared.isOnline, phase.isInside || phase == .joining,
        let occupant = JID(local: jid.local, domain: jid.domain, resource: nickname)
      else { return finishLeaving(&shared) }
      // What is under way may have arrived, which its reflection shows.
      failQueued(.left, &shared)
      phase = .leaving
      let id = wait(.leave, shared.limits.answerTime, &shared)
      shared.send(PresenceStanza(.unavailable, id: id, to: occupant).element)
    }

    mutating func finishLeaving(_ shared: inout RoomShared) {
      for ticket in leaveTickets { shared.actions.append(.answer(ticket: ticket, nil)) }
      leaveTickets = []
      guard stored.isWanted else { return end(.left, &shared) }
      // The app has joined the room again meanwhile.
      leaveBehind(&shared)
      nickname = stored.nickname
      pauseStep = 0
      phase = .idle
      shared.notice(.room(info))
    }

    // MARK: Presence of this account

    /// Verifies that this account is still an occupant (XEP-0410).
    mutating func ping(_ shared: inout RoomShared) {
      guard let occupant = JID(local: jid.local, domain: jid.domain, resource: nickname) else {
        return
      }
      ask(.get, .ping, to: occupant, Ping().element, &shared)
    }

    mutating func answered(_ iq: IQStanza, _ shared: inout RoomShared) {
      guard let purpose = awaited?.purpose else { return }
      lastHeard = shared.now
      awaited = nil
      switch purpose {
      case .configuration:
        // A refused configuration leaves the room locked; its service removes it (§10.1.2).
        if let error = iq.error { return end(.refused(error), &shared) }
        discover(&shared)
      case .features:
        if let error = iq.error, error.kind == .wait {
          return end(.unreachable(error.condition), &shared)
        }
        discovered(iq[DiscoInfo.self]?.features, &shared)
      case .ping: pinged(iq.error, &shared)
      case .join, .leave: break
      }
    }

    /// The answers of XEP-0410, §3.2.
    private mutating func pinged(_ error: StanzaError?, _ shared: inout RoomShared) {
      unansweredPings = 0
      switch error?.condition {
      case nil, .serviceUnavailable, .featureNotImplemented, .itemNotFound:
        decideDoubtful(isOccupant: true, &shared)
      case .remoteServerNotFound, .remoteServerTimeout:
        end(.unreachable(error?.condition ?? .undefinedCondition), &shared)
      default:
        decideDoubtful(isOccupant: false, &shared)
        // A room that ejects this account with each message is joined after growing pauses.
        if returnCount < shared.limits.rejectionCountMax {
          rejoin(&shared)
        } else {
          end(.interrupted, &shared)
        }
      }
    }

    mutating func rejoin(_ shared: inout RoomShared) {
      leaveBehind(&shared)
      guard stored.isWanted else { return end(.left, &shared) }
      nickname = stored.nickname
      phase = .idle
      shared.notice(.room(info))
    }

    // MARK: Time

    mutating func wake(_ shared: inout RoomShared) {
      guard shared.isOnline else {
        if let due = waitingEnd(shared), due <= shared.now { endWaiting(&shared) }
        return
      }
      if let awaited, awaited.deadline <= shared.now { overdue(awaited.purpose, &shared) }
      if let request = renaming?.request, request.deadline <= shared.now {
        renamed(.ended(.noAnswer), &shared)
      }
      if case .waiting(_, let until) = phase, until <= shared.now { phase = .idle }
      if phase == .ready || phase == .catchingUp,
        let step = reader.wake(now: shared.now, wall: shared.wall)
      {
        if case .query = step { readingStart = shared.now }
        follow(step, &shared)
      }
      if let due = waitingEnd(shared), due <= shared.now { endWaiting(&shared) }
      guard phase == .ready else { return }
      if let oldest = underWay.values.min(), oldest + shared.limits.reflectionTime <= shared.now {
        missReflections(&shared)
      }
      if let until = queuePausedUntil, until <= shared.now {
        queuePausedUntil = nil
        sendQueued(&shared)
      }
      if awaited == nil, lastHeard + shared.limits.silence <= shared.now { ping(&shared) }
    }

    private mutating func overdue(_ purpose: Awaited.Purpose, _ shared: inout RoomShared) {
      awaited = nil
      switch purpose {
      // Without its abilities, messages of a room could not be recognised when its archive brings them.
      case .join, .configuration, .features: end(.noAnswer, &shared)
      case .ping:
        unansweredPings += 1
        if unansweredPings < 2 { ping(&shared) } else { rejoin(&shared) }
      case .leave:
        doubt(shared.now)
        finishLeaving(&shared)
      }
    }

    func violations(_ limits: RoomLimits) -> [String] {
      var found = reader.violations()
      if occupants.count > limits.occupantsPerRoomMax { found.append("too many occupants") }
      if held.count > limits.heldCountMax { found.append("too many messages wait") }
      if phase == .ready, !held.isEmpty { found.append("messages wait in a joined room") }
      if case .ended = phase, awaited != nil {
        found.append("a room that was left awaits an answer")
      }
      if queue.count + underWay.count + uncertain.count != outgoing.count {
        found.append("messages to the room are counted wrongly")
      }
      if results.count > 2 * limits.archive.pageCount { found.append("a page is too long") }
      return found
    }
  }
#endif
