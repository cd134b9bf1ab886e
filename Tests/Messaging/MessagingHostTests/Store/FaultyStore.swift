#if Messaging
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  /// A store whose transactions fail, or wait, as a test has it.
  final class FaultyStore: AccountStore {
    private let store: MessageStore
    private let willApply: @Sendable () -> StoreError?

    /// - Parameter willApply: Called before each transaction, on its thread; returns the error with which it fails.
    init(_ store: MessageStore, willApply: @escaping @Sendable () -> StoreError?) {
      self.store = store
      self.willApply = willApply
    }

    func apply(_ changes: [MessageChange]) throws(StoreError) {
      if let error = willApply() { throw error }
      try store.apply(changes)
    }

    var path: String { store.path }
    func close() { store.close() }
    func load() throws(StoreError) -> StoredMessages { try store.load() }
    func loadContacts() throws(StoreError) -> StoredContacts { try store.loadContacts() }
    func loadRooms() throws(StoreError) -> StoredRooms { try store.loadRooms() }
    func known(_ keys: [SeenKey]) throws(StoreError) -> Set<SeenKey> { try store.known(keys) }
    func loadUploads() throws(StoreError) -> StoredUploads { try store.loadUploads() }
    func sentRows() throws(StoreError) -> [OutgoingRow] { try store.sentRows() }
    func sentReceipts() throws(StoreError) -> [OwedReceipt] { try store.sentReceipts() }
    func peers() throws(StoreError) -> [String] { try store.peers() }
    func incoming(sequence: Int64) throws(StoreError) -> IncomingRow? {
      try store.incoming(sequence: sequence)
    }

    func applyKeepingAside(
      _ changes: [MessageChange], date: WallTime
    ) throws(StoreError) -> [RejectedChange] {
      try store.applyKeepingAside(changes, date: date)
    }

    func prune(
      _ retention: Retention, now: WallTime, countMax: Int
    ) throws(StoreError) -> Bool {
      try store.prune(retention, now: now, countMax: countMax)
    }

    func lookup(
      _ messages: [InboundMessage], account: String
    ) throws(StoreError) -> [StoreLookup] { try store.lookup(messages, account: account) }

    func outgoing(
      stream: OrderStreamID, range: ClosedRange<UInt64>
    ) throws(StoreError) -> [OutgoingRow] { try store.outgoing(stream: stream, range: range) }

    func outgoing(to peer: String, limit: Int) throws(StoreError) -> [OutgoingRow] {
      try store.outgoing(to: peer, limit: limit)
    }

    func history(of peer: String, limit: Int) throws(StoreError) -> [IncomingRow] {
      try store.history(of: peer, limit: limit)
    }

    func inbox(
      after sequence: Int64, limit: Int
    ) throws(StoreError) -> [IncomingRow] { try store.inbox(after: sequence, limit: limit) }
  }
#endif
