#if Messaging
  internal import MessagingHost

  extension MessagingAccount {
    /// Opens the file of messages.
    static func openStore(_ path: String) throws(MessagingError) -> any AccountStore {
      do throws(StoreError) {
        return try MessageStore(path: path)
      } catch {
        throw MessagingError(error)
      }
    }
  }

  extension MessagingError {
    init(_ error: StoreError) {
      self =
        switch error {
        case .inUse(let processID): .storeInUse(processID: processID)
        case .closed: .ended
        default: .store(error.sentence)
        }
    }
  }
#endif
