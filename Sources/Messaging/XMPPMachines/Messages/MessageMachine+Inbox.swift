#if Messaging
  import Essentials
  import XMPPWire

  extension MessageMachine {
    mutating func loadIncoming(_ stored: StoredMessages, _ now: Instant) {
      for stream in stored.incomingStreams {
        var order = IncomingOrder()
        order.next = stream.next
        order.lastUse = stream.lastUse
        lastUse = max(lastUse, stream.lastUse)
        streams[StreamKey(sender: stream.sender, stream: stream.stream)] = order
      }
      loadProvisional(stored.provisional)
      receipts.load(stored.receipts, known: mayConfirm(stored.receipts))
      for row in stored.held.sorted(by: { $0.id < $1.id }) {
        heldCount += 1
        guard let order = row.order, row.kind == .message else {
          waitingForArchive.append(row.id)
          continue
        }
        let key = StreamKey(sender: row.peer, stream: order.stream)
        streams[key, default: IncomingOrder()].held[order.number] = IncomingOrder.Held(
          row: row.id, byteCount: row.content.byteCount, arrival: row.arrival)
        heldByteCount += row.content.byteCount
        watchHole(key, now)
      }
    }

    /// The keys by which the store is searched for a message before it comes to the machine.
    package static func keys(of message: InboundMessage, account: String) -> [SeenKey] {
      var keys: [SeenKey] = []
      switch message.kind {
      case .content, .void: if let id = message.archiveID { keys.append(.archive(id)) }
      // They may come twice.
      case .receipt, .displayed, .missing, .error, .other: break
      }
      guard case .content(let content) = message.kind else { return keys }
      let sender = message.sender ?? account
      let name = message.originID ?? message.id ?? ""
      if sender == account { keys.append(.sent(name)) }
      if !name.isEmpty {
        keys.append(.message(sender: sender, name: name, digest: content.digest))
      }
      if let order = message.order, order.isValid, sender != account {
        keys.append(.order(sender: sender, order.stream, order.number, name: name))
        keys.append(.number(sender: sender, order.stream, order.number))
      }
      return keys
    }

    /// The id of a row of the outbox that a message names; nil if it names none.
    package static func outgoingName(of message: InboundMessage, account: String) -> String? {
      switch message.kind {
      case .receipt(let id), .displayed(let id), .error(_, let id, _): id
      case .content where (message.sender ?? account) == account: message.originID ?? message.id
      case .content, .void, .missing, .other: nil
      }
    }

    /// Whether the store needn't be searched for a message before it comes to the machine, as for a receipt of a row that is
    /// in memory: most receipts.
    package func knowsAll(about message: InboundMessage) -> Bool {
      switch message.kind {
      case .receipt(let name), .displayed(let name), .error(_, let name, _): byOriginID[name] != nil
      case .void: !message.isBlocked
      case .missing, .other: true
      case .content: false
      }
    }

    /// Handles a message stanza, or an entry of the archive.
    mutating func receive(
      _ item: LookedUp, entry: ArchiveMark?, _ now: Instant, _ commit: inout MessageCommit
    ) {
      var item = item
      if let entry { item.message.archiveID = entry.id }
      let message = item.message
      if case .carbon(let from) = message.wrapper, (from ?? account) != account {
        commit.then.append(.report(.forgedCarbon(from: from ?? "")))
        return
      }
      let sender = message.sender ?? account
      let isOwn = sender == account
      if message.isBlocked, passesOver(item, &commit) { return }
      switch message.kind {
      case .content(let content):
        if isOwn {
          receiveOwn(item, content, entry, now, &commit)
        } else {
          receive(item, content, from: sender, entry, now, &commit)
        }
      case .void:
        guard !isOwn, let order = message.order, order.isValid else { return }
        fill(order, sender, now, &commit)
      case .receipt(let name):
        if isOwn {
          receipts.id(of: name, to: message.recipient ?? account).map { settleReceipt($0, &commit) }
        } else {
          confirmed(name, .received, by: sender, message.order, item.lookup, now, &commit)
        }
      case .displayed(let name):
        if !isOwn { confirmed(name, .displayed, by: sender, nil, item.lookup, now, &commit) }
      case .missing(let stream, let range):
        if !isOwn, entry == nil { missing(stream, range, for: sender, now, &commit) }
      case .error(let condition, let name, let isTransient):
        bounced(name, condition, isTransient, from: sender, item.lookup, &commit)
      case .other: break
      }
    }

    /// Messages and requests of a blocked sender have no effect; its receipts for earlier messages and the server's
    /// errors have. The archive's entry doesn't come back when the sender is blocked no more.
    private mutating func passesOver(_ item: LookedUp, _ commit: inout MessageCommit) -> Bool {
      switch item.message.kind {
      case .content, .void:
        if let id = item.message.archiveID, !isKnown(.archive(id), item.lookup) {
          remember([.archive(id)], &commit)
        }
        return true
      case .missing: return true
      case .receipt, .displayed, .error, .other: return false
      }
    }

    // MARK: Rows

    mutating func makeRow(_ kind: IncomingRow.Kind, peer: String, date: WallTime) -> IncomingRow {
      lastIncoming += 1
      return IncomingRow(id: RowID(rawValue: lastIncoming), kind: kind, peer: peer, date: date)
    }

    func insert(_ row: IncomingRow, _ commit: inout MessageCommit) {
      commit.changes.append(.insertIncoming(row))
    }

    /// Hands a row to the app.
    mutating func release(
      _ row: RowID, _ arrival: IncomingRow.Arrival, _ commit: inout MessageCommit
    ) {
      lastSequence += 1
      commit.changes.append(.release(row, sequence: lastSequence, arrival))
      commit.then.append(.deliver(through: lastSequence))
    }

    func isKnown(_ key: SeenKey, _ lookup: StoreLookup) -> Bool {
      lookup.known.contains(key) || recentKeys.contains(key)
    }

    /// Remembers keys, in memory until their changes are on disk for sure.
    mutating func remember(_ keys: [SeenKey], _ commit: inout MessageCommit) {
      for key in keys where recentKeys.insert(key).inserted {
        recentKeyOrder.append(key)
        switch key {
        case .archive, .message, .room: commit.changes.append(.addKey(key))
        // The rows themselves have these.
        case .sent, .order, .number: break
        }
      }
      guard recentKeyOrder.count > 2 * limits.recentKeyCountMax else { return }
      let old = recentKeyOrder.prefix(limits.recentKeyCountMax)
      recentKeys.subtract(old)
      recentKeyOrder.removeFirst(old.count)
    }

    // MARK: Messages

    private mutating func receive(
      _ item: LookedUp, _ content: MessageContent, from sender: String, _ entry: ArchiveMark?,
      _ now: Instant, _ commit: inout MessageCommit
    ) {
      let message = item.message
      let name = message.originID ?? message.id ?? ""
      let order = message.order.flatMap { $0.isValid ? $0 : nil }
      if order != nil { showsOrder(sender, &commit) }
      let keys = Self.keys(of: message, account: account)
      let known = Set(keys.filter { isKnown($0, item.lookup) })
      let isEntryKnown = entry.map { known.contains(.archive($0.id)) } ?? false
      if isDuplicate(message, content, sender, name, known) {
        remember(keys.filter { !known.contains($0) }, &commit)
        confirmPushed(sender, name, content, order, &commit)
        // Its number is filled, too, if it came with another one before.
        if let order { fill(order, sender, now, &commit) }
        if !isEntryKnown { confirm(message, sender, order, &commit) }
        return
      }
      var row = makeRow(.message, peer: sender, date: message.date)
      row.originID = name
      row.order = order
      row.content = content
      let isHistory = entry != nil && historyEnd != nil
      if isHistory { row.arrival = .history }
      insert(row, &commit)
      let isRenumbered =
        order.map { known.contains(.number(sender: sender, $0.stream, $0.number)) } ?? false
      remember(keys, &commit)
      // Another device has confirmed history, if it was there. Only accounts that number their messages wait for it.
      if !isHistory || order != nil { confirm(message, sender, order, &commit) }
      if isRenumbered {
        commit.then.append(.report(.renumbered(from: sender)))
        release(row.id, .renumbered, &commit)
      } else if let order {
        place(row, order, now, &commit)
      } else {
        placeWithoutOrder(row, isFromArchive: entry != nil, now, &commit)
      }
    }

    private func isDuplicate(
      _ message: InboundMessage, _ content: MessageContent, _ sender: String, _ name: String,
      _ known: Set<SeenKey>
    ) -> Bool {
      if let id = message.archiveID, known.contains(.archive(id)) { return true }
      guard !name.isEmpty else { return false }
      if known.contains(.message(sender: sender, name: name, digest: content.digest)) {
        return true
      }
      guard let order = message.order else { return false }
      return known.contains(.order(sender: sender, order.stream, order.number, name: name))
    }

    /// A row without order goes to the app, after those that the archive has.
    private mutating func placeWithoutOrder(
      _ row: IncomingRow, isFromArchive: Bool, _ now: Instant, _ commit: inout MessageCommit
    ) {
      guard !isFromArchive else {
        let isLate = isArchiveBehind && row.arrival == .inOrder
        return release(row.id, isLate ? .late : row.arrival, &commit)
      }
      guard isCatchingUp else {
        if goesAhead { reportMissing(now, &commit) }
        return release(row.id, row.arrival, &commit)
      }
      waitingForArchive.append(row.id)
      if waitingSince == nil { waitingSince = now }
      heldCount += 1
      guard heldCount > limits.heldCountMax else { return }
      release(waitingForArchive.removeFirst(), .inOrder, &commit)
      heldCount -= 1
    }

    /// A message of this account: of this store, or of another device.
    private mutating func receiveOwn(
      _ item: LookedUp, _ content: MessageContent, _ entry: ArchiveMark?, _ now: Instant,
      _ commit: inout MessageCommit
    ) {
      let message = item.message
      let name = message.originID ?? message.id ?? ""
      let peer = message.recipient ?? account
      if let id = byOriginID[name] {
        hasSeenOwnInArchive = hasSeenOwnInArchive || entry != nil
        if entry != nil { advance(id, to: .archived, &commit) }
        if peer != account { return }
      } else if let row = item.lookup.outgoing, row.originID == name {
        hasSeenOwnInArchive = hasSeenOwnInArchive || entry != nil
        if entry != nil, row.fate.precedes(.archived) {
          commit.changes.append(.setFate(row.id, .archived))
          commit.then.append(.fate(row.id, .archived))
        }
        return
      } else if let order = message.order, order.isValid {
        foundForeign(order, peer: peer)
      }
      let keys = Self.keys(of: message, account: account)
      let known = Set(keys.filter { isKnown($0, item.lookup) })
      let isKnownEntry = message.archiveID.map { known.contains(.archive($0)) } ?? false
      let isKnownContent = known.contains(
        .message(sender: account, name: name, digest: content.digest))
      remember(keys.filter { !known.contains($0) }, &commit)
      if isKnownEntry || (!name.isEmpty && isKnownContent) { return }
      var row = makeRow(.sentElsewhere, peer: peer, date: message.date)
      row.originID = name
      row.order = message.order
      row.content = content
      if entry != nil, historyEnd != nil { row.arrival = .history }
      insert(row, &commit)
      placeWithoutOrder(row, isFromArchive: entry != nil, now, &commit)
    }
  }
#endif
