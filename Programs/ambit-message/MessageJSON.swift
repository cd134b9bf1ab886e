#if Messaging
  import AmbitCLI
  import Essentials
  import Foundation
  import JSONWire
  import Messaging

  /// Messages as objects; docs/messages.md lists the keys.
  enum MessageJSON {
    static func accepted(_ id: MessageID, to recipient: String, reference: String?) -> JSON {
      .object([
        "event": .string("accepted"), "id": .integer(id.rawValue), "to": .string(recipient),
        "reference": reference.map(JSON.string),
      ])
    }

    /// A message of the history.
    static func sent(_ message: SentMessage) -> JSON {
      .object([
        "event": .string("sent"), "id": .integer(message.id.rawValue),
        "to": .string(message.recipient), "body": .string(message.body),
        "attachments": message.attachments.isEmpty
          ? nil : .array(message.attachments.map(FileJSON.attachment)),
        "state": .string(event(of: message.state)),
        "time": .string(MessageText.time(message.time)),
      ])
    }

    static func change(_ change: MessageStateChange) -> JSON {
      var reason: String?
      if case .failed(let failure) = change.state { reason = MessageText.text(failure) }
      return .object([
        "event": .string(event(of: change.state)), "id": .integer(change.id.rawValue),
        "reason": reason.map(JSON.string),
      ])
    }

    private static func event(of state: MessageState) -> String {
      switch state {
      case .stored: "stored"
      case .acknowledged: "acked"
      case .archived: "archived"
      case .received: "receipt"
      case .displayed: "displayed"
      case .failed: "failed"
      }
    }

    static func item(_ item: InboxItem) -> JSON {
      let event: String
      var count: UInt64?
      switch item.kind {
      case .message: event = "received"
      case .sentElsewhere: event = "sent-elsewhere"
      case .gap(let missing):
        event = "gap"
        count = missing
      case .archiveGap: event = "gap"
      case .historyStart: event = "history-start"
      }
      return .object([
        "event": .string(event), "row": .integer(item.row), "peer": .string(item.peer),
        "nickname": item.nickname.map(JSON.string),
        "invitation": item.invitation.map(object),
        "number": item.number.map { .integer(Int64(clamping: $0)) },
        "body": item.body.isEmpty ? nil : .string(item.body),
        "elements": item.elements.isEmpty ? nil : .string(item.elements),
        "attachments": item.attachments.isEmpty
          ? nil : .array(item.attachments.map(FileJSON.attachment)),
        "revision": item.revision.map(object), "reply": item.repliedID.map(JSON.string),
        "origin": item.originID.isEmpty ? nil : .string(item.originID),
        "arrival": item.arrival == .inOrder ? nil : .string("\(item.arrival)"),
        "count": count.map { .integer(Int64(clamping: $0)) },
        "time": .string(MessageText.time(item.time)),
        "provisional": item.isProvisional ? .bool(true) : nil,
      ])
    }

    private static func object(_ revision: MessageRevision) -> JSON {
      switch revision {
      case .correction(let id, let text):
        .object(["kind": .string("correction"), "of": .string(id), "body": .string(text)])
      case .retraction(let id): .object(["kind": .string("retraction"), "of": .string(id)])
      case .reactions(let id, let reactions):
        .object([
          "kind": .string("reactions"), "of": .string(id),
          "reactions": .array(reactions.map(JSON.string)),
        ])
      }
    }

    /// A provisional entry of the inbox that the stream or the archive has confirmed, with what its notification lacked.
    static func confirmed(row: Int64, _ item: InboxItem?) -> JSON {
      .object([
        "event": .string("confirmed"), "confirms": .integer(row),
        "number": item?.number.map { .integer(Int64(clamping: $0)) },
        "elements": item.flatMap { $0.elements.isEmpty ? nil : .string($0.elements) },
        "attachments": item.flatMap {
          $0.attachments.isEmpty ? nil : .array($0.attachments.map(FileJSON.attachment))
        },
      ])
    }

    /// The server has taken a request about a push service.
    static func push(_ service: String, isEnabled: Bool) -> JSON {
      .object([
        "event": .string(isEnabled ? "push-enabled" : "push-disabled"), "to": .string(service),
      ])
    }

    /// What became of the message of a remote notification.
    static func pushed(_ message: PushedMessage, _ result: PushResult) -> JSON {
      let word =
        switch result {
        case .new: "new"
        case .known: "known"
        case .blocked: "blocked"
        case .onlyWakes: "only-wakes"
        case .refused: "refused"
        }
      return .object([
        "event": .string("pushed"), "id": .string(message.id), "result": .string(word),
      ])
    }

    private static func object(_ invitation: RoomInvitation) -> JSON {
      .object([
        "room": .string(invitation.room), "inviter": invitation.inviter.map(JSON.string),
        "reason": invitation.reason.map(JSON.string),
        "password": invitation.password.map(JSON.string),
      ])
    }

    static func connection(_ state: ConnectionState) -> JSON? {
      switch state {
      case .connecting: nil
      case .stopped: .object(["event": .string("disconnected")])
      case .online(let address, let isResumed):
        .object([
          "event": .string("online"), "address": .string(address), "resumed": .bool(isResumed),
        ])
      case .offline(let reason, let isFinal):
        .object([
          "event": .string("offline"), "reason": .string(reason), "final": .bool(isFinal),
        ])
      }
    }

    static func statistics(_ statistics: MessagingStatistics) -> JSON {
      func number(_ value: Int) -> JSON { .integer(Int64(value)) }
      return .object([
        "event": .string("stats"), "accepted": number(statistics.accepted),
        "sessions": number(statistics.sessions), "resumed": number(statistics.resumedSessions),
        "forged": number(statistics.forged), "commits": number(statistics.commits),
        "failedCommits": number(statistics.failedCommits),
        "keptAside": number(statistics.keptAside),
      ])
    }

    static func problem(_ problem: AccountProblem) -> JSON {
      let kind: String
      var peer: String?
      var reason: String?
      switch problem {
      case .store(let text): (kind, reason) = ("store", text)
      case .keptAside(let text): (kind, reason) = ("kept-aside", text)
      case .notHeld(let text): (kind, reason) = ("not-held", text)
      case .abilitiesUnknown: kind = "abilities-unknown"
      case .archiveStalled: kind = "archive-stalled"
      case .receiptsDropped: kind = "receipts-dropped"
      case .heldTooMany(let address): (kind, peer) = ("held-too-many", address)
      case .renumbered(let address): (kind, peer) = ("renumbered", address)
      case .restoredCopy(let address): (kind, peer) = ("restored-copy", address)
      case .rosterUnavailable(let text): (kind, reason) = ("roster-unavailable", text)
      case .rosterTooLarge: kind = "roster-too-large"
      case .rosterIncomplete(let count):
        (kind, reason) = ("roster-incomplete", "contacts that can't be read: \(count)")
      case .tooManyResources: kind = "too-many-resources"
      case .tooManySubscriptionRequests: kind = "too-many-subscription-requests"
      case .blockListUnavailable(let text): (kind, reason) = ("block-list-unavailable", text)
      case .blockListTooLarge: kind = "block-list-too-large"
      case .blockListIncomplete(let count):
        (kind, reason) = ("block-list-incomplete", "addresses that can't be read: \(count)")
      case .room(let address, let problem):
        peer = address
        kind =
          switch problem {
          case .tooManyOccupants: "too-many-occupants"
          case .archiveStalled: "room-archive-stalled"
          case .flooded: "room-flooded"
          }
      case .bookmarksUnavailable(let text): (kind, reason) = ("bookmarks-unavailable", text)
      case .tooManyRooms: kind = "too-many-rooms"
      }
      return .object([
        "event": .string("problem"), "kind": .string(kind), "peer": peer.map(JSON.string),
        "reason": reason.map(JSON.string),
      ])
    }
  }

  /// Messages as lines for people.
  enum MessageText {
    static func text(_ state: MessageState) -> String {
      switch state {
      case .stored: "Stored."
      case .acknowledged: "At the server."
      case .archived: "In the server's archive."
      case .received: "Received."
      case .displayed: "Displayed."
      case .failed(let failure): "Failed: \(text(failure))."
      }
    }

    static func text(_ failure: MessageState.Failure) -> String {
      switch failure {
      case .deadline: "it was not sent in time"
      case .closesStream(let condition): "the server closes the connection on it: \(condition)"
      case .refused(let condition): "it was refused: \(condition)"
      }
    }

    static func text(_ item: InboxItem) -> String {
      let nickname = item.nickname.map { $0.isEmpty ? "" : "/\($0)" } ?? ""
      let head = "\(time(item.time)) \(item.peer)\(nickname)"
      switch item.kind {
      case .message: return "\(head): \(content(item))\(remark(item))"
      case .sentElsewhere: return "\(head) <- \(content(item))\(remark(item))"
      case .gap(let count): return Fit.safe("\(head): messages that are missing: \(count)")
      case .archiveGap: return Fit.safe("\(head): the server no longer has all earlier messages")
      case .historyStart: return Fit.safe("\(head): earlier messages are only at the server")
      }
    }

    /// A message of the history.
    static func text(_ message: SentMessage) -> String {
      let parts =
        (message.text.isEmpty ? [] : [message.text]) + message.attachments.map(FileText.text)
      let head = "\(time(message.time)) \(message.recipient) <- "
      return "\(head)\(parts.joined(separator: " ")) [\(message.id)] \(text(message.state))"
    }

    /// A text that a terminal may show, with its line breaks. Its further lines are indented, so that none of them looks like
    /// another message.
    static func lines(_ text: String) -> String {
      text.split(omittingEmptySubsequences: false) { $0.isNewline }
        .map { Fit.safe(String($0)) }.joined(separator: "\n    ")
    }

    /// A time of milliseconds since 1970.
    static func time(_ milliseconds: Int64) -> String {
      Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
        .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private static func content(_ item: InboxItem) -> String {
      if let invitation = item.invitation {
        return "invitation to \(invitation.room)\(invitation.reason.map { ": \($0)" } ?? "")"
      }
      switch item.revision {
      case .correction(_, let text): return "(corrects an earlier message) \(text)"
      case .retraction: return "(withdraws an earlier message)"
      case .reactions(_, let reactions):
        return "(reacts to an earlier message) \(reactions.joined(separator: " "))"
      case nil: break
      }
      let files = item.attachments.map(FileText.text)
      let parts = (item.text.isEmpty ? [] : [item.text]) + files
      return parts.isEmpty
        ? "(a message that this program can't show)" : parts.joined(separator: " ")
    }

    private static func remark(_ item: InboxItem) -> String {
      switch item.arrival {
      case .inOrder: ""
      case .late: " (late)"
      case .renumbered: " (number used twice)"
      case .history: " (history)"
      }
    }
  }
#endif
