#if Messaging
  package import XMPPWire

  /// Collects the results of one query of the archive until its answer comes.
  package struct ArchiveCollector: Sendable {
    /// How the query ended.
    package enum End: Hashable, Sendable {
      /// The query's number, the messages in the order of the archive, and whether nothing follows.
      case page(query: UInt64, entries: [Entry], isComplete: Bool)
      /// The query's number, and whether the archive doesn't know the entry after which it asked.
      case failed(query: UInt64, isUnknownItem: Bool)
    }

    private var query: ArchiveRequest?
    private var entries: [Entry] = []

    /// A result of the archive.
    package struct Entry: Hashable, Sendable {
      package var mark: ArchiveMark
      package var message: InboundMessage?
    }

    package init() {}

    /// A query is sent; the results of an earlier one are forgotten.
    package mutating func begin(_ query: ArchiveRequest) {
      self.query = query
      entries = []
    }

    /// The connection has ended.
    package mutating func stop() {
      query = nil
      entries = []
    }

    /// A result has come. Those of other queries, and more than twice as many as were requested, are ignored.
    package mutating func take(_ id: String, _ mark: ArchiveMark, _ message: InboundMessage?) {
      guard let query, id == MessageWriter.queryID(query.id), entries.count < 2 * query.countMax
      else { return }
      entries.append(Entry(mark: mark, message: message))
    }

    /// An answer has come; nil if it isn't the query's.
    package mutating func take(_ answer: IQStanza, account: JID) -> End? {
      guard let query, answer.id.text == MessageWriter.queryID(query.id), !answer.isRequest,
        answer.from.map({ $0 == account.bare }) ?? true
      else { return nil }
      defer { stop() }
      guard answer.kind == .result, let end = answer[ArchiveEnd.self] else {
        return .failed(
          query: query.id, isUnknownItem: answer.error?.condition == .itemNotFound)
      }
      return .page(query: query.id, entries: entries, isComplete: end.isComplete)
    }
  }
#endif
