#if Messaging
  /// A message that was sent from here: the number of its row in the store.
  public struct MessageID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number of the row.
    public var rawValue: Int64

    /// Creates the id of a row.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The number of the row.
    public var description: String { String(rawValue) }
  }

  /// A message that is to be sent.
  public struct OutgoingMessage: Hashable, Sendable {
    /// The text.
    public var body: String
    /// The address of the recipient's account.
    public var recipient: String
    /// The time after which the message fails if the server doesn't have it; nil for never.
    public var deadline: Duration?

    /// Creates a message.
    public init(_ body: String, to recipient: String, deadline: Duration? = nil) {
      self.body = body
      self.recipient = recipient
      self.deadline = deadline
    }
  }

  /// The fate of a message that was sent from here.
  ///
  /// Fates only advance, with one exception: a receipt that arrives late replaces `failed`.
  public enum MessageState: Hashable, Sendable {
    /// It is on this machine's disk, and is sent when there is a connection.
    case stored
    /// The server has confirmed that it has the message in memory (XEP-0198). A crash of the server may still lose
    /// it; it is sent again then.
    case acknowledged
    /// It is in the account's archive at the server. The last state for recipients whose apps aren't known to
    /// confirm reliably.
    case archived
    /// The recipient's app has confirmed it (XEP-0184); of a room, the room has sent it to all its occupants.
    case received
    /// The recipient has displayed it (XEP-0333).
    case displayed
    /// It was not delivered, for this reason.
    case failed(Failure)

    /// The reason why a message was not delivered.
    public enum Failure: Hashable, Sendable {
      /// The deadline that the app had set has passed.
      case deadline
      /// The server has closed the connection twice because of this message; its condition.
      case closesStream(String)
      /// The server, or the recipient's, has refused it; its condition.
      case refused(String)
    }
  }

  /// A change of the fate of a message that was sent from here.
  public struct MessageStateChange: Hashable, Sendable {
    /// The message.
    public var id: MessageID
    /// Its new state.
    public var state: MessageState
  }

  /// An entry of the inbox. Each is handed over once for each acknowledgement, in the order of its numbers.
  public struct InboxItem: Hashable, Sendable {
    /// What an entry is.
    public enum Kind: Hashable, Sendable {
      /// A message of the peer.
      case message
      /// A message to the peer that another device of this account has sent. In a room, each message of this account, at
      /// its place in the room's order.
      case sentElsewhere
      /// `count` messages of the peer are missing here, and did not arrive in time.
      case gap(count: UInt64)
      /// The server's archive no longer continues where it was read last: messages since then may be missing.
      case archiveGap
      /// The server's archive has earlier messages, which were left out when the store was new.
      case historyStart
    }

    /// How a message is related to those before it.
    public enum Arrival: Hashable, Sendable {
      /// After the message before it.
      case inOrder
      /// After a gap for it was reported, or from before the first message of its sender's installation.
      case late
      /// Another message had the same number: the sender's store was restored from a copy.
      case renumbered
      /// From the server's archive, from before this store existed. Another device may have shown it.
      case history
    }

    /// The place in the inbox, which is acknowledged.
    public var row: Int64
    /// What the entry is.
    public var kind: Kind
    /// The address of the peer's account.
    public var peer: String
    /// The text; empty if the message has none that this app can show.
    public var body: String
    /// The message's other elements as XML, as they came: unknown and encrypted content.
    public var elements: String
    /// The id that the sender gave the message; empty without one.
    public var originID: String
    /// The sender's nickname, empty for the room itself; nil for messages that are not of a room.
    public var nickname: String?
    /// The message's number among those of its sender's installation to this account; nil from apps without numbers.
    public var number: UInt64?
    /// How the message is related to those before it.
    public var arrival: Arrival
    /// Milliseconds since 1970 when the server got it, by the server's clock.
    public var time: Int64
    /// Whether only a remote notification has brought it: its sender and text are what the notification claims. It is
    /// confirmed when the stream or the archive brings the message (``MessagingAccount/confirmations()``).
    public var isProvisional = false
  }

  /// The accounts that get receipts (XEP-0184) for their messages. A receipt shows its sender that the account is in
  /// use.
  public enum ReceiptPolicy: Hashable, Sendable {
    /// Those to which a message was sent from here. Receipts for earlier messages of theirs follow then.
    case knownPeers
    /// All. Only with it are messages of accounts that number them repeated until they have arrived, if this account never
    /// writes to them.
    case everyone
  }

  /// Something that hinders an account, beside its connection.
  public enum AccountProblem: Hashable, Sendable {
    /// The store can't be read or written at this moment, for this reason. Nothing is received, and `send` throws; it is
    /// tried again.
    case store(String)
    /// A message or another change can't be stored, for this reason, whenever it is tried. It is kept aside in the table
    /// `aside` of the store, and the rest goes on.
    case keptAside(String)
    /// The system doesn't hold the connection while the app is suspended, for this reason. It ends with the process.
    case notHeld(String)
    /// The server has not told in time what the account can do. It is used as one with an archive.
    case abilitiesUnknown
    /// The server's archive does not let itself be read to its end.
    case archiveStalled
    /// More receipts wait than are kept: those for the oldest messages are not sent.
    case receiptsDropped
    /// Too many messages of the peer wait for earlier ones; gaps are reported early.
    case heldTooMany(peer: String)
    /// The peer has used a number twice: its store was restored from a copy.
    case renumbered(peer: String)
    /// This store was restored from a copy. The conversation goes on with new numbers.
    case restoredCopy(peer: String)
    /// The server has not given the roster, for this reason. The last one is used.
    case rosterUnavailable(String)
    /// The server's roster has more contacts than are kept, or is longer than is read. The last one is used.
    case rosterTooLarge
    /// Contacts of the roster were left out or cut, because they can't be read.
    case rosterIncomplete(count: Int)
    /// A contact has more resources than are kept.
    case tooManyResources
    /// More requests for subscriptions have come than are kept. The server repeats them in the next session.
    case tooManySubscriptionRequests
    /// The server has not given the list of blocked addresses, for this reason. The last one is used.
    case blockListUnavailable(String)
    /// The server's list of blocked addresses is longer than is kept, or than is read. The last one is used.
    case blockListTooLarge
    /// Blocked addresses were left out, because they can't be read.
    case blockListIncomplete(count: Int)
    /// Something hinders the use of the room with this address.
    case room(address: String, RoomProblem)
    /// The server has not given or kept a bookmark of a room, for this reason.
    case bookmarksUnavailable(String)
    /// More rooms are joined than are kept.
    case tooManyRooms
  }

  /// How far the server's archive was read.
  public struct CatchUp: Hashable, Sendable {
    /// Whether it was read to its end. Otherwise the rest is read later, or the server has no archive.
    public var isWhole: Bool
  }

  /// The connection of an account with its server.
  public enum ConnectionState: Hashable, Sendable {
    /// It isn't wanted.
    case stopped
    /// It is being established.
    case connecting
    /// Messages are sent and received as they come.
    case online(address: String, isResumed: Bool)
    /// It failed or ended for this reason, and is established again after a pause unless `isFinal`.
    case offline(reason: String, isFinal: Bool)
  }

  /// A conversation with a peer.
  public struct Conversation: Hashable, Sendable {
    /// The address of the peer's account.
    public var peer: String
  }

  /// The counts of an account since it was opened.
  public struct MessagingStatistics: Hashable, Sendable {
    /// Messages that were stored to be sent.
    public var accepted = 0
    /// Connections that became usable.
    public var sessions = 0
    /// Those of them that resumed a session.
    public var resumedSessions = 0
    /// Carbons and receipts that were ignored because another sender forged them.
    public var forged = 0
    /// Changes that the store could not take, and keeps aside.
    public var keptAside = 0
    /// Transactions of the store.
    public var commits = 0
    /// Attempts to write a transaction that failed, for which there was another one.
    public var failedCommits = 0
  }

  /// Why an account can't be opened, or refuses a request.
  public enum MessagingError: Error, Hashable, Sendable {
    /// The text isn't the address of an account.
    case invalidAddress(String)
    /// Another process uses the store, or another object of the process with this number.
    case storeInUse(processID: Int32?)
    /// The store can't be read or written.
    case store(String)
    /// More messages wait than the outbox takes.
    case outboxFull
    /// The message is larger than servers take.
    case tooLarge(byteCount: Int, byteCountMax: Int)
    /// A file can't be sent, for this reason.
    case file(path: String, reason: String)
    /// The text has characters that XML doesn't have.
    case invalidText
    /// The account isn't connected, and the request needs its server.
    case offline
    /// The server has not answered in time, or the session has ended before: the request may have had its effect.
    case noAnswer
    /// The server has refused the request, with this condition of RFC 6120 and perhaps words of its own.
    case refused(condition: String, text: String?)
    /// The server can't do it.
    case unsupported
    /// Too many requests wait for the server's answers.
    case tooManyRequests
    /// The account can't be in the room, for this reason.
    case room(RoomEnd)
    /// The account isn't in the room.
    case notInRoom
    /// The account has ended.
    case ended
  }

  extension MessagingError: CustomStringConvertible {
    /// One sentence without a full stop.
    public var description: String {
      switch self {
      case .invalidAddress(let text):
        "\"\(text)\" is no address of an account, such as ann@chat.example"
      case .storeInUse(let processID):
        "another process\(processID.map { " (\($0))" } ?? "") uses the account's messages"
      case .store(let reason): reason
      case .outboxFull: "too many messages wait to be sent"
      case .tooLarge(let count, let most): "the message has \(count) bytes; \(most) are the most"
      case .file(let path, let reason): "\(path) can't be sent: \(reason)"
      case .invalidText: "the text has control characters, which messages can't have"
      case .offline: "the account isn't connected"
      case .noAnswer: "the server has not answered; the request may have had its effect"
      case .refused(let condition, let text):
        "the server refuses it: \(condition)\(text.map { " (\($0))" } ?? "")"
      case .unsupported: "the server can't do that"
      case .room(let end): end.description
      case .notInRoom: "the account isn't in the room"
      case .tooManyRequests: "too many requests wait for the server's answers"
      case .ended: "the account has ended"
      }
    }
  }
#endif
