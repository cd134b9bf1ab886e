#if Messaging
  import Essentials
  import XMPPWire

  /// Messages of a room, live and from its archive, and those to it.
  extension Room {
    // MARK: Live messages

    mutating func take(
      _ stanza: MessageStanza, known: Set<SeenKey>, _ shared: inout RoomShared
    ) {
      if stanza.kind == .error { return refused(stanza, &shared) }
      if let result = stanza[ArchiveResult.self] { return take(result, &shared) }
      lastHeard = shared.now
      if let text = RoomSubject.text(in: stanza) {
        guard subject != text else { return }
        subject = text
        return shared.notice(.room(info))
      }
      // The archive brings what the room repeats of its history.
      let isRepeated = stanza.payload.contains { Delay($0)?.from?.bare == jid }
      if isRepeated, phase != .ready || hasArchive { return }
      guard let message = read(stanza, date: shared.wall) else { return }
      let archiveID = ServerID.only(by: jid, in: stanza.payload)?.text
      if let archiveID, shared.isKnown(.room(jid.description, archiveID), known) { return }
      // The app has left the room, and is told of its own messages only.
      if phase == .leaving, message.isOwn { reflected(message, &shared) }
      guard phase == .ready else {
        return hold(Held(message: message, archiveID: archiveID), &shared)
      }
      if goesAhead { reportMissing(&shared) }
      take(message, archiveID: archiveID, &shared)
    }

    /// Nil for a message without content, and for one of another sender.
    private func read(_ stanza: MessageStanza, date: WallTime) -> RoomMessage? {
      guard stanza.kind == .groupchat, let from = stanza.from, from.bare == jid,
        stanza.body != nil || MessageReader.hasContent(stanza)
      else { return nil }
      let name = from.resource ?? ""
      // Archives add the senders' addresses and their own identifiers, which live messages don't have.
      var content = stanza
      content.payload.removeAll {
        [Namespace.roomUser, "urn:xmpp:mam:tmp"].contains($0.namespace)
      }
      return RoomMessage(
        room: jid, nickname: name, isOwn: isOwn(name, stanza),
        originID: stanza[OriginID.self]?.id.text ?? stanza.id?.text ?? "",
        content: MessageContent(reading: content), arrival: .inOrder, date: date)
    }

    private func isOwn(_ name: String, _ stanza: MessageStanza) -> Bool {
      if [stanza.id?.text, stanza[OriginID.self]?.id.text].contains(where: {
        $0.map { outgoing[$0] != nil } ?? false
      }) {
        return true
      }
      if guardsOccupantIDs, let occupantID, let other = stanza[OccupantID.self] {
        return other.id == occupantID
      }
      return name == nickname
    }

    /// The keys by which a message is known when it comes again.
    static func keys(
      room: JID, archiveID: String?, _ message: RoomMessage
    ) -> [SeenKey] {
      var keys: [SeenKey] = []
      if let archiveID { keys.append(.room(room.description, archiveID)) }
      if !message.originID.isEmpty {
        keys.append(
          .message(
            sender: "\(room)/\(message.nickname)", name: message.originID,
            digest: message.content.digest))
      }
      return keys
    }

    private mutating func take(
      _ message: RoomMessage, archiveID: String?, _ shared: inout RoomShared
    ) {
      // Without an archive the identifier is any occupant's claim.
      let archiveID = hasArchive ? archiveID : nil
      if let archiveID, shared.isKnown(.room(jid.description, archiveID), []) { return }
      for key in Self.keys(room: jid, archiveID: archiveID, message) { shared.remember(key) }
      // An archive that is read for the first time may bring it again, also to a later process.
      if archiveID == nil, reader.isNew { setArchiveBehind(true, &shared) }
      reflected(message, &shared)
      shared.actions.append(.deliver(.message(message)))
    }

    // MARK: Messages that wait for the archive

    private mutating func hold(_ item: Held, _ shared: inout RoomShared) {
      guard phase != .leaving, stored.isWanted else { return }
      let size = item.message.content.byteCount
      guard held.count < shared.limits.heldCountMax,
        shared.heldByteCount + size <= shared.limits.heldByteCountMax
      else {
        if !hasDropped { shared.notice(.problem(.flooded(jid))) }
        hasDropped = true
        return
      }
      held.append(item)
      if heldSince == nil { heldSince = shared.now }
      if phase != .catchingUp { waitIdle(shared.now) }
      heldByteCount += size
      shared.heldByteCount += size
    }

    mutating func dropHeld(_ shared: inout RoomShared) {
      shared.heldByteCount -= heldByteCount
      held = []
      (heldSince, idleSince) = (nil, nil)
      heldByteCount = 0
      hasDropped = false
    }

    mutating func releaseHeld(_ shared: inout RoomShared) {
      let waiting = held
      let isIncomplete = hasDropped
      dropHeld(&shared)
      for item in waiting {
        if goesAhead { reportMissing(&shared) }
        take(item.message, archiveID: item.archiveID, &shared)
      }
      guard isIncomplete, !hasArchive else { return }
      shared.actions.append(.deliver(.archiveGap(jid, since: shared.wall, now: shared.wall)))
    }

    // MARK: The archive

    mutating func startReading(_ shared: inout RoomShared) {
      readingStart = shared.now
      idleSince = nil
      follow(.query(reader.start(now: shared.now, wall: shared.wall)), &shared)
    }

    private mutating func request(_ new: ArchiveRequest, _ shared: inout RoomShared) {
      query = new
      results = []
      resultByteCount = 0
      guard let stanza = MessageWriter.query(new, account: jid) else { return }
      shared.send(stanza.element)
    }

    private mutating func take(_ result: ArchiveResult, _ shared: inout RoomShared) {
      guard let query, result.query == MessageWriter.queryID(query.id),
        results.count < 2 * query.countMax
      else { return }
      let date = result.forwarded.delay?.stamp.milliseconds ?? shared.wall
      let isSubject = RoomSubject.text(in: result.forwarded.message) != nil
      let message = isSubject ? nil : read(result.forwarded.message, date: date)
      resultByteCount += message?.content.byteCount ?? 0
      guard resultByteCount <= shared.limits.pageByteCountMax else {
        results = []
        return
      }
      results.append(
        Result(mark: ArchiveMark(id: result.id.text, date: date), message: message))
    }

    /// The keys of the page that an answer completes.
    var pageKeys: [SeenKey] {
      results.flatMap { result in
        result.message.map { Self.keys(room: jid, archiveID: result.mark.id, $0) }
          ?? [.room(jid.description, result.mark.id)]
      }
    }

    func isAnswer(_ iq: IQStanza) -> Bool {
      query.map { iq.id.text == MessageWriter.queryID($0.id) } ?? false
    }

    mutating func takePage(_ iq: IQStanza, known: Set<SeenKey>, _ shared: inout RoomShared) {
      guard let query else { return }
      self.query = nil
      let page = results
      results = []
      let isTooLarge = resultByteCount > shared.limits.pageByteCountMax
      guard iq.kind == .result, !isTooLarge, let end = iq[ArchiveEnd.self] else {
        let isUnknown = iq.error?.condition == .itemNotFound
        return follow(
          reader.fail(query.id, isUnknownItem: isUnknown, now: shared.now), &shared)
      }
      if !reader.isSearching { take(page, isLast: end.isComplete, known, &shared) }
      let before = reader.marks
      let step = reader.handle(
        ArchivePage(
          query: query.id, entries: page.map { .init(mark: $0.mark, message: nil) },
          isComplete: end.isComplete), now: shared.now)
      if reader.marks != before { storeArchive(&shared) }
      follow(step, &shared)
    }

    private mutating func take(
      _ page: [Result], isLast: Bool, _ known: Set<SeenKey>, _ shared: inout RoomShared
    ) {
      func isKnown(_ result: Result, _ shared: RoomShared) -> Bool {
        if shared.isKnown(.room(jid.description, result.mark.id), known) { return true }
        guard comparesContent, let message = result.message else { return false }
        return Self.keys(room: jid, archiveID: nil, message).contains {
          shared.isKnown($0, known)
        }
      }
      // Live messages of a joined room are on its last page.
      let lastKnown =
        (phase == .ready || stored.isArchiveBehind) && !isLast
        ? page.count : page.lastIndex { isKnown($0, shared) } ?? -1
      for (place, result) in page.enumerated() {
        if let end = stored.historyEnd, result.mark.date > end.date { endHistory(&shared) }
        if var message = result.message, !isKnown(result, shared) {
          let isHistory = stored.historyEnd != nil
          message.arrival = isHistory ? .history : place < lastKnown ? .late : .inOrder
          take(message, archiveID: result.mark.id, &shared)
        } else {
          shared.remember(.room(jid.description, result.mark.id))
        }
        if result.mark.id == stored.historyEnd?.id { endHistory(&shared) }
      }
    }

    private mutating func endHistory(_ shared: inout RoomShared) {
      stored.historyEnd = nil
      storeArchive(&shared)
    }

    private mutating func storeArchive(_ shared: inout RoomShared) {
      stored.marks = reader.marks
      stored.hasReadArchive = true
      shared.change(.setArchive(jid, reader.marks, stored.historyEnd))
    }

    mutating func follow(_ step: ArchiveReader.Step, _ shared: inout RoomShared) {
      switch step {
      case .query(let query): request(query, &shared)
      case .gap(let since, let query):
        comparesContent = true
        storeArchive(&shared)
        shared.actions.append(.deliver(.archiveGap(jid, since: since, now: shared.wall)))
        request(query, &shared)
      case .history(let end, let cut, let query):
        comparesContent = stored.isArchiveBehind
        stored.historyEnd = end.map { HistoryEnd(id: $0.id, date: $0.date, isCut: cut != nil) }
        storeArchive(&shared)
        if let cut { shared.actions.append(.deliver(.historyStart(jid, cut))) }
        request(query, &shared)
      case .done(let isWhole): finishReading(isWhole: isWhole, &shared)
      case .stalled:
        shared.notice(.problem(.archiveStalled(jid)))
        finishReading(isWhole: false, &shared)
      case .ignored: break
      }
    }

    private mutating func finishReading(isWhole: Bool, _ shared: inout RoomShared) {
      comparesContent = false
      if isWhole {
        goesAhead = false
        setArchiveBehind(false, &shared)
        if stored.historyEnd != nil { endHistory(&shared) }
        requeueUncertain(&shared)
        if hasDropped, phase == .catchingUp {
          // The archive has the messages that were not kept, and brings them in their order.
          dropHeld(&shared)
          return startReading(&shared)
        }
        // They were sent after the reading had begun.
        if !uncertain.isEmpty { return startReading(&shared) }
      }
      if phase == .catchingUp {
        becomeReady(isWhole: isWhole, &shared)
      } else {
        sendQueued(&shared)
      }
    }
  }
#endif
