#if Messaging
  import Essentials

  /// What a room that doesn't answer holds up, and until when.
  extension Room {
    /// When live messages wait no longer: for an archive that is silent or takes too long, or for a session that reads it.
    /// Nil if none wait.
    func waitingEnd(_ shared: RoomShared) -> Instant? {
      let limits = shared.limits.archive
      var end: Instant
      if phase == .catchingUp, shared.isOnline {
        guard let start = reader.startedAt else { return nil }
        end = min((reader.progressAt ?? start) + limits.archiveSilence, start + limits.archiveHold)
      } else {
        guard !held.isEmpty, let idleSince else { return nil }
        end = idleSince + limits.archiveSilence
      }
      // Each session begins to read anew.
      if let heldSince { end = min(end, heldSince + limits.archiveHold) }
      return end
    }

    /// Messages wait, and no archive is read.
    mutating func waitIdle(_ now: Instant) {
      if !held.isEmpty, idleSince == nil { idleSince = now }
    }

    /// The room is used while its archive is read on, or what has come of it is handed over without a session. What the
    /// archive has from before it comes as late messages.
    mutating func endWaiting(_ shared: inout RoomShared) {
      if phase == .catchingUp, shared.isOnline {
        becomeReady(isWhole: false, &shared)
      } else {
        goesAhead = true
        releaseHeld(&shared)
        goesAhead = false
      }
    }

    /// A row reports that earlier messages may be missing, before the first message of a stay that doesn't wait for
    /// them.
    mutating func reportMissing(_ shared: inout RoomShared) {
      guard !isGapReported, !reader.isNew, stored.historyEnd == nil else { return }
      isGapReported = true
      setArchiveBehind(true, &shared)
      let since = reader.marks.last?.date ?? shared.wall
      shared.actions.append(.deliver(.archiveGap(jid, since: since, now: shared.wall)))
    }

    /// A later process must know it, too.
    mutating func setArchiveBehind(_ isBehind: Bool, _ shared: inout RoomShared) {
      if !isBehind { isGapReported = false }
      guard stored.isArchiveBehind != isBehind else { return }
      stored.isArchiveBehind = isBehind
      shared.change(.setArchiveBehind(jid, isBehind))
    }

    /// When the room's place among those that are being joined is free for another one; nil if it has none.
    func placeEnd(_ shared: RoomShared) -> Instant? {
      switch phase {
      case .joining, .configuring, .discovering: awaited.map { $0.since + shared.limits.placeTime }
      case .catchingUp: waitingEnd(shared)
      case .idle, .ready, .leaving, .waiting, .ended: nil
      }
    }
  }
#endif
