#if Messaging
  /// The reason why the store of an account can't be opened, read or written.
  package enum StoreError: Error, Hashable, Sendable {
    /// Another process has the store; its number, if it can be read.
    case inUse(processID: Int32?)
    /// A later version of this program has written the store. The file was left as it is.
    case laterVersion
    /// The file is damaged. It was moved to this path, or left where it is (nil) if it was found out
    /// while the store was open.
    case damaged(keptAt: String?)
    /// The disk is full, or the user's share of it. Nothing of the changes was made; they can be
    /// made again.
    case full
    /// A change can't be made, whenever it is tried: it breaks a rule of the tables, for example. SQLite's reason.
    case rejected(String)
    /// The store was closed.
    case closed
    /// The file can't be read or written; the system's reason.
    case unusable(String)
  }
#endif
