#if Messaging
  import Essentials
  import XMPPWire

  /// Receipts of recipients, and messages that are sent again without them.
  extension MessageMachine {
    /// The row that a receipt, marker or error names. The store has rows that are no longer in memory.
    private func row(_ name: String, _ lookup: StoreLookup) -> OutgoingRow? {
      if let id = byOriginID[name], let entry = entries[id] { return entry.row }
      return lookup.outgoing.flatMap { $0.originID == name ? $0 : nil }
    }

    /// A recipient confirms a message.
    mutating func confirmed(
      _ name: String, _ fate: MessageFate, by sender: String, _ order: OrderElement?,
      _ lookup: StoreLookup, _ now: Instant, _ commit: inout MessageCommit
    ) {
      guard let row = row(name, lookup) else { return }
      guard row.peer == sender else {
        commit.then.append(.report(.forgedReceipt(from: sender)))
        return
      }
      if entries[row.id] != nil {
        advance(row.id, to: fate, &commit)
      } else if row.fate.precedes(fate) {
        commit.changes.append(.setFate(row.id, fate))
        commit.then.append(.fate(row.id, fate))
      }
      guard let order, order.stream == row.order.stream, order.number == row.order.number else {
        return
      }
      confirmOrder(row, now, &commit)
    }

    /// Whether messages of the conversation with an account have no receipt, though the account has shown that it sends them.
    package func awaitsReceipts(of peer: String?) -> Bool {
      guard let conversation = peer.flatMap({ conversations[$0] }) else { return false }
      return conversation.stream.peerHasOrder && !conversation.rows.isEmpty
    }

    /// The recipient's account knows order, and has this message. Earlier ones without a receipt were
    /// lost, or their receipts were.
    private mutating func confirmOrder(
      _ row: OutgoingRow, _ now: Instant, _ commit: inout MessageCommit
    ) {
      guard var conversation = conversations[row.peer],
        conversation.stream.stream == row.order.stream
      else { return }
      let number = row.order.number
      if conversation.stream.confirmed < number {
        conversation.stream.confirmed = number
        commit.changes.append(.setOutgoingStream(conversation.stream))
      }
      conversation.resendStep = 0
      conversation.resendAt = nil
      conversation.resendBelow = nil
      conversations[row.peer] = conversation
      showsOrder(row.peer, &commit)
      if let again = sendUnconfirmed(of: row.peer, below: number, now, &commit) {
        conversations[row.peer]?.resendAt = again
        conversations[row.peer]?.resendBelow = number
      }
      watchReceipts(of: row.peer, now)
    }

    /// An account shows that it knows order. Messages that ended at the server, as for a plain peer, wait
    /// for receipts from now on.
    mutating func showsOrder(_ peer: String, _ commit: inout MessageCommit) {
      guard var stream = conversations[peer]?.stream, !stream.peerHasOrder else { return }
      stream.peerHasOrder = true
      conversations[peer]?.stream = stream
      commit.changes.append(.setOutgoingStream(stream))
      var last = max(stream.next, 1) - 1
      let least = last > limits.adoptedCountMax ? last - limits.adoptedCountMax : 0
      while last > least {
        let first = max(least + 1, last > limits.loadCountMax ? last - limits.loadCountMax + 1 : 1)
        commit.then.append(.load(stream.stream, first...last))
        last = first - 1
      }
    }

    /// Reads rows again that are at the server and have no receipt. Returns when to try those again that
    /// were sent a moment ago.
    private mutating func sendUnconfirmed(
      of peer: String, below number: UInt64, _ now: Instant, _ commit: inout MessageCommit
    ) -> Instant? {
      guard maySend, let candidates = conversations[peer]?.numbers(below: number) else {
        return nil
      }
      var earlier: [UInt64] = []
      var again: Instant?
      for candidate in candidates {
        guard let id = conversations[peer]?.rows[candidate], let entry = entries[id],
          entry.stage == .settled
        else { continue }
        // A repeated stanza may itself wait behind many others.
        let pause = limits.resendPause * (1 << Int64(min(entry.resendCount, 5)))
        if let last = entry.lastSent, now < last + pause {
          again = min(again ?? last + pause, last + pause)
        } else {
          earlier.append(candidate)
        }
      }
      if earlier.count > limits.resendCountMax { again = now + limits.resendPause }
      for candidate in earlier.sorted().prefix(limits.resendCountMax) {
        load(candidate...candidate, of: peer, &commit)
      }
      return again
    }

    private mutating func load(
      _ range: ClosedRange<UInt64>, of peer: String, _ commit: inout MessageCommit
    ) {
      guard let stream = conversations[peer]?.stream.stream else { return }
      conversations[peer]?.wanted.formUnion(range)
      commit.then.append(.load(stream, range))
    }

    /// Sets the time after which a conversation's messages without receipts are sent again.
    mutating func watchReceipts(of peer: String, _ now: Instant) {
      guard isConnected, let conversation = conversations[peer], conversation.stream.peerHasOrder,
        !conversation.rows.isEmpty
      else { return }
      let due = conversation.resendAt ?? now + resendDelay(conversation.resendStep)
      conversations[peer]?.resendAt = due
      schedule(due)
    }

    private func resendDelay(_ step: Int) -> TimeSpan {
      limits.resendDelays[safe: step] ?? limits.resendDelays.last ?? .seconds(86_400)
    }

    mutating func wakeOutbox(_ now: Instant, _ commit: inout MessageCommit) {
      for id in deadlines.filter({ $0.value <= now }).keys.sorted() { fail(id, .deadline, &commit) }
      for due in deadlines.values where due > now { schedule(due) }
      var duePeers: [String] = []
      for (peer, conversation) in conversations {
        guard let due = conversation.resendAt else { continue }
        if due > now { schedule(due) } else { duePeers.append(peer) }
      }
      for peer in duePeers.sorted() {
        let conversation = conversations[existing: peer]
        conversations[peer]?.resendAt = nil
        conversations[peer]?.resendBelow = nil
        guard isConnected else { continue }
        if !conversation.rows.isEmpty {
          if conversation.resendBelow == nil { conversations[peer]?.resendStep += 1 }
          _ = sendUnconfirmed(of: peer, below: conversation.resendBelow ?? .max, now, &commit)
        }
        watchReceipts(of: peer, now)
      }
    }

    /// A recipient requests numbers of a stream.
    mutating func missing(
      _ stream: OrderStreamID, _ range: ClosedRange<UInt64>, for peer: String, _ now: Instant,
      _ commit: inout MessageCommit
    ) {
      guard maySend, let conversation = conversations[peer], conversation.stream.stream == stream,
        range.lowerBound >= 1, range.lowerBound < conversation.stream.next
      else { return }
      if let last = conversation.lastMissing, now - last < limits.resendPause { return }
      conversations[peer]?.lastMissing = now
      showsOrder(peer, &commit)
      let last = min(
        range.upperBound, conversation.stream.next - 1,
        range.lowerBound + limits.loadCountMax - 1)
      load(range.lowerBound...last, of: peer, &commit)
    }

    /// A message came back with an error, from the recipient, its server or the own server.
    mutating func bounced(
      _ name: String, _ condition: String, _ isTransient: Bool, from sender: String,
      _ lookup: StoreLookup, _ commit: inout MessageCommit
    ) {
      guard let row = row(name, lookup), entries[row.id] != nil else { return }
      let isTrusted =
        sender == row.peer || sender == account || sender == Self.domain(of: row.peer)
        || sender == Self.domain(of: account)
      guard isTrusted else {
        commit.then.append(.report(.forgedReceipt(from: sender)))
        return
      }
      // It is sent again by the times of messages without receipts. Other accounts could get it twice.
      if isTransient, knowsOrder(row.peer) { return }
      fail(row.id, .refused(condition), &commit)
    }

    private static func domain(of jid: String) -> Substring {
      jid.firstIndex(of: "@").map { jid[jid.index(after: $0)...] } ?? jid[...]
    }
  }
#endif
