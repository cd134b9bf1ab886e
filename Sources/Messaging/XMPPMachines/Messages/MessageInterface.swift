#if Messaging
  package import Essentials
  package import XMPPWire

  /// A message stanza that came, live or from the archive, as the stream's reader has checked it.
  package struct InboundMessage: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
      case content(MessageContent)
      /// A number of a stream whose message is not sent any more.
      case void
      /// A receipt (XEP-0184) for the message with this id.
      case receipt(String)
      /// A marker (XEP-0333): the message with this id was displayed.
      case displayed(String)
      /// The recipient misses these numbers of a stream of this store.
      case missing(OrderStreamID, ClosedRange<UInt64>)
      /// An error stanza with its condition, for the message with this id. A transient one (type `wait`) may be over when the
      /// message is sent again.
      case error(String, of: String, isTransient: Bool = false)
      /// Typing, for example. It only counts as a stanza.
      case other
    }

    /// The wrapping in which it came.
    package enum Wrapper: Hashable, Sendable {
      case none
      /// A carbon (XEP-0280); the address is the `from` of the outer stanza, nil if it has none.
      case carbon(from: String?)
    }

    /// The sender's bare JID. Nil if the stanza has none: it comes from the own account.
    package var sender: String?
    /// The recipient's bare JID.
    package var recipient: String?
    /// The id of the stanza; nil if it has none.
    package var id: String?
    /// XEP-0359; nil if it has none.
    package var originID: String?
    /// The id in the own archive. The reader takes it only if `by` is the own bare JID, and the
    /// account announces `urn:xmpp:sid:0`.
    package var archiveID: String?
    package var order: OrderElement?
    package var wantsReceipt: Bool
    package var kind: Kind
    package var wrapper: Wrapper
    /// When the server got it, if that is known, otherwise when it came.
    package var date: WallTime
    /// Whether its sender is blocked, or was when the archive got it.
    package var isBlocked = false
    /// Whether its app shows what its user does (XEP-0085), and may be told that it was displayed (XEP-0333).
    package var showsChatStates = false
    package var isMarkable = false

    package init(
      sender: String?, recipient: String?, id: String?, originID: String? = nil,
      archiveID: String? = nil, order: OrderElement? = nil, wantsReceipt: Bool = false, kind: Kind,
      wrapper: Wrapper = .none, date: WallTime
    ) {
      self.sender = sender
      self.recipient = recipient
      self.id = id
      self.originID = originID
      self.archiveID = archiveID
      self.order = order
      self.wantsReceipt = wantsReceipt
      self.kind = kind
      self.wrapper = wrapper
      self.date = date
    }

    /// The id by which senders and receipts name it: the stanza's, or else the origin-id.
    package var name: String? { id ?? originID }
  }

  /// What the store has about a message. The driver reads it before it gives the message to the
  /// machine (``MessageMachine/keys(of:account:)``).
  package struct StoreLookup: Hashable, Sendable {
    /// Those of the message's keys that the store has.
    package var known: Set<SeenKey>
    /// The row of the outbox with the id that the message names; nil if the store has no such row.
    package var outgoing: OutgoingRow?

    package init(known: Set<SeenKey> = [], outgoing: OutgoingRow? = nil) {
      self.known = known
      self.outgoing = outgoing
    }
  }

  /// A message with what the store has about it.
  package struct LookedUp: Hashable, Sendable {
    package var message: InboundMessage
    package var lookup: StoreLookup
    package init(_ message: InboundMessage, _ lookup: StoreLookup = StoreLookup()) {
      self.message = message
      self.lookup = lookup
    }
  }

  /// A page of the own archive (XEP-0313).
  package struct ArchivePage: Hashable, Sendable {
    /// An entry. Its message is nil if it has none that can be read.
    package struct Entry: Hashable, Sendable {
      package var mark: ArchiveMark
      package var message: LookedUp?
      package init(mark: ArchiveMark, message: LookedUp?) {
        self.mark = mark
        self.message = message
      }
    }
    package var query: UInt64
    package var entries: [Entry]
    /// The `complete` attribute: nothing is behind this page.
    package var isComplete: Bool

    package init(query: UInt64, entries: [Entry], isComplete: Bool) {
      self.query = query
      self.entries = entries
      self.isComplete = isComplete
    }
  }

  /// A question to the own archive.
  package struct ArchiveRequest: Hashable, Sendable {
    package enum Start: Hashable, Sendable {
      case beginning
      /// After the entry with this id.
      case after(String)
      case date(WallTime)
      /// The last page.
      case last
      /// The page before the entry with this id.
      case before(String)
    }
    package var id: UInt64
    package var start: Start
    package var countMax: Int
  }

  /// A stanza that the machine wants to be sent. The reader's counterpart writes it.
  package struct OutboundStanza: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
      /// A message of the outbox, with the request for a receipt, the origin-id and `<store/>`.
      case message(originID: String, OrderElement, MessageContent)
      /// A number whose message is not sent any more, with `<store/>`.
      case void(OrderElement)
      /// A receipt for the message with this id, with `<store/>` and, if it had one, its order
      /// element, which shows that this account knows it.
      case receipt(String, OrderElement?)
      /// A request for numbers of a stream of the recipient, with `<no-store/>`.
      case missing(OrderStreamID, ClosedRange<UInt64>)
    }
    /// The bare JID.
    package var recipient: String
    package var kind: Kind
    /// The message or receipt whose position the driver stores before the bytes leave; nil if it has none.
    package var row: RowID?
  }

  /// Something for the machine.
  package enum MessageEvent: Sendable {
    /// Stanzas can be sent. Before this, the driver reports what the server has handled of an earlier
    /// session (``handled(_:)``).
    ///
    /// - isResumed: Whether stream management has resumed the session; the stream then sends again
    ///   by itself what the server has not handled.
    /// - hasArchive: Whether the account has an archive of version 2.
    case connected(isResumed: Bool, hasArchive: Bool, wall: WallTime)
    /// Nothing can be sent any more.
    ///
    /// - streamError: The condition of the stream error with which the server has closed; nil if
    ///   there was none, or if it is not about a stanza (`conflict`, `system-shutdown`, …).
    case disconnected(streamError: String?)
    /// The app sends a message.
    ///
    /// - ticket: The driver's number for the answer.
    /// - patience: After this time the message fails; nil for never.
    case send(
      ticket: UInt64, peer: String, originID: String, MessageContent, patience: TimeSpan?,
      wall: WallTime)
    /// The app has taken the row with this sequence.
    case acknowledge(sequence: Int64)
    /// A message stanza came. `count`: the stanzas of the session up to this one; nil without stream
    /// management.
    case received(LookedUp, count: UInt64?)
    /// A remote notification has brought a message.
    case pushed(ticket: UInt64, LookedUp)
    /// An address was blocked or unblocked. The holes that this leaves in its account's streams are no gaps.
    case blockChanged(JID)
    /// Another stanza came and was handled.
    case counted(UInt64)
    /// The server has handled the stanzas of these rows (XEP-0198).
    case handled([RowID])
    case session(StoredSession?)
    case page(ArchivePage)
    /// A query failed. `isUnknownItem`: with `item-not-found`.
    case queryFailed(UInt64, isUnknownItem: Bool)
    /// A row of a room, which has an order of its own.
    case room(RoomDelivery)
    /// The answer to ``MessageAction/load(_:_:)``: the rows of a stream that the store has.
    case loaded([OutgoingRow])
    /// The app is about to be suspended: messages that wait for the archive or a connection wait no longer.
    case endWaiting
  }

  /// Something for the driver to do, when the changes before it are on disk.
  package enum MessageAction: Hashable, Sendable {
    /// The message is on disk; `send` returns.
    case accepted(ticket: UInt64, RowID)
    /// The message is not sent: too many wait.
    case refused(ticket: UInt64)
    case transmit(OutboundStanza)
    case query(ArchiveRequest)
    /// The inbox has rows for the app up to this sequence.
    case deliver(through: Int64)
    /// What became of the message of a notification.
    case pushed(ticket: UInt64, PushOutcome)
    /// The provisional row with this sequence is confirmed.
    case confirmed(sequence: Int64)
    /// The stream may confirm this number of stanzas to the server.
    case confirm(count: UInt64)
    case fate(RowID, MessageFate)
    /// The archive was read. `isWhole`: to its end; false if there is no archive, too.
    case caughtUp(isWhole: Bool)
    /// Read these numbers of a stream from the outbox, and report them.
    case load(OrderStreamID, ClosedRange<UInt64>)
    case report(MessageReport)
  }

  /// Something that a person may want to know, and that is counted.
  package enum MessageReport: Hashable, Sendable {
    /// A carbon that does not come from the own account.
    case forgedCarbon(from: String)
    /// A receipt or marker of another account than the recipient's.
    case forgedReceipt(from: String)
    /// A number was used for two messages.
    case renumbered(from: String)
    /// This store was restored from a copy: a conversation goes on in a new stream.
    case restoredCopy(peer: String)
    /// The server has not told what the account can do; it is used as one with an archive.
    case abilitiesUnknown
    /// The archive's answers don't end, or don't go on.
    case archiveStalled
    /// The bound of messages that are held back is reached; a gap is reported early.
    case heldTooMany(from: String)
    /// The store can't make a change, for this reason, and keeps it aside.
    case changeRejected(String)
    /// More receipts were owed than are kept; the oldest ones are not sent.
    case receiptsDropped(count: Int)
  }

  /// Times and bounds.
  package struct MessageLimits: Hashable, Sendable {
    /// Messages of the outbox without a final fate.
    package var outgoingCountMax = 100_000
    /// Content in memory that the server doesn't have.
    package var outgoingByteCountMax = 64 << 20
    /// Messages that were sent and are not confirmed by the server.
    package var windowCountMax = 256
    /// Messages that are held back, of a stream, and of all. A repeated message comes after the whole
    /// window of its sender, so that a stream's bound is some windows.
    package var heldCountPerStreamMax = 2_048
    package var heldCountMax = 4_096
    package var heldByteCountMax = 16 << 20
    package var streamsPerSenderMax = 32
    /// Streams of all senders.
    package var streamCountMax = 4_096
    /// How far before its number a message may place the beginning of its stream.
    package var sinceDistanceMax: UInt64 = 256
    /// How long a hole is waited for before the sender is asked, while connected and caught up.
    package var missingDelay: TimeSpan = .seconds(2)
    package var missingInterval: TimeSpan = .seconds(10)
    /// With this number of messages that are held back, a hole is requested at once.
    package var missingHeldCount = 64
    /// Numbers that are read from the store at a time.
    package var loadCountMax: UInt64 = 256
    /// How many of the last messages wait for receipts when their recipient has shown order, and how old
    /// they are at most.
    package var adoptedCountMax: UInt64 = 1_024
    package var adoptedAge: WallTime = 86_400_000
    /// How long a hole is waited for, while connected and caught up.
    package var holdBack: TimeSpan = .seconds(60)
    /// How long a hole is waited for in any case.
    package var holdBackMax: TimeSpan = .seconds(900)
    /// Times after which a message without a receipt is sent again.
    package var resendDelays: [TimeSpan] = [
      .seconds(60), .seconds(300), .seconds(1_800), .seconds(10_800), .seconds(86_400),
    ]
    /// Messages that are sent again at a time.
    package var resendCountMax = 32
    /// The least time between two sends of one message.
    package var resendPause: TimeSpan = .seconds(2)
    package var pageCount = 100
    /// Entries of the archive that are read again.
    package var overlapCount = 20
    /// How far before the last entry the archive is read by time.
    package var overlapTime: WallTime = 600_000
    package var archiveInterval: TimeSpan = .seconds(300)
    package var queryPatience: TimeSpan = .seconds(30)
    /// How long messages wait for an archive that is silent, and for one that is read.
    package var archiveSilence: TimeSpan = .seconds(10)
    package var archiveHold: TimeSpan = .seconds(60)
    package var queryRetryMax = 3
    package var pageCountMax = 100_000
    /// How often the entries of an archive may run backwards in one reading.
    package var backwardCountMax = 16
    /// What a new store reads of the archive as history: the last entries, and only those that are not older.
    package var historyCountMax = 10_000
    package var historyAge: WallTime = 30 * 86_400_000
    /// Pages that are read to find the beginning of the history.
    package var historyPageCountMax = 1_000
    /// Receipts that wait while the archive is read. A server handles a query after all receipts before it, and stores each of
    /// them: with more of these, a page takes ten times as long. Each needs some 400 bytes of memory until it was sent.
    package var receiptCountMax = 100_000
    /// Receipts that are owed to peers, and those that were sent and are not confirmed by the server.
    package var owedCountMax = 131_072
    package var receiptWindowMax = 256
    /// Messages of notifications that the stream and the archive may confirm: the latest ones.
    package var provisionalCountMax = 4_096
    /// Keys in memory, for messages whose changes are not on disk yet.
    package var recentKeyCountMax = 4_096

    package init() {}
  }
#endif
