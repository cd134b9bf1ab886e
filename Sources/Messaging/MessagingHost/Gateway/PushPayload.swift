#if Messaging
  internal import AppSessions
  internal import JSONWire
  internal import XMPPMachines
  internal import XMPPWire

  /// The payloads of a gateway's notifications: those of Apple's push service, with the object `message` beside `aps`.
  enum PushPayload {
    /// The bytes of an alert's text where the whole text doesn't fit beside the message.
    private static let excerptByteCount = 512

    /// The notification for the manager of apps.
    static func push(_ push: GatewayPush) -> AppPush {
      let target: AppPush.Target =
        switch push.target {
        case .app(let name): .app(name)
        case .token(let token): .token(token)
        }
      switch push.content {
      case .wake:
        var wake = AppPush(
          to: target, payload: text(aps: silent), identifier: RandomText.id(at: WallClock.now))
        wake.kind = .background
        wake.collapseIdentifier = "xmpp"
        return wake
      case .message(_, let message):
        var new = AppPush(to: target, payload: payload(message), identifier: message.id)
        new.kind = message.isSilent ? .background : .alert
        // A manager that has answered too late gets it again, and shows it once.
        new.collapseIdentifier = message.collapseIdentifier ?? message.id
        new.expiration = Double(message.expiration) / 1_000
        return new
      }
    }

    /// The text of the alert is cut, then the message's body is left out, until the payload has 4,096 bytes at most. A
    /// message without a body only wakes: the stream or the archive brings it.
    static func payload(_ message: GatewayMessage) -> String {
      let excerpt = message.body.prefix(byteCountMax: excerptByteCount)
      let short = excerpt.utf8.count < message.body.utf8.count ? excerpt + "…" : excerpt
      for (alert, body) in [(message.body, message.body), (short, message.body)] {
        let whole = text(aps: aps(message, alert), message, body: body)
        if whole.utf8.count <= AppNotification.remoteByteCountMax { return whole }
      }
      return text(aps: aps(message, short), message, body: nil)
    }

    private static let silent = JSON.object(["content-available": .integer(1)])

    private static func aps(_ message: GatewayMessage, _ text: String) -> JSON {
      guard !message.isSilent else { return silent }
      let title = message.title.isEmpty ? nil : JSON.string(message.title)
      return .object([
        "alert": .object(["title": title, "body": .string(text)]),
        "content-available": .integer(1),
      ])
    }

    private static func text(aps: JSON) -> String { JSON.object(["aps": aps]).line }

    private static func text(aps: JSON, _ message: GatewayMessage, body: String?) -> String {
      JSON.object([
        "aps": aps,
        "message": .object([
          "id": .string(message.id), "from": .string(message.sender.bare.description),
          "to": .string(message.recipient.description), "body": body.map(JSON.string),
        ]),
      ]).line
    }
  }

  extension String {
    fileprivate func prefix(byteCountMax: Int) -> String {
      var end = startIndex
      for index in indices {
        let next = self.index(after: index)
        guard self[..<next].utf8.count <= byteCountMax else { break }
        end = next
      }
      return String(self[..<end])
    }
  }
#endif
