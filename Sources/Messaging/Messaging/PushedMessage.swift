#if Messaging
  internal import MessagingHost
  internal import Synchronization
  internal import XMPPMachines
  internal import XMPPWire

  /// A message as a remote notification of a push gateway has it.
  public struct PushedMessage: Hashable, Sendable {
    /// The id of the message, which its stanza has, too.
    public var id: String
    /// The sender's address, as the notification claims it.
    public var sender: String
    /// The address of the account that it is for.
    public var recipient: String
    /// The text; nil if it was too long for a notification, which only wakes then.
    public var body: String?

    /// Creates a message.
    public init(id: String, from sender: String, to recipient: String, body: String?) {
      self.id = id
      self.sender = sender
      self.recipient = recipient
      self.body = body
    }

    /// Reads the object `message` of a notification, as `application(_:didReceiveRemoteNotification:)` gets it; nil for
    /// another notification.
    public init?(userInfo: [AnyHashable: Any]) {
      guard let message = userInfo["message"] as? [AnyHashable: Any],
        let id = message["id"] as? String, let sender = message["from"] as? String,
        let recipient = message["to"] as? String
      else { return nil }
      self.init(id: id, from: sender, to: recipient, body: message["body"] as? String)
    }
  }

  /// The result of a remote notification.
  public enum PushResult: Hashable, Sendable {
    /// It is in the inbox at this place, and is provisional. An app may show a notification of its own.
    case new(row: Int64)
    /// The inbox had it already: nothing is to be shown.
    case known
    /// Its sender is blocked: nothing is to be shown.
    case blocked
    /// The notification has no text, or isn't for this account. The stream brings the message.
    case onlyWakes
    /// The store can't be read now. The message comes with the stream.
    case refused
  }

  extension MessagingAccount {
    typealias PushAcceptance = @Sendable (Result<PushResult, MessagingError>) -> Void

    /// Puts the message of a remote notification into the inbox, if it isn't there. Returns when it is on disk. The stream
    /// and the archive bring the same message later, or have brought it: the inbox has it once.
    ///
    /// It needs no connection, so that an app that was launched for the notification can show the message at once.
    public func receive(_ pushed: PushedMessage) async throws(MessagingError) -> PushResult {
      guard let body = pushed.body, !body.isEmpty, body.isXMLText, let sender = JID(pushed.sender),
        let recipient = JID(pushed.recipient), recipient.bare.description == address,
        // A claim about this account's own messages could hide one that another device sends.
        sender.bare.description != address,
        StanzaID(pushed.id) != nil, body.utf8.count <= Self.bodyByteCountMax
      else { return .onlyWakes }
      let content = AccountHost.PushedContent(
        id: pushed.id, from: sender, to: recipient, body: body)
      let result: Result<PushResult, MessagingError> = await withCheckedContinuation {
        continuation in
        let ticket: UInt64? = reports.shared.withLock { shared in
          guard !shared.isClosed, shared.storeProblem == nil else { return nil }
          shared.lastTicket += 1
          shared.pushTickets[shared.lastTicket] = { continuation.resume(returning: $0) }
          return shared.lastTicket
        }
        guard let ticket else { return continuation.resume(returning: .failure(.ended)) }
        host.take(pushed: content, ticket: ticket)
      }
      return try result.get()
    }

    /// Has the account's server wake this device by a push service when something waits and no connection takes it
    /// (XEP-0357), until ``disablePush(service:node:)``. A server may need it again for each session.
    ///
    /// - Parameters:
    ///   - service: The domain of an `ambit message gateway`.
    ///   - node: The app's device token, in hexadecimal digits.
    /// - Throws: ``MessagingError/refused(condition:text:)`` if the server can't do that.
    public func enablePush(service: String, node: String) async throws(MessagingError) {
      try await setPush(service, node, isEnabled: true)
    }

    /// Has the account's server wake this device no more.
    ///
    /// - Parameters:
    ///   - service: The domain of an `ambit message gateway`.
    ///   - node: The app's device token; nil for all devices of the account at this service.
    public func disablePush(service: String, node: String?) async throws(MessagingError) {
      try await setPush(service, node, isEnabled: false)
    }

    private func setPush(
      _ service: String, _ node: String?, isEnabled: Bool
    ) async throws(MessagingError) {
      guard let address = JID(typed: service) else { throw .invalidAddress(service) }
      if let node, !node.isXMLText { throw .invalidText }
      try await request(
        .setPush(PushRegistration(isEnabled: isEnabled, service: address, node: node)))
    }

    /// The places of provisional entries of the inbox that the stream or the archive confirms from now on.
    ///
    /// The entry has more from then on (``item(row:)``): its number, and its elements, such as a reply, a correction or a
    /// file. A notification has only the text.
    public func confirmations() -> Updates<Int64> { reports.confirmations.updates() }

    static func finishPush(_ ticket: UInt64, _ outcome: PushOutcome, _ reports: Reports) {
      let result: PushResult =
        switch outcome {
        case .new(let sequence): .new(row: sequence)
        case .known: .known
        case .blocked: .blocked
        case .refused: .refused
        }
      reports.shared.withLock { $0.pushTickets.removeValue(forKey: ticket) }?(.success(result))
    }
  }
#endif
