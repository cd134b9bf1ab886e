#if Messaging
  package import Essentials
  import XMPPWire

  /// The messages of one account: those on their way, those that came, their order, and the archive.
  ///
  /// Each event adds to a ``MessageCommit`` the changes of the store, and the actions that the driver
  /// performs when the changes are on disk. So a process that ends at any moment loses nothing: a
  /// machine that begins with the store goes on.
  ///
  /// - An outgoing message is sent until the server has it, and until the recipient's account has
  ///   confirmed it if that account knows the order element.
  /// - An incoming message is handed to the app once, in the order of its stream.
  /// - Messages that don't come within a time become a gap, as a row of the inbox.
  package struct MessageMachine: Sendable {
    /// The bare JID of the account.
    package let account: String
    let limits: MessageLimits
    var random: SeededGenerator

    // The outbox.
    var entries: [RowID: OutboxEntry] = [:]
    var byOriginID: [String: RowID] = [:]
    var conversations: [String: Conversation] = [:]
    /// Rows to be sent, in order.
    var queue: [RowID] = []
    var underWay: Set<RowID> = []
    /// Rows that were under way when the server closed the stream with an error. They are sent one at
    /// a time.
    var suspects: Set<RowID> = []
    var deadlines: [RowID: Instant] = [:]
    var queuedByteCount = 0

    // The inbox.
    var streams: [StreamKey: IncomingOrder] = [:]
    /// Rows without order that wait for the archive, in the order of arrival.
    var waitingForArchive: [RowID] = []
    var heldCount = 0
    var heldByteCount = 0
    var provisional: [SeenKey: Provisional] = [:]
    var recentKeys: Set<SeenKey> = []
    var recentKeyOrder: [SeenKey] = []
    var receipts = OwedReceipts()
    /// Whether the app lets accounts have receipts to which it has never sent a message.
    let confirmsToStrangers: Bool
    var lastUse: Int64 = 0

    // The session.
    var archive: ArchiveReader
    /// Entries of the archive up to this one are history; nil if none is any more.
    var historyEnd: HistoryEnd?
    var isConnected = false
    var hasArchive = false
    /// Whether the archive has to be read before anything is sent.
    var needsArchive = true
    var session: StoredSession?
    /// Whether messages don't wait for the archive, because it has been silent or has taken too long.
    var goesAhead = false
    /// Whether messages were handed over before those that the archive has from before them.
    var isArchiveBehind = false
    /// Whether a row has reported that, in this session and since the archive was read.
    var isGapReported = false
    /// Since when messages wait that came before the account's abilities were known.
    var earlySince: Instant?
    /// Since when messages wait without a connection, and since when the oldest one of those that wait does.
    var offlineSince: Instant?
    var waitingSince: Instant?
    var hasSeenOwnInArchive = false
    var archiveStart: Instant?
    var wallOffset: WallTime = 0

    var lastOutgoing: Int64
    var lastIncoming: Int64
    package internal(set) var lastSequence: Int64
    /// Nothing is due before this.
    package internal(set) var nextWake: Instant?

    struct StreamKey: Hashable, Sendable {
      var sender: String
      var stream: OrderStreamID
    }

    /// - Parameters:
    ///   - account: The account's bare JID, as the server has bound it.
    ///   - stored: What the store has.
    ///   - confirmsToStrangers: Whether accounts get receipts to which the app has never sent a message.
    ///   - seed: Random bits, for the names of streams.
    package init(
      account: String, stored: StoredMessages, limits: MessageLimits = MessageLimits(),
      confirmsToStrangers: Bool = true, seed: UInt64, now: Instant, wall: WallTime
    ) {
      self.account = account
      self.confirmsToStrangers = confirmsToStrangers
      self.limits = limits
      random = SeededGenerator(seed: seed)
      archive = ArchiveReader(
        limits: limits, marks: stored.archiveMarks, isNew: !stored.hasReadArchive,
        firstQuery: random.next() >> 16)
      historyEnd = stored.historyEnd
      isArchiveBehind = stored.isArchiveBehind
      isGapReported = stored.isArchiveBehind && stored.session != nil
      session = stored.session
      lastOutgoing = stored.lastOutgoing
      lastIncoming = stored.lastIncoming
      lastSequence = stored.lastSequence
      setClock(wall, now)
      loadOutgoing(stored, now)
      loadIncoming(stored, now)
      waitOffline(now)
    }

    /// Whether a message may be sent now.
    var maySend: Bool { isConnected && (!needsArchive || goesAhead) }
    /// Whether the archive is being read, or will be before messages are in order.
    var isCatchingUp: Bool {
      guard !goesAhead else { return false }
      guard isConnected else { return earlySince != nil }
      return hasArchive && (archive.isRunning || archive.waitsForRetry || needsArchive)
    }

    /// Handles an event, and adds changes and actions to a commit.
    package mutating func handle(
      _ event: MessageEvent, now: Instant, into commit: inout MessageCommit
    ) {
      switch event {
      case .connected(let isResumed, let hasArchive, let wall):
        setClock(wall, now)
        connect(isResumed: isResumed, hasArchive: hasArchive, now, &commit)
      case .disconnected(let streamError):
        goesAhead = false
        disconnect(streamError, &commit)
        waitOffline(now)
      case .send(let ticket, let peer, let originID, let content, let patience, let wall):
        setClock(wall, now)
        send(ticket, peer, originID, content, patience, now, &commit)
      case .acknowledge(let sequence):
        commit.changes.append(.acknowledgeIncoming(sequence: sequence))
      case .received(let item, let count):
        if !isConnected, earlySince == nil { earlySince = now }
        receive(item, entry: nil, now, &commit)
        if let count { self.count(count, &commit) }
      case .pushed(let ticket, let item): receivePushed(ticket, item, &commit)
      case .blockChanged(let jid): beginStreamsAnew(of: jid, &commit)
      case .counted(let count): self.count(count, &commit)
      case .handled(let rows): handled(rows, &commit)
      case .session(let session):
        self.session = session
        // What comes between it and the next one is missing at another place.
        if session == nil { isGapReported = false }
        commit.changes.append(.setSession(session))
      case .page(let page): handle(page, now, &commit)
      case .queryFailed(let id, let isUnknownItem):
        follow(archive.fail(id, isUnknownItem: isUnknownItem, now: now), now, &commit)
      case .room(let delivery): receive(delivery, &commit)
      case .loaded(let rows): sendAgain(rows, now, &commit)
      case .endWaiting: if holdsMessagesBack { endWaiting(now, &commit) }
      }
      settle(now, &commit)
    }

    /// Handles what is due at `now`.
    package mutating func wake(now: Instant, into commit: inout MessageCommit) {
      guard let due = nextWake, due <= now else { return }
      nextWake = nil
      if isConnected, let step = archive.wake(now: now, wall: wall(now)) {
        if case .query = step { archiveStart = now }
        follow(step, now, &commit)
      }
      if let due = waitingEnd, due <= now { endWaiting(now, &commit) }
      wakeStreams(now, &commit)
      wakeOutbox(now, &commit)
      settle(now, &commit)
    }

    private mutating func settle(_ now: Instant, _ commit: inout MessageCommit) {
      flushReceipts(now, &commit)
      sendQueued(now, &commit)
      if isConnected, let due = archive.wake { schedule(due) }
      if let due = waitingEnd { schedule(due) }
      assert(violations(perTable: 8).isEmpty, "\(violations(perTable: 8))")
    }

    mutating func schedule(_ due: Instant) { nextWake = min(nextWake ?? due, due) }

    private mutating func setClock(_ wall: WallTime, _ now: Instant) {
      wallOffset = wall - now.nanoseconds / 1_000_000
    }

    func wall(_ now: Instant) -> WallTime { wallOffset + now.nanoseconds / 1_000_000 }

    private mutating func count(_ count: UInt64, _ commit: inout MessageCommit) {
      session?.inboundCount = count
      commit.changes.append(.setInboundCount(count))
      commit.then.append(.confirm(count: count))
    }

    // MARK: The session

    private mutating func connect(
      isResumed: Bool, hasArchive: Bool, _ now: Instant, _ commit: inout MessageCommit
    ) {
      isConnected = true
      (earlySince, offlineSince) = (nil, nil)
      self.hasArchive = hasArchive
      if isResumed {
        // A machine that begins with the store of a killed process has only lost its memory.
        if !hasUncertain { needsArchive = false }
      } else {
        needsArchive = true
        suspendUnderWay(&commit)
        for id in receipts.suspendUnderWay(known: mayConfirm(Array(receipts.all.values))) {
          commit.changes.append(.setPosition(id, nil))
        }
      }
      if !hasArchive {
        finishReading(isWhole: false, now, &commit)
      } else if needsArchive || !archive.isRunning {
        archiveStart = now
        follow(.query(archive.start(now: now, wall: wall(now))), now, &commit)
      }
      for key in streams.keys { watchHole(key, now) }
      for peer in conversations.keys { watchReceipts(of: peer, now) }
    }

    private mutating func disconnect(_ streamError: String?, _ commit: inout MessageCommit) {
      guard isConnected else { return }
      isConnected = false
      archive.stop()
      if let streamError { blame(streamError, &commit) }
      for peer in conversations.keys { conversations[peer]?.wanted = [] }
      for key in streams.keys {
        streams[existing: key].waitsSince = nil
        streams[existing: key].missingRequested = nil
      }
    }

    // MARK: The archive

    private mutating func handle(
      _ page: ArchivePage, _ now: Instant, _ commit: inout MessageCommit
    ) {
      guard archive.isCurrent(page) else { return }
      for entry in page.entries where !archive.isSearching {
        if let end = historyEnd, entry.mark.date > end.date { endHistory(&commit) }
        if let item = entry.message { receive(item, entry: entry.mark, now, &commit) }
        if entry.mark.id == historyEnd?.id { endHistory(&commit) }
      }
      let before = archive.marks
      let step = archive.handle(page, now: now)
      noteProgress(now)
      if archive.marks != before { commit.changes.append(.setArchiveMarks(archive.marks)) }
      follow(step, now, &commit)
    }

    private mutating func follow(
      _ step: ArchiveReader.Step, _ now: Instant, _ commit: inout MessageCommit
    ) {
      switch step {
      case .query(let query): commit.then.append(.query(query))
      case .gap(let since, let query):
        commit.changes.append(.setArchiveMarks(archive.marks))
        archiveStart = nil
        let row = makeRow(.archiveGap(since: since), peer: account, date: wall(now))
        insert(row, &commit)
        release(row.id, .inOrder, &commit)
        commit.then.append(.query(query))
      case .history(let end, let cut, let query):
        historyEnd = end.map { HistoryEnd(id: $0.id, date: $0.date, isCut: cut != nil) }
        commit.changes.append(.setHistoryEnd(historyEnd))
        if let cut {
          let row = makeRow(.historyStart(cut), peer: account, date: wall(now))
          insert(row, &commit)
          release(row.id, .inOrder, &commit)
        }
        commit.then.append(.query(query))
      case .done(let isWhole): finishReading(isWhole: isWhole, now, &commit)
      case .stalled:
        commit.then.append(.report(.archiveStalled))
        finishReading(isWhole: false, now, &commit)
      case .ignored: break
      }
    }

    private mutating func endHistory(_ commit: inout MessageCommit) {
      guard historyEnd != nil else { return }
      historyEnd = nil
      commit.changes.append(.setHistoryEnd(nil))
    }

    /// The archive was read, or can't be.
    private mutating func finishReading(
      isWhole: Bool, _ now: Instant, _ commit: inout MessageCommit
    ) {
      if isWhole { endHistory(&commit) }
      setBaseLines(now, &commit)
      // Without an archive nothing comes from it later.
      goesAhead = hasArchive && !isWhole
      releaseWaiting(isAhead: goesAhead, now, &commit)
      if isWhole { setArchiveBehind(false, &commit) }
      needsArchive = false
      renumberCopied(&commit)
      requeue(isWhole: isWhole, now, &commit)
      sendVoids(&commit)
      for key in streams.keys { watchHole(key, now) }
      for peer in conversations.keys { watchReceipts(of: peer, now) }
      commit.then.append(.caughtUp(isWhole: isWhole))
    }
  }
#endif
