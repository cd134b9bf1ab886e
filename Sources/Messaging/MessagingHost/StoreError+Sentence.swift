#if Messaging
  internal import Glibc

  extension StoreError {
    /// The reason for people: one sentence without a full stop.
    package var sentence: String {
      switch self {
      case .inUse(let processID):
        processID == getpid()
          ? "this process uses the messages already"
          : "another process\(processID.map { " (\($0))" } ?? "") uses the messages"
      case .laterVersion: "a later version of this program has written the messages"
      case .damaged(let path?): "the file of messages was damaged; it was moved to \(path)"
      case .damaged(nil): "the file of messages is damaged"
      case .rejected(let reason): "a change can't be stored: \(reason)"
      case .closed: "the account is closed"
      case .full: "the disk is full"
      case .unusable(let reason): "the file of messages can't be used: \(reason)"
      }
    }
  }
#endif
