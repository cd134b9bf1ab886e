#if Messaging
  package import XMPPWire

  /// A change of the store.
  package enum MessageChange: Hashable, Sendable {
    case insertOutgoing(OutgoingRow)
    case setFate(RowID, MessageFate)
    /// The position of a message or a receipt in stream management, before the stanza's bytes leave.
    case setPosition(RowID, UInt64?)
    case setClosingCount(RowID, Int)
    /// A message that was never sent gets a place in a new stream.
    case renumber(RowID, OrderElement)
    case insertIncoming(IncomingRow)
    /// A message that was held back goes to the app.
    case release(RowID, sequence: Int64, IncomingRow.Arrival)
    /// The app has taken the row with this sequence.
    case acknowledgeIncoming(sequence: Int64)
    /// A row of a notification is provisional no more, and gets what only the stanza has: its other elements, and its
    /// place in its stream.
    case confirmIncoming(RowID, elements: String, OrderElement?)
    case addKey(SeenKey)
    /// Belongs to the transaction of the message.
    case oweReceipt(OwedReceipt)
    case settleReceipt(RowID)
    case setIncomingStream(IncomingStream)
    case forgetIncomingStream(sender: String, OrderStreamID)
    case setOutgoingStream(OutgoingStream)
    /// The last entries of the archive that were read, oldest first.
    case setArchiveMarks([ArchiveMark])
    /// The archive was read for the first time. Its entries up to this one are history; nil if none is any more.
    case setHistoryEnd(HistoryEnd?)
    /// Whether messages were handed over before those that the archive has from before them.
    case setArchiveBehind(Bool)
    /// With another id than the one before, positions of messages that are not confirmed become 0, and those of receipts
    /// nil.
    case setSession(StoredSession?)
    /// The mechanism with which the account was authenticated; weaker ones are refused from then on.
    case setMechanism(String)
    /// The token for later authentications; nil to forget it.
    case setToken(SASLToken?)
    case setInboundCount(UInt64)
    /// A change that the machine of contacts makes, in the transaction of the stanza that has caused it.
    case contacts(ContactChange)
    /// The same of the machine of rooms.
    case rooms(RoomChange)
    /// A change that the machine of uploads makes, in the transaction of the message that it leads to.
    case uploads(UploadChange)
  }

  /// Changes of the store that are made together, and what may be done when they are on disk. If they
  /// can't be written, nothing of the rest is done; the driver writes the same changes again, or
  /// begins anew with a machine from the store.
  package struct MessageCommit: Sendable {
    package var changes: [MessageChange] = []
    package var then: [MessageAction] = []

    package init() {}

    package var isEmpty: Bool { changes.isEmpty && then.isEmpty }

    /// Adds the changes and actions of a later commit, so that both cost one write.
    package mutating func append(_ later: MessageCommit) {
      changes += later.changes
      then += later.then
    }
  }

  /// The part of a store that a machine begins with.
  package struct StoredMessages: Hashable, Sendable {
    /// Rows whose fate is not final, by id. Rows that the server has may lack their content.
    package var outgoing: [OutgoingRow] = []
    /// Rows that are held back, by id.
    package var held: [IncomingRow] = []
    /// Rows of notifications that the stream and the archive have not brought yet.
    package var provisional: [IncomingRow] = []
    package var incomingStreams: [IncomingStream] = []
    package var outgoingStreams: [OutgoingStream] = []
    package var receipts: [OwedReceipt] = []
    package var archiveMarks: [ArchiveMark] = []
    /// Whether the archive was read before, and the last entry that is history.
    package var hasReadArchive = false
    package var historyEnd: HistoryEnd?
    /// Whether messages were handed over before those that the archive has from before them.
    package var isArchiveBehind = false
    package var session: StoredSession?
    /// The name of the strongest mechanism that has succeeded.
    package var mechanism: String?
    /// A UUID of version 4 that belongs to the store, by which servers know this installation.
    package var clientID: String?
    package var token: SASLToken?
    /// The highest numbers that were given.
    package var lastOutgoing: Int64 = 0
    package var lastIncoming: Int64 = 0
    package var lastSequence: Int64 = 0

    package init() {}
  }
#endif
