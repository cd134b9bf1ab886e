#if Messaging
  import Essentials

  /// What a room that doesn't answer holds up, and until when.
  extension Room {
    /// When live messages wait for the archive no longer, because it is silent or takes too long; nil if none wait.
    func waitingEnd(_ limits: RoomLimits) -> Instant? {
      guard phase == .catchingUp, let start = reader.startedAt else { return nil }
      return min(
        (reader.progressAt ?? start) + limits.archive.archiveSilence,
        start + limits.archive.archiveHold)
    }

    /// The room is used while its archive is read on. A row reports that earlier messages may be missing, if live ones have
    /// waited; they come as late ones.
    mutating func endWaiting(_ shared: inout RoomShared) {
      if !held.isEmpty, !reader.isNew, stored.historyEnd == nil {
        let since = reader.marks.last?.date ?? shared.wall
        shared.actions.append(.deliver(.archiveGap(jid, since: since, now: shared.wall)))
      }
      becomeReady(isWhole: false, &shared)
    }

    /// When the room's place among those that are being joined is free for another one; nil if it has none.
    func placeEnd(_ limits: RoomLimits) -> Instant? {
      switch phase {
      case .joining, .configuring, .discovering: awaited.map { $0.since + limits.placeTime }
      case .catchingUp: waitingEnd(limits)
      case .idle, .ready, .leaving, .waiting, .ended: nil
      }
    }
  }
#endif
