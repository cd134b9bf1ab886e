#if Messaging
  import Essentials
  import XMPPWire

  /// Streams of senders: messages for the app, those that wait, holes and gaps.
  extension MessageMachine {
    private mutating func openStream(
      _ key: StreamKey, _ order: OrderElement, isCut: Bool = false,
      _ commit: inout MessageCommit
    ) {
      lastUse += 1
      guard streams[key] == nil else {
        streams[key]?.lastUse = lastUse
        return
      }
      var stream = IncomingOrder()
      stream.lastUse = lastUse
      if isCut {
        // The messages that were left out are not waited for.
        stream.next = order.number
      } else if let since = order.since, since >= 1, since <= order.number {
        let distance = min(order.number - since, limits.sinceDistanceMax)
        stream.next = order.number - distance
      } else if order.number == 1 {
        stream.next = 1
      } else if !isCatchingUp {
        stream.next = order.number
      }
      streams[key] = stream
      // The next process must not take what waits for the beginning.
      save(key, &commit)
      forgetOldStream(for: key, &commit)
    }

    /// A sender has few devices, and an account few peers. The stream that was used least recently makes place for a new
    /// one: of the sender, or else of an account to which the app has never written.
    private mutating func forgetOldStream(for new: StreamKey, _ commit: inout MessageCommit) {
      let others = streams.filter { $0.key != new }
      let own = others.filter { $0.key.sender == new.sender }
      if own.count >= limits.streamsPerSenderMax {
        forget(own.min { $0.value.lastUse < $1.value.lastUse }?.key, &commit)
      } else if others.count >= limits.streamCountMax {
        let oldest = others.min { a, b in
          let (isKnownA, isKnownB) = (isPeer(a.key.sender), isPeer(b.key.sender))
          return isKnownA == isKnownB ? a.value.lastUse < b.value.lastUse : isKnownB
        }
        forget(oldest?.key, &commit)
      }
    }

    /// What a machine does has an order that doesn't depend on the process.
    private static func inOrder(_ keys: some Sequence<StreamKey>) -> [StreamKey] {
      keys.sorted { ($0.sender, $0.stream) < ($1.sender, $1.stream) }
    }

    private func isPeer(_ address: String) -> Bool { conversations[address] != nil }

    private mutating func forget(_ key: StreamKey?, _ commit: inout MessageCommit) {
      guard let key else { return }
      while streams[existing: key].hasHole { skipHole(key, .zero, &commit) }
      streams[key] = nil
      commit.changes.append(.forgetIncomingStream(sender: key.sender, key.stream))
    }

    /// What waits in the streams of an address goes to the app, and the next message is the first of its stream: those
    /// that its blocking has kept away are not waited for.
    mutating func beginStreamsAnew(of jid: JID, _ commit: inout MessageCommit) {
      let address = jid.bare.description
      let keys = streams.keys.filter { key in
        key.sender == address
          || jid.local == nil && JID(key.sender)?.domain.utf8.elementsEqual(jid.domain.utf8) == true
      }
      for key in Self.inOrder(keys) {
        while streams[existing: key].hasHole {
          for held in streams[existing: key].skipHole().taken { release(held, &commit) }
        }
        streams[key] = nil
        commit.changes.append(.forgetIncomingStream(sender: key.sender, key.stream))
      }
    }

    private func save(_ key: StreamKey, _ commit: inout MessageCommit) {
      guard let stream = streams[key], let next = stream.next else { return }
      commit.changes.append(
        .setIncomingStream(
          IncomingStream(
            sender: key.sender, stream: key.stream, next: next, lastUse: stream.lastUse)))
    }

    /// Puts a new row at its place in its stream.
    mutating func place(
      _ row: IncomingRow, _ order: OrderElement, _ now: Instant, _ commit: inout MessageCommit
    ) {
      let key = StreamKey(sender: row.peer, stream: order.stream)
      let isHistory = row.arrival == .history
      openStream(key, order, isCut: isHistory && historyEnd?.isCut ?? false, &commit)
      switch streams[existing: key].place(order.number) {
      case .next:
        streams[existing: key].next = order.number + 1
        release(row.id, row.arrival, &commit)
        releaseContiguous(key, &commit)
        save(key, &commit)
      case .late: release(row.id, isHistory ? .history : .late, &commit)
      case .taken:
        commit.then.append(.report(.renumbered(from: row.peer)))
        release(row.id, .renumbered, &commit)
      case .held:
        streams[existing: key].held[order.number] = IncomingOrder.Held(
          row: row.id, byteCount: row.content.byteCount, arrival: row.arrival)
        heldCount += 1
        heldByteCount += row.content.byteCount
        boundHeld(key, now, &commit)
      }
      watchHole(key, now)
    }

    /// A number that has no message of its own.
    mutating func fill(
      _ order: OrderElement, _ sender: String, _ now: Instant, _ commit: inout MessageCommit
    ) {
      let key = StreamKey(sender: sender, stream: order.stream)
      if let next = streams[key]?.next, order.number < next { return }
      openStream(key, order, &commit)
      switch streams[existing: key].place(order.number) {
      case .late, .taken: break
      case .next:
        streams[existing: key].next = order.number + 1
        releaseContiguous(key, &commit)
        save(key, &commit)
      case .held:
        streams[existing: key].voids.insert(order.number)
        boundHeld(key, now, &commit)
      }
      watchHole(key, now)
    }

    private mutating func releaseContiguous(_ key: StreamKey, _ commit: inout MessageCommit) {
      for held in streams[existing: key].takeContiguous() { release(held, &commit) }
    }

    private mutating func release(_ held: IncomingOrder.Held, _ commit: inout MessageCommit) {
      heldCount -= 1
      heldByteCount -= held.byteCount
      release(held.row, held.arrival, &commit)
    }

    /// Gives up a hole: a row reports the gap, before the messages after it.
    private mutating func skipHole(
      _ key: StreamKey, _ now: Instant, _ commit: inout MessageCommit
    ) {
      let (missing, taken) = streams[existing: key].skipHole()
      if let missing {
        let row = makeRow(.gap(key.stream, missing), peer: key.sender, date: wall(now))
        insert(row, &commit)
        release(row.id, .inOrder, &commit)
      }
      for held in taken { release(held, &commit) }
      save(key, &commit)
    }

    private mutating func boundHeld(
      _ key: StreamKey, _ now: Instant, _ commit: inout MessageCommit
    ) {
      while streams[existing: key].waitingCount > limits.heldCountPerStreamMax
        || heldCount > limits.heldCountMax || heldByteCount > limits.heldByteCountMax
      {
        let isOwn = streams[existing: key].hasHole
        guard let full = isOwn ? key : fullestStreamWithHole else { return }
        commit.then.append(.report(.heldTooMany(from: full.sender)))
        skipHole(full, now, &commit)
        watchHole(full, now)
      }
    }

    private var fullestStreamWithHole: StreamKey? {
      streams.filter { $0.value.hasHole }.max { a, b in
        (a.value.waitingCount, a.value.lastUse, a.key.sender) < (
          b.value.waitingCount, b.value.lastUse, b.key.sender
        )
      }?.key
    }

    /// The archive was read: the first number of each stream that was seen is its first one.
    mutating func setBaseLines(_ now: Instant, _ commit: inout MessageCommit) {
      for key in Self.inOrder(streams.filter { $0.value.next == nil }.keys) {
        skipHole(key, now, &commit)
      }
    }

    // MARK: Holes

    /// Sets the times of a hole.
    mutating func watchHole(_ key: StreamKey, _ now: Instant) {
      guard var stream = streams[key], stream.hasHole else { return }
      let since = stream.holeSince ?? now
      stream.holeSince = since
      schedule(since + limits.holdBackMax)
      if isConnected, !isCatchingUp {
        let waits = stream.waitsSince ?? now
        stream.waitsSince = waits
        schedule(waits + limits.holdBack)
        schedule(requestTime(stream, waits))
      }
      streams[key] = stream
    }

    private func requestTime(_ stream: IncomingOrder, _ waits: Instant) -> Instant {
      if let last = stream.missingRequested { return last + limits.missingInterval }
      // A fast sender would reach the bound within the delay.
      return stream.waitingCount < limits.missingHeldCount ? waits + limits.missingDelay : waits
    }

    mutating func wakeStreams(_ now: Instant, _ commit: inout MessageCommit) {
      let holes = streams.filter { $0.value.hasHole }.keys
      for key in Self.inOrder(holes) {
        guard let stream = streams[key], stream.hasHole else { continue }
        let isOver =
          stream.holeSince.map { $0 + limits.holdBackMax <= now } ?? false
          || stream.waitsSince.map { $0 + limits.holdBack <= now } ?? false
        if isOver {
          skipHole(key, now, &commit)
        } else if let waits = stream.waitsSince, isConnected, let hole = stream.hole,
          requestTime(stream, waits) <= now
        {
          streams[existing: key].missingRequested = now
          let kind = OutboundStanza.Kind.missing(key.stream, hole)
          commit.then.append(
            .transmit(OutboundStanza(recipient: key.sender, kind: kind, row: nil)))
        }
        watchHole(key, now)
      }
    }
  }
#endif
