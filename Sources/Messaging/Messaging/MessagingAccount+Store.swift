#if Messaging
  internal import MessagingHost
  internal import XMPPMachines
  internal import XMPPWire

  extension MessagingAccount {
    /// Opens the file of messages.
    static func openStore(_ path: String) throws(MessagingError) -> any AccountStore {
      do throws(StoreError) {
        return try MessageStore(path: path)
      } catch {
        throw MessagingError(error)
      }
    }

    /// Opens the store of an account, and reads it.
    static func makeStart(
      _ configuration: Configuration, _ account: JID
    ) throws(MessagingError) -> AccountStart {
      var settings = ServerSettings(domain: account.domain)
      settings.endpoints = [configuration.server].compactMap(\.self).map {
        ServerEndpoint(
          host: $0.host, port: $0.port, encryption: $0.isDirectTLS ? .directTLS : .startTLS)
      }
      settings.authorityFile = configuration.authorityFile
      settings.pin = configuration.pin
      let store = try openStore(configuration.storePath)
      do throws(StoreError) {
        var start = try AccountStart(
          account: account.bare, password: configuration.password, settings: settings,
          store: store, resource: configuration.resource, program: configuration.programName)
        start.confirmsToStrangers = configuration.receipts == .everyone
        start.files.authorityFile = configuration.authorityFile
        start.files.allowsPrivateAddresses = configuration.allowsPrivateFileServers
        start.stream.times = configuration.liveness.times
        start.restoreIdentifier = configuration.restoreIdentifier
        return start
      } catch {
        store.close()
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
