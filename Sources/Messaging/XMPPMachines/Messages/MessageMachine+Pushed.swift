#if Messaging
  import Essentials
  import XMPPWire

  /// A message that a remote notification has brought, before or after the stream and the archive bring it.
  package enum PushOutcome: Hashable, Sendable {
    /// It is in the inbox at this place, and is provisional.
    case new(sequence: Int64)
    /// The inbox had it.
    case known
    /// Its sender is blocked.
    case blocked
    /// It isn't in the inbox: it has no text, or the store can't be read.
    case refused
  }

  extension MessageMachine {
    /// A row that was made from a notification, until the stream or the archive brings its message.
    struct Provisional: Hashable, Sendable {
      var row: RowID
      var sequence: Int64
    }

    mutating func loadProvisional(_ rows: [IncomingRow]) {
      for row in rows.sorted(by: { $0.id < $1.id }).suffix(limits.provisionalCountMax) {
        provisional[Self.key(row.peer, row.originID, row.content)] = Provisional(
          row: row.id, sequence: row.sequence ?? 0)
      }
    }

    private static func key(
      _ sender: String, _ name: String, _ content: MessageContent
    ) -> SeenKey {
      .message(sender: sender, name: name, digest: content.digest)
    }

    /// The notification's claims are proven by nothing. Its key has the content, so that no other message can be taken
    /// for it.
    mutating func receivePushed(
      _ ticket: UInt64, _ item: LookedUp, _ commit: inout MessageCommit
    ) {
      let message = item.message
      var outcome = PushOutcome.refused
      defer { commit.then.append(.pushed(ticket: ticket, outcome)) }
      guard case .content(let content) = message.kind, let sender = message.sender,
        let name = message.name, !content.body.isEmpty
      else { return }
      if message.isBlocked {
        outcome = .blocked
        return
      }
      let key = Self.key(sender, name, content)
      if isKnown(key, item.lookup) {
        outcome = .known
        return
      }
      if provisional.count >= limits.provisionalCountMax { forgetOldestProvisional() }
      var row = makeRow(.message, peer: sender, date: message.date)
      row.originID = name
      row.content = content
      row.isProvisional = true
      insert(row, &commit)
      remember([key], &commit)
      release(row.id, .inOrder, &commit)
      provisional[key] = Provisional(row: row.id, sequence: lastSequence)
      outcome = .new(sequence: lastSequence)
    }

    /// Its row stays provisional, and no second one is made if its message comes after all.
    private mutating func forgetOldestProvisional() {
      let oldest = provisional.min { $0.value.sequence < $1.value.sequence }
      if let oldest { provisional[oldest.key] = nil }
    }

    /// The stream or the archive has brought a message that the inbox has from a notification.
    mutating func confirmPushed(
      _ sender: String, _ name: String, _ content: MessageContent, _ order: OrderElement?,
      _ commit: inout MessageCommit
    ) {
      guard !provisional.isEmpty,
        let found = provisional.removeValue(forKey: Self.key(sender, name, content))
      else { return }
      commit.changes.append(.confirmIncoming(found.row, elements: content.elements, order))
      commit.then.append(.confirmed(sequence: found.sequence))
    }
  }
#endif
