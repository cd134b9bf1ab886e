#if Messaging
  package import XMPPMachines
  package import XMPPWire

  /// What the driver needs of the store of an account. Blocks until the disk has done it.
  package protocol AccountStore: Sendable {
    /// What the machines begin with.
    func load() throws(StoreError) -> StoredMessages
    /// What the machine of contacts begins with.
    func loadContacts() throws(StoreError) -> StoredContacts
    /// What the machine of rooms begins with.
    func loadRooms() throws(StoreError) -> StoredRooms
    /// Those of the keys that the store has.
    func known(_ keys: [SeenKey]) throws(StoreError) -> Set<SeenKey>
    /// What the machine of uploads begins with.
    func loadUploads() throws(StoreError) -> StoredUploads
    /// Rows of the outbox that have a position in the stored session, by position.
    func sentRows() throws(StoreError) -> [OutgoingRow]
    /// Receipts that have a position in the stored session, by position.
    func sentReceipts() throws(StoreError) -> [OwedReceipt]
    /// Makes all changes, or none.
    func apply(_ changes: [MessageChange]) throws(StoreError)
    /// Makes the changes that can be made, keeps the others aside, and returns these.
    func applyKeepingAside(
      _ changes: [MessageChange], date: WallTime
    ) throws(StoreError) -> [RejectedChange]
    /// Removes old rows; returns whether there may be more.
    func prune(_ retention: Retention, now: WallTime, countMax: Int) throws(StoreError) -> Bool
    /// What the store has about each of these messages.
    func lookup(_ messages: [InboundMessage], account: String) throws(StoreError) -> [StoreLookup]
    /// Rows of the outbox with these numbers of a stream.
    func outgoing(
      stream: OrderStreamID, range: ClosedRange<UInt64>
    ) throws(StoreError) -> [OutgoingRow]
    /// Rows of the inbox that the app has not acknowledged, above a place, in their order.
    func inbox(after sequence: Int64, limit: Int) throws(StoreError) -> [IncomingRow]
    /// The row of the inbox with a sequence, with those that the app has acknowledged; nil if there is none.
    func incoming(sequence: Int64) throws(StoreError) -> IncomingRow?
    /// Closes the files and lets others open them. Later calls fail.
    func close()
    /// The path of the files, by which others of this process wait until they are closed.
    var path: String { get }
    /// Messages to a peer, the newest first.
    func outgoing(to peer: String, limit: Int) throws(StoreError) -> [OutgoingRow]
    /// Rows of the inbox of a peer, the newest first, with those that the app has acknowledged.
    func history(of peer: String, limit: Int) throws(StoreError) -> [IncomingRow]
    /// The peers of all conversations.
    func peers() throws(StoreError) -> [String]
  }

  /// A change that a store can't make.
  package struct RejectedChange: Hashable, Sendable {
    package var change: MessageChange
    package var reason: String
  }

  extension MessageStore: AccountStore {}
#endif
