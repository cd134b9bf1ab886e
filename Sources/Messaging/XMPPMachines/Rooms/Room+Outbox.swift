#if Messaging
  import Essentials
  import XMPPWire

  /// Messages to a room, until the room reflects them.
  extension Room {
    mutating func load(_ row: OutgoingRoomRow, _ shared: inout RoomShared) {
      guard outgoing[row.originID] == nil else { return }
      outgoing[row.originID] = Outgoing(row: row)
      if row.isSent { uncertain[row.originID] = .zero } else { queue.append(row.originID) }
      shared.outgoingCount += 1
      shared.outgoingByteCount += row.content.byteCount
    }

    mutating func send(_ row: OutgoingRoomRow, _ shared: inout RoomShared) {
      load(row, &shared)
      shared.change(.insertOutgoing(row))
      sendQueued(&shared)
    }

    /// What waits for its reflection may have arrived, or not.
    mutating func doubt(_ now: Instant) {
      for id in underWay.keys { uncertain[id] = now }
      underWay = [:]
    }

    /// Sends what waits, after the archive has decided about what may have arrived: it comes first.
    mutating func sendQueued(_ shared: inout RoomShared) {
      guard phase == .ready, shared.isOnline, !queue.isEmpty, doubtful.isEmpty,
        queuePausedUntil == nil
      else { return }
      if hasArchive, !uncertain.isEmpty, reader.isRunning || reader.waitsForRetry { return }
      // Later messages must not overtake returned ones.
      let window = returnCount > 0 ? 1 : shared.limits.windowCountMax
      let room = max(0, window - underWay.count)
      let next = Array(queue.prefix(room))
      queue.removeFirst(next.count)
      for id in next {
        guard let entry = outgoing[id] else { continue }
        guard let element = MessageWriter.roomMessage(entry.row) else {
          settle(id, .failed(.refused("bad-request")), &shared)
          continue
        }
        underWay[id] = shared.now
        shared.change(.setSent(entry.row.id, true))
        shared.send(element)
      }
    }

    /// The room has a message of this account.
    mutating func reflected(_ message: RoomMessage, _ shared: inout RoomShared) {
      guard outgoing[message.originID] != nil else { return }
      returnCount = 0
      settle(message.originID, .received, &shared)
      sendQueued(&shared)
    }

    private mutating func settle(
      _ id: String, _ fate: MessageFate, _ shared: inout RoomShared
    ) {
      guard let entry = outgoing.removeValue(forKey: id) else { return }
      let wasSent = underWay.removeValue(forKey: id) != nil
      doubtful.remove(id)
      if uncertain.removeValue(forKey: id) == nil, !wasSent { queue.removeAll { $0 == id } }
      shared.outgoingCount -= 1
      shared.outgoingByteCount -= entry.row.content.byteCount
      shared.change(.settle(entry.row.id, fate))
      shared.actions.append(.fate(entry.row.id, fate))
    }

    /// The room, or its server, has returned a message. Only a refusal of the message itself makes it fail.
    mutating func refused(_ stanza: MessageStanza, _ shared: inout RoomShared) {
      guard let id = stanza.id?.text, let entry = outgoing[id], let error = stanza.error,
        underWay[id] != nil
      else { return }
      switch error.condition {
      case .notAcceptable:
        // The sender is no occupant (XEP-0045, §7.4), unless a ping shows otherwise (XEP-0410).
        requeue([id], &shared)
        guard phase == .ready else { return }
        doubtful.insert(id)
        if doubtful.count == 1 { ping(&shared) }
      case .remoteServerNotFound, .recipientUnavailable:
        returnCount += 1
        requeue([id], &shared)
        end(.unreachable(error.condition), &shared)
      case .remoteServerTimeout:
        returnCount += 1
        end(.unreachable(error.condition), &shared)
      case .internalServerError:
        // The message may be the reason: others would wait for it for ever.
        outgoing[id]?.rejectionCount += 1
        guard entry.rejectionCount + 1 < shared.limits.rejectionCountMax else {
          return settle(id, .failed(.refused(error.condition.rawValue)), &shared)
        }
        returnCount += 1
        end(.unreachable(error.condition), &shared)
      default:
        guard error.kind == .wait else {
          return settle(id, .failed(.refused(error.condition.rawValue)), &shared)
        }
        requeue([id], &shared)
        guard queuePausedUntil == nil else { return }
        returnCount += 1
        queuePausedUntil = shared.now + returnPause(shared.limits)
      }
    }

    /// The time before a message that was returned leaves again, which grows until the room has one.
    private func returnPause(_ limits: RoomLimits) -> TimeSpan {
      let step = Int64(1) << Int64(min(max(0, returnCount - 1), 10))
      return min(limits.firstPause * step, limits.longestPause)
    }

    /// The room has told whether this account is an occupant, after it has returned messages as those of a stranger.
    mutating func decideDoubtful(isOccupant: Bool, _ shared: inout RoomShared) {
      let ids = doubtful.sorted()
      doubtful = []
      guard !ids.isEmpty else { return }
      guard isOccupant else {
        returnCount += 1
        return
      }
      for id in ids {
        settle(id, .failed(.refused(StanzaError.Condition.notAcceptable.rawValue)), &shared)
      }
      sendQueued(&shared)
    }

    /// Queues messages that have not arrived, before all later ones.
    private mutating func requeue(_ ids: [String], _ shared: inout RoomShared) {
      for id in ids {
        guard let entry = outgoing[id] else { continue }
        underWay[id] = nil
        uncertain[id] = nil
        shared.change(.setSent(entry.row.id, false))
      }
      queue = (queue + ids).sorted {
        (outgoing[$0]?.row.id.rawValue ?? 0) < (outgoing[$1]?.row.id.rawValue ?? 0)
      }
    }

    /// The archive was read to its end. A room handles the stanzas of a sender in their order (RFC 6120, §10.1): a message
    /// from before the query that is not in the archive has not arrived.
    mutating func requeueUncertain(_ shared: inout RoomShared) {
      let missing = uncertain.filter { $0.value <= readingStart }
      guard !missing.isEmpty else { return }
      requeue(missing.keys.sorted(), &shared)
    }

    /// A room without an archive does not show whether it has a message.
    mutating func failUncertain(_ shared: inout RoomShared) {
      for id in uncertain.keys.sorted() {
        settle(id, .failed(.refused("unconfirmed")), &shared)
      }
    }

    /// Messages that wait fail, since the room is not joined again by itself.
    mutating func failQueued(_ reason: RoomEnd, _ shared: inout RoomShared) {
      let ids = queue
      queue = []
      for id in ids { settle(id, .failed(.refused(reason.condition)), &shared) }
    }

    /// All messages fail. A room reflects messages before it ends the stay: those that are under way have not arrived, but it is
    /// unknown of those of earlier stays.
    mutating func failAll(_ reason: RoomEnd, _ shared: inout RoomShared) {
      failQueued(reason, &shared)
      for id in underWay.keys.sorted() {
        settle(id, .failed(.refused(reason.condition)), &shared)
      }
      failUncertain(&shared)
    }

    /// Reflections have not come in time: the archive decides.
    mutating func missReflections(_ shared: inout RoomShared) {
      doubt(shared.now)
      if awaited == nil { ping(&shared) }
      guard hasArchive else {
        failUncertain(&shared)
        return sendQueued(&shared)
      }
      if !reader.isRunning { startReading(&shared) }
    }
  }

  extension MessageWriter {
    /// The stanza of a message to a room.
    static func roomMessage(_ row: OutgoingRoomRow) -> XMLElement? {
      guard let id = StanzaID(row.originID) else { return nil }
      var message = MessageStanza(
        .groupchat, id: id, to: row.room,
        payload: XMLFragment.elements(of: row.content.elements) + [OriginID(id).element])
      message.body = row.content.body
      return message.element
    }
  }
#endif
