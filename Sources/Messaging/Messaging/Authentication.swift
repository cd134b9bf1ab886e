#if Messaging
  internal import MessagingHost
  internal import XMPPMachines
  internal import XMPPWire

  /// A way in which the password of an account is proved to its server, weakest first. None sends the password itself.
  public enum AuthenticationMechanism: String, Hashable, Sendable, CaseIterable {
    /// RFC 5802.
    case scramSHA1 = "SCRAM-SHA-1"
    /// The same, bound to the TLS connection.
    case scramSHA1Plus = "SCRAM-SHA-1-PLUS"
    /// RFC 7677.
    case scramSHA256 = "SCRAM-SHA-256"
    /// The same, bound to the TLS connection.
    case scramSHA256Plus = "SCRAM-SHA-256-PLUS"
    /// With SHA-512.
    case scramSHA512 = "SCRAM-SHA-512"
    /// The same, bound to the TLS connection.
    case scramSHA512Plus = "SCRAM-SHA-512-PLUS"
  }

  extension MessagingAccount {
    /// What became of the token that a server has issued to this installation in place of the password (XEP-0484).
    public enum TokenWithdrawal: Hashable, Sendable {
      /// There was none.
      case notNeeded
      /// The server accepts it no more.
      case withdrawn
      /// It is deleted here, but the server was not reached, for this reason: it accepts the token until that expires.
      case failed(reason: String)
    }

    /// Withdraws the token of an account that is not used here any more, or whose password has changed.
    ///
    /// Connects for that, and not for messages. The account must not be in use. A store that doesn't exist is not created.
    ///
    /// - Parameters:
    ///   - configuration: Of the account as it was used.
    ///   - time: For the server, at most.
    public static func withdrawToken(
      _ configuration: Configuration, within time: Duration = .seconds(10)
    ) async throws(MessagingError) -> TokenWithdrawal {
      guard let jid = JID(typed: configuration.address), jid.local != nil else {
        throw .invalidAddress(configuration.address)
      }
      guard MessageStore.exists(at: configuration.storePath) else {
        return .notNeeded
      }
      let start = try makeStart(configuration, jid)
      guard start.stream.token != nil else {
        start.closeStore()
        return .notNeeded
      }
      let reason: String?
      do throws(StoreError) {
        reason = try await AccountToken.withdraw(start, within: span(time))
      } catch {
        throw MessagingError(error)
      }
      guard let reason else { return .withdrawn }
      try change(configuration.storePath, .setToken(nil))
      return .failed(reason: reason)
    }

    /// Allows a server to authenticate by a weaker mechanism than before, after its operator has removed the stronger
    /// ones. Without that, an account never falls below the strongest mechanism with which it was authenticated.
    ///
    /// The account must not be in use.
    ///
    /// - Returns: The mechanism that was demanded before; nil if none was, or it isn't stronger, and nothing has changed.
    public static func accept(
      _ mechanism: AuthenticationMechanism, storePath: String
    ) throws(MessagingError) -> AuthenticationMechanism? {
      guard MessageStore.exists(at: storePath) else { return nil }
      let store = try openStore(storePath)
      defer { store.close() }
      do throws(StoreError) {
        guard let before = try store.load().mechanism.flatMap({ SASLMechanism(rawValue: $0) }),
          let new = SASLMechanism(rawValue: mechanism.rawValue), new.isWeaker(than: before)
        else { return nil }
        try store.apply([.setMechanism(new.rawValue)])
        return AuthenticationMechanism(rawValue: before.rawValue)
      } catch {
        throw MessagingError(error)
      }
    }

    private static func change(
      _ storePath: String, _ change: MessageChange
    ) throws(MessagingError) {
      let store = try openStore(storePath)
      defer { store.close() }
      do throws(StoreError) {
        try store.apply([change])
      } catch {
        throw MessagingError(error)
      }
    }
  }
#endif
