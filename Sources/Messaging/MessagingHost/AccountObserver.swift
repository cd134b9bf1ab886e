#if Messaging
  package import XMPPMachines

  /// What an account's driver reports. Called on its event loop; `committed`, and `perform` with `accepted`, also on a
  /// thread for disks, where the event loop waits for it.
  package struct AccountObserver: Sendable {
    /// The connection of an account with its server.
    package enum Connection: Sendable {
      case connecting
      case online(address: String, isResumed: Bool)
      /// Not connected. If `isFinal`, it is not tried again without the app.
      case offline(StreamFailure, isFinal: Bool)
    }

    package var changed: @Sendable (Connection) -> Void
    /// An action of the machine of messages that is for the app.
    package var perform: @Sendable (MessageAction) -> Void
    /// A message is not stored, and not sent; the ticket of `send`, and the reason.
    package var rejected: @Sendable (UInt64, String) -> Void
    /// The account ends by itself, because its store can't be used any more.
    package var ended: @Sendable (StoreError) -> Void
    /// A transaction of the store was written, or failed for this reason and is tried again.
    package var committed: @Sendable (String?) -> Void
    /// Something about contacts that the app may want to know.
    package var contacts: @Sendable (ContactNotice) -> Void
    /// The same about rooms.
    package var rooms: @Sendable (RoomNotice) -> Void = { _ in }
    /// The system doesn't hold the connection, for this reason.
    package var notHeld: @Sendable (String) -> Void = { _ in }
    /// A file was taken to be uploaded, was refused, or has another state.
    package var uploads: @Sendable (UploadAction) -> Void

    package init(
      changed: @escaping @Sendable (Connection) -> Void,
      perform: @escaping @Sendable (MessageAction) -> Void,
      rejected: @escaping @Sendable (UInt64, String) -> Void,
      ended: @escaping @Sendable (StoreError) -> Void,
      committed: @escaping @Sendable (String?) -> Void,
      contacts: @escaping @Sendable (ContactNotice) -> Void = { _ in },
      uploads: @escaping @Sendable (UploadAction) -> Void = { _ in }
    ) {
      self.changed = changed
      self.perform = perform
      self.rejected = rejected
      self.ended = ended
      self.committed = committed
      self.contacts = contacts
      self.uploads = uploads
    }
  }
#endif
