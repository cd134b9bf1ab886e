#if Messaging
  import Essentials
  import XMPPWire

  extension MessageMachine {
    mutating func loadOutgoing(_ stored: StoredMessages, _ now: Instant) {
      for stream in stored.outgoingStreams {
        conversations[stream.peer] = Conversation(stream: stream)
      }
      for row in stored.outgoing.sorted(by: { $0.id < $1.id }) {
        let isAtServer = row.fate != .stored
        let stage: OutboxEntry.Stage =
          isAtServer
          ? .settled : row.position == nil ? .queued : row.position == 0 ? .uncertain : .underWay
        add(OutboxEntry(row: row, stage: stage))
        switch stage {
        case .queued: queue.append(row.id)
        case .underWay: underWay.insert(row.id)
        case .uncertain, .settled: break
        }
        if let deadline = row.deadline {
          let rest = max(0, min(deadline - wall(now), deadline - row.date))
          setDeadline(row.id, now + .milliseconds(rest))
        }
      }
    }

    /// Adds a row to the tables.
    private mutating func add(_ entry: OutboxEntry) {
      let row = entry.row
      entries[row.id] = entry
      byOriginID[row.originID] = row.id
      queuedByteCount += row.content?.byteCount ?? 0
      if conversations[row.peer]?.stream.stream == row.order.stream {
        conversations[row.peer]?.add(row.id, row.order.number)
      }
    }

    /// Removes a row whose fate is final from the tables.
    private mutating func remove(_ id: RowID) {
      guard let entry = entries.removeValue(forKey: id) else { return }
      byOriginID[entry.row.originID] = nil
      queuedByteCount -= entry.row.content?.byteCount ?? 0
      underWay.remove(id)
      suspects.remove(id)
      deadlines[id] = nil
      if entry.stage == .queued { queue.removeAll { $0 == id } }
      if conversations[entry.row.peer]?.rows[entry.row.order.number] == id {
        conversations[entry.row.peer]?.rows[entry.row.order.number] = nil
      }
    }

    private mutating func setDeadline(_ id: RowID, _ due: Instant) {
      deadlines[id] = due
      schedule(due)
    }

    private mutating func makeStream() -> OrderStreamID {
      OrderStreamID(high: random.next(), low: random.next())
    }

    mutating func send(
      _ ticket: UInt64, _ peer: String, _ originID: String, _ content: MessageContent,
      _ patience: TimeSpan?, _ now: Instant, _ commit: inout MessageCommit
    ) {
      // A driver that repeats a request after a failure gets its row.
      if let row = byOriginID[originID] {
        commit.then.append(.accepted(ticket: ticket, row))
        return
      }
      // Not the conversation itself: its tables would be copied with the next change.
      let known = conversations[peer]?.stream
      var stream =
        known
        ?? OutgoingStream(
          peer: peer, stream: makeStream(),
          peerHasOrder: streams.keys.contains { $0.sender == peer })
      guard entries.count < limits.outgoingCountMax,
        queuedByteCount + content.byteCount <= limits.outgoingByteCountMax,
        stream.next <= OrderElement.numberMax
      else {
        commit.then.append(.refused(ticket: ticket))
        return
      }
      let order = OrderElement(stream: stream.stream, number: stream.next)
      stream.next += 1
      if known == nil {
        conversations[peer] = Conversation(stream: stream)
        receipts.admit(peer)
      } else {
        conversations[peer]?.stream = stream
      }
      lastOutgoing += 1
      let row = OutgoingRow(
        id: RowID(rawValue: lastOutgoing), peer: peer, originID: originID, order: order,
        content: content, deadline: patience.map { wall(now) + $0.nanoseconds / 1_000_000 },
        date: wall(now))
      add(OutboxEntry(row: row, stage: .queued))
      queue.append(row.id)
      if let patience { setDeadline(row.id, now + patience) }
      commit.changes.append(.insertOutgoing(row))
      commit.changes.append(.setOutgoingStream(stream))
      commit.then.append(.accepted(ticket: ticket, row.id))
    }

    /// Sends rows that wait, as far as the window allows.
    mutating func sendQueued(_ now: Instant, _ commit: inout MessageCommit) {
      guard maySend, !queue.isEmpty else { return }
      var sentCount = 0
      let waiting = peersThatWait
      var kept: [RowID] = []
      while sentCount < queue.count {
        let window = suspects.isEmpty ? limits.windowCountMax : 1
        guard underWay.count < window else { break }
        let id = queue[sentCount]
        sentCount += 1
        guard let entry = entries[id], let content = entry.row.content else { continue }
        if waiting.contains(entry.row.peer) {
          kept.append(id)
          continue
        }
        entries[id]?.stage = .underWay
        underWay.insert(id)
        transmit(entry.row, content, now, &commit)
      }
      queue.replaceSubrange(..<sentCount, with: kept)
    }

    private mutating func transmit(
      _ row: OutgoingRow, _ content: MessageContent, _ now: Instant, _ commit: inout MessageCommit
    ) {
      entries[row.id]?.lastSent = now
      watchReceipts(of: row.peer, now)
      let kind = OutboundStanza.Kind.message(
        originID: row.originID, withSince(row.order, peer: row.peer), content)
      let isTracked = entries[row.id]?.stage == .underWay
      commit.then.append(
        .transmit(
          OutboundStanza(recipient: row.peer, kind: kind, row: isTracked ? row.id : nil)))
    }

    private func withSince(_ order: OrderElement, peer: String) -> OrderElement {
      var order = order
      if let conversation = conversations[peer], conversation.stream.stream == order.stream {
        order.since = conversation.since(order.number, distance: limits.sinceDistanceMax)
      }
      return order
    }

    // MARK: Fates

    /// The server has handled the stanzas of rows.
    mutating func handled(_ rows: [RowID], _ commit: inout MessageCommit) {
      for id in rows {
        if id.isReceipt {
          settleReceipt(id, &commit)
          continue
        }
        advance(id, to: .acknowledged, &commit)
        if entries[id]?.stage == .underWay { settle(id) }
      }
    }

    /// Whether the fate is final.
    private func isFinal(_ fate: MessageFate, peer: String) -> Bool {
      switch fate {
      case .stored: false
      case .acknowledged: !hasArchive && isConnected && !knowsOrder(peer)
      case .archived: !knowsOrder(peer)
      case .received, .displayed, .failed: true
      }
    }

    func knowsOrder(_ peer: String) -> Bool {
      conversations[peer]?.stream.peerHasOrder ?? false
    }

    /// Changes a row's fate, if the new one is better.
    mutating func advance(_ id: RowID, to fate: MessageFate, _ commit: inout MessageCommit) {
      guard let entry = entries[id], entry.row.fate.precedes(fate) else { return }
      commit.changes.append(.setFate(id, fate))
      commit.then.append(.fate(id, fate))
      if isFinal(fate, peer: entry.row.peer) { return remove(id) }
      entries[id]?.row.fate = fate
      // The server may have ended before the recipient's archive had it. It is sent again before later
      // ones, which would wait for it.
      if fate == .archived, entry.stage == .uncertain { return }
      settle(id)
    }

    /// The server has a message.
    private mutating func settle(_ id: RowID) {
      guard let entry = entries[id] else { return }
      if entry.stage == .queued { queue.removeAll { $0 == id } }
      underWay.remove(id)
      suspects.remove(id)
      queuedByteCount -= entry.row.content?.byteCount ?? 0
      entries[id]?.stage = .settled
      entries[id]?.row.content = nil
    }

    /// A message was not delivered. Its number is sent without it, so that the recipient doesn't wait.
    mutating func fail(_ id: RowID, _ reason: FailureReason, _ commit: inout MessageCommit) {
      guard let row = entries[id]?.row else { return }
      advance(id, to: .failed(reason), &commit)
      conversations[row.peer]?.voids.insert(row.order.number)
      sendVoids(&commit)
    }

    mutating func sendVoids(_ commit: inout MessageCommit) {
      guard maySend else { return }
      let peers = conversations.filter { !$0.value.voids.isEmpty }.keys
      for peer in peers.sorted() {
        let conversation = conversations[existing: peer]
        conversations[peer]?.voids = []
        guard conversation.stream.peerHasOrder else { continue }
        for number in conversation.voids.sorted() {
          let order = OrderElement(stream: conversation.stream.stream, number: number)
          transmitVoid(order, to: peer, &commit)
        }
      }
    }

    private func transmitVoid(
      _ order: OrderElement, to peer: String, _ commit: inout MessageCommit
    ) {
      commit.then.append(
        .transmit(
          OutboundStanza(recipient: peer, kind: .void(withSince(order, peer: peer)), row: nil)))
    }

    /// The server has closed the stream with an error. If one stanza was under way, it is the reason.
    mutating func blame(_ condition: String, _ commit: inout MessageCommit) {
      suspects.formUnion(underWay)
      guard underWay.count == 1, let id = underWay.first, let entry = entries[id] else { return }
      let count = entry.row.closingCount + 1
      entries[id]?.row.closingCount = count
      commit.changes.append(.setClosingCount(id, count))
      if count >= 2 { fail(id, .closesStream(condition), &commit) }
    }

    // MARK: Sessions that ended

    var hasUncertain: Bool { entries.values.contains { $0.stage == .uncertain } }

    /// The session of the rows under way has ended. The archive decides about them.
    mutating func suspendUnderWay(_ commit: inout MessageCommit) {
      for id in underWay.sorted() {
        entries[id]?.stage = .uncertain
        entries[id]?.row.position = 0
        commit.changes.append(.setPosition(id, 0))
      }
      underWay = []
    }

    /// Queues what the archive doesn't have, before everything that was never sent.
    mutating func requeue(isWhole: Bool, _ now: Instant, _ commit: inout MessageCommit) {
      let settled = entries.values.filter { $0.stage == .settled && $0.row.fate == .acknowledged }
      for entry in settled.sorted(by: { $0.row.id < $1.row.id }) {
        missed(entry, isWhole: isWhole, &commit)
      }
      let found = entries.values.filter { $0.stage == .uncertain }.map(\.row.id)
      guard !found.isEmpty else { return }
      for id in found { entries[id]?.stage = .queued }
      queue = (queue + found).sorted()
    }

    /// The archive doesn't have a message that the server has confirmed: it may have lost it in a
    /// crash. The archive is believed once, if it has had others of this account's messages, and if
    /// it was read a while after the message.
    private mutating func missed(
      _ entry: OutboxEntry, isWhole: Bool, _ commit: inout MessageCommit
    ) {
      let id = entry.row.id
      guard hasArchive else {
        if isFinal(.acknowledged, peer: entry.row.peer) { remove(id) }
        return
      }
      guard isWhole, let start = archiveStart, (entry.lastSent ?? .zero) + .seconds(10) <= start
      else { return }
      if hasSeenOwnInArchive, !entry.wasMissed {
        entries[id]?.wasMissed = true
        conversations[entry.row.peer]?.wanted.insert(entry.row.order.number)
        load(entry.row, &commit)
      } else if !knowsOrder(entry.row.peer) {
        remove(id)
      }
    }

    private func load(_ row: OutgoingRow, _ commit: inout MessageCommit) {
      commit.then.append(.load(row.order.stream, row.order.number...row.order.number))
    }

    /// Sends rows again that the store has read, and waits for the receipts of the others.
    mutating func sendAgain(_ rows: [OutgoingRow], _ now: Instant, _ commit: inout MessageCommit) {
      for row in rows {
        adopt(row, now)
        if let conversation = conversations[row.peer],
          conversation.stream.stream == row.order.stream,
          conversations[row.peer]?.wanted.remove(row.order.number) == nil
        {
          continue
        }
        guard maySend else { continue }
        if let entry = entries[row.id] {
          guard entry.stage == .settled else { continue }
          if let last = entry.lastSent, now - last < limits.resendPause { continue }
          entries[row.id]?.resendCount += 1
        }
        if case .failed = row.fate {
          transmitVoid(row.order, to: row.peer, &commit)
        } else if let content = row.content {
          transmit(row, content, now, &commit)
        }
      }
    }

    /// Takes a row into memory that ended at the server before its recipient had shown order.
    private mutating func adopt(_ row: OutgoingRow, _ now: Instant) {
      guard entries[row.id] == nil, row.fate == .acknowledged || row.fate == .archived,
        conversations[row.peer]?.stream.stream == row.order.stream, knowsOrder(row.peer),
        wall(now) - row.date < limits.adoptedAge
      else { return }
      var row = row
      row.content = nil
      add(OutboxEntry(row: row, stage: .settled))
      watchReceipts(of: row.peer, now)
    }

    // MARK: Streams of a store that was restored from a copy

    /// The archive has a message of a stream of this store that this store has not sent.
    mutating func foundForeign(_ order: OrderElement, peer: String) {
      guard conversations[peer]?.stream.stream == order.stream else { return }
      conversations[peer]?.isCopied = true
    }

    /// Goes on in new streams where the store is a copy. Messages that were not sent are numbered
    /// again; those that the archive has keep their numbers.
    mutating func renumberCopied(_ commit: inout MessageCommit) {
      for peer in conversations.keys.sorted() where conversations[existing: peer].isCopied {
        let old = conversations[existing: peer]
        var new = Conversation(
          stream: OutgoingStream(
            peer: peer, stream: makeStream(), peerHasOrder: old.stream.peerHasOrder))
        for (_, id) in old.rows.sorted(by: { $0.value < $1.value }) {
          guard let entry = entries[id], entry.row.fate == .stored else { continue }
          let order = OrderElement(stream: new.stream.stream, number: new.stream.next)
          new.rows[order.number] = id
          new.stream.next += 1
          entries[id]?.row.order = order
          commit.changes.append(.renumber(id, order))
        }
        conversations[peer] = new
        commit.changes.append(.setOutgoingStream(new.stream))
        commit.then.append(.report(.restoredCopy(peer: peer)))
      }
    }
  }
#endif
