#if Messaging
  import Essentials

  /// Messages that don't wait for the archive any longer, because it is silent or takes too long.
  extension MessageMachine {
    /// Whether messages are on disk that the app gets when the archive was read, or when waiting for it ends.
    package var holdsMessagesBack: Bool {
      !waitingForArchive.isEmpty || streams.values.contains { $0.next == nil && $0.hasHole }
    }

    /// When waiting for the archive, or for a session, ends; nil if nothing waits.
    var waitingEnd: Instant? {
      guard !goesAhead else { return nil }
      var end: Instant
      if isConnected {
        guard isCatchingUp, let start = archive.startedAt else { return nil }
        end = min(
          (archive.progressAt ?? start) + limits.archiveSilence, start + limits.archiveHold)
      } else {
        guard let since = earlySince ?? offlineSince else { return nil }
        end = since + limits.archiveSilence
      }
      // Each connection begins to read anew.
      if let waitingSince { end = min(end, waitingSince + limits.archiveHold) }
      return end
    }

    /// Without a connection, messages wait for the next one as long as for a silent archive.
    mutating func waitOffline(_ now: Instant) {
      offlineSince = holdsMessagesBack ? earlySince ?? offlineSince ?? now : nil
      earlySince = nil
      if offlineSince != nil, waitingSince == nil { waitingSince = now }
      if let due = waitingEnd { schedule(due) }
    }

    /// The archive has answered: what comes live waits for the rest, unless reading it takes too long.
    mutating func noteProgress(_ now: Instant) {
      guard let start = archive.startedAt, now < start + limits.archiveHold else { return }
      goesAhead = false
    }

    /// Ends the waiting. The archive is read on.
    mutating func endWaiting(_ now: Instant, _ commit: inout MessageCommit) {
      // The messages of the next connection wait for its archive.
      goesAhead = isConnected || earlySince != nil
      (earlySince, offlineSince) = (nil, nil)
      setBaseLines(now, &commit)
      releaseWaiting(isAhead: true, now, &commit)
      guard isConnected else { return }
      requeueOfPeersWithOrder()
      sendVoids(&commit)
      for key in streams.keys { watchHole(key, now) }
      for peer in conversations.keys { watchReceipts(of: peer, now) }
      commit.then.append(.caughtUp(isWhole: false))
    }

    /// Hands over the messages without order that have waited for the archive.
    mutating func releaseWaiting(isAhead: Bool, _ now: Instant, _ commit: inout MessageCommit) {
      let waiting = waitingForArchive
      waitingForArchive = []
      waitingSince = nil
      heldCount -= waiting.count
      for row in waiting {
        if isAhead { reportMissing(now, &commit) }
        release(row, .inOrder, &commit)
      }
    }

    /// A row reports that earlier messages may be missing, before the first message of a session that doesn't wait for them. A
    /// new store misses none: what its archive has is history.
    mutating func reportMissing(_ now: Instant, _ commit: inout MessageCommit) {
      guard !isGapReported, !archive.isNew, historyEnd == nil else { return }
      isGapReported = true
      setArchiveBehind(true, &commit)
      let since = archive.marks.last?.date ?? wall(now)
      let row = makeRow(.archiveGap(since: since), peer: account, date: wall(now))
      insert(row, &commit)
      release(row.id, .inOrder, &commit)
    }

    /// A later process must know it, too.
    mutating func setArchiveBehind(_ isBehind: Bool, _ commit: inout MessageCommit) {
      if !isBehind { isGapReported = false }
      guard isArchiveBehind != isBehind else { return }
      isArchiveBehind = isBehind
      commit.changes.append(.setArchiveBehind(isBehind))
    }

    /// Accounts that know order recognise a message that the server has already. Messages to others wait until the archive
    /// shows the fate of those before them.
    private mutating func requeueOfPeersWithOrder() {
      let found = entries.values.filter { $0.stage == .uncertain && knowsOrder($0.row.peer) }
      guard !found.isEmpty else { return }
      for entry in found { entries[entry.row.id]?.stage = .queued }
      queue = (queue + found.map(\.row.id)).sorted()
    }

    /// The accounts to which nothing is sent before the archive has shown the fate of earlier messages.
    var peersThatWait: Set<String> {
      guard needsArchive else { return [] }
      return Set(entries.values.lazy.filter { $0.stage == .uncertain }.map(\.row.peer))
    }
  }
#endif
