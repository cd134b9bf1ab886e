#if Messaging
  package import Essentials
  package import XMPPWire

  /// Reads the stanzas that a server delivers for one account, and requests the account's abilities.
  package struct AccountExchange: Sendable {
    /// What a stanza means.
    package enum Item: Hashable, Sendable {
      case message(InboundMessage)
      /// The answer to a query of the archive.
      case page(query: UInt64, entries: [ArchiveCollector.Entry], isComplete: Bool)
      case queryFailed(query: UInt64, isUnknownItem: Bool)
      /// The account's abilities are known: the session can be used.
      case ready(isResumed: Bool, hasArchive: Bool)
      /// The server has not told the account's abilities. The session is used as one with an archive: queries have times
      /// of their own, and a failure of one is reported.
      case presumed(isResumed: Bool)
      case nothing
    }

    /// What to do at the beginning of a session.
    package enum Beginning: Hashable, Sendable {
      /// Send this, and wait for `ready`.
      case query(XMLElement)
      case ready(isResumed: Bool, hasArchive: Bool)
    }

    /// How long the answer about the account's abilities is waited for. A later one is ignored.
    package static let patience: TimeSpan = .seconds(10)

    private let account: JID
    private var reader: MessageReader
    private var collector = ArchiveCollector()
    /// Whether the account has an archive; nil until its server has told.
    private var hasArchive: Bool?
    private var request: (id: String, deadline: Instant)?
    private var requestCount = 0
    /// Whether a session has begun that was not reported as ready. Its resumption is reported as its beginning:
    /// the fate of stanzas of an earlier session is unknown all the same.
    private var isNew = false

    package init(account: JID) {
      self.account = account.bare
      reader = MessageReader(account: account)
    }

    /// The senders whose messages are not handed over.
    package var blocks: BlockList {
      get { reader.blocks }
      set { reader.blocks = newValue }
    }

    /// The rooms of the account, whose occupants are peers of their own.
    package var rooms: Set<JID> {
      get { reader.rooms }
      set { reader.rooms = newValue }
    }

    /// When ``wake(now:)`` has something to do.
    package var nextWake: Instant? { request?.deadline }

    /// A session begins.
    package mutating func begin(_ online: StreamOnline, now: Instant) -> Beginning {
      if !online.isResumed { isNew = true }
      if online.isResumed, let hasArchive { return ready(hasArchive: hasArchive) }
      requestCount += 1
      guard let id = StanzaID("ambit-account-info-\(requestCount)") else {
        return ready(hasArchive: false)
      }
      request = (id.text, now + Self.patience)
      return .query(
        IQStanza(.get, id: id, to: account, payload: [DiscoInfo().element]).element)
    }

    private mutating func ready(hasArchive: Bool) -> Beginning {
      defer { isNew = false }
      return .ready(isResumed: !isNew, hasArchive: hasArchive)
    }

    /// A session ends.
    package mutating func end() {
      request = nil
      collector.stop()
    }

    /// Gives up an answer that is overdue; nil if none is.
    package mutating func wake(now: Instant) -> Item? {
      guard let request, request.deadline <= now else { return nil }
      return presume()
    }

    private mutating func presume() -> Item {
      request = nil
      hasArchive = nil
      reader.guardsArchiveIDs = false
      defer { isNew = false }
      return .presumed(isResumed: !isNew)
    }

    /// The stanza of a query of the archive.
    package mutating func begin(_ query: ArchiveRequest) -> XMLElement? {
      guard let stanza = MessageWriter.query(query, account: account) else { return nil }
      collector.begin(query)
      return stanza.element
    }

    /// A stanza has come at `wall`, in milliseconds since 1970.
    package mutating func take(_ element: XMLElement, wall: WallTime) -> Item {
      if let iq = IQStanza(element) { return take(iq) }
      switch reader.read(element, wall: wall) {
      case .message(let message): return .message(message)
      case .archived(let query, let mark, let message):
        collector.take(query, mark, message)
        return .nothing
      case .other: return .nothing
      }
    }

    private mutating func take(_ answer: IQStanza) -> Item {
      if let request, answer.id.text == request.id, !answer.isRequest,
        answer.from.map({ $0 == account }) ?? true
      {
        // A server that is busy may have an archive.
        if answer.error?.kind == .wait { return presume() }
        self.request = nil
        // A server that knows no abilities of accounts has no archive either.
        let features = answer[DiscoInfo.self]?.features ?? []
        let found = features.contains(Namespace.archive)
        hasArchive = found
        reader.guardsArchiveIDs = features.contains(Namespace.stanzaIDs)
        defer { isNew = false }
        return .ready(isResumed: !isNew, hasArchive: found)
      }
      switch collector.take(answer, account: account) {
      case .page(let query, let entries, let isComplete):
        return .page(query: query, entries: entries, isComplete: isComplete)
      case .failed(let query, let isUnknownItem):
        return .queryFailed(query: query, isUnknownItem: isUnknownItem)
      case nil: return .nothing
      }
    }
  }
#endif
