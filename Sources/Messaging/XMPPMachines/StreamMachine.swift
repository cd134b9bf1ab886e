#if Messaging
  package import Essentials
  package import XMPPWire

  /// The stream of one account as a state machine: connecting, TLS, authentication, resuming or binding, stream
  /// management, liveness, and connecting again.
  ///
  /// It owns positions and counts of stream management; a store keeps them by its records. Stanzas go out in the order
  /// in which they are sent: after a resumption those that the server doesn't have go first, and new ones follow.
  package struct StreamMachine: Sendable {
    /// What happens to the machine.
    package enum Event: Hashable, Sendable {
      /// The app wants the stream.
      case start
      /// The app wants it no more. A session that is kept can be resumed by the next process; otherwise what was
      /// sent is waited for, for a moment, and the server shows the account as gone.
      case stop(keepsSession: Bool)
      /// The network has changed: a pause ends, and a connection is examined.
      case networkChanged
      /// The connection that was asked for is open. Direct TLS has been established if it is encrypted.
      /// - nonce: 24 or more printable characters without commas, not predictable.
      case opened(isEncrypted: Bool, ChannelBindings, nonce: String)
      /// TLS is established on the connection.
      case encrypted(ChannelBindings)
      /// The connection could not be opened, or has ended. After ``Action/close`` nothing is reported.
      case closed(StreamFailure)
      /// The stream's parser has brought this.
      case received(StreamItem)
      /// The stream's parser has failed.
      case invalid(XMLStreamError)
      /// The answer to ``Action/compute(_:)``.
      case credentials(CredentialAnswer)
      /// Stanzas are to be sent, in this order. Ignored while there is no session, and beyond ``StreamMachine/room``.
      case send([OutgoingStanza])
      /// All deliveries of a session up to this count are committed.
      case handled(through: UInt64, session: UInt64)
      /// The app is in use, or is not.
      case clientState(ClientState)
    }

    /// What the driver does for the machine, in this order.
    package enum Action: Hashable, Sendable {
      /// Connect, then report `opened` or `closed`. Nothing that belongs to a connection before is reported from now on.
      case open(StreamTarget)
      /// Drop what was read and not parsed, restart the parser, establish TLS for the account's domain, and report
      /// `encrypted` or `closed`.
      case startTLS
      /// Restart the parser: a new stream follows on the connection.
      case restartParser
      /// Send bytes. All records before this action are on disk by then.
      case write([UInt8])
      /// Close the connection, after what was written.
      case close
      /// Compute with the password, off the event loop, and report `credentials`.
      case compute(CredentialRequest)
      /// Commit to the store.
      case record(StreamRecord)
      /// A stanza has come. It counts as handled when `handled` is reported with its count, which is the number of
      /// stanzas of the session up to it: commit what follows from it together with the count.
      case deliver(XMLElement, count: UInt64)
      /// Stanzas of rows are at the server, in their order.
      case acknowledged([UInt64])
      /// The session can be used, after what it brings back: `send` is possible.
      case online(StreamOnline)
      /// The session can't be resumed. The server has not acknowledged the stanzas of these rows, and may have them:
      /// its archive shows that. They are not sent again by this machine.
      case lost([UInt64])
      /// There is no stream. The next connection is tried at this time; nil if the app has to start it.
      case offline(StreamFailure, retryAt: Instant?)
    }

    let configuration: StreamConfiguration

    /// Creates the machine of an account.
    ///
    /// - Parameters:
    ///   - session: The session that the store has; nil for none.
    ///   - unacknowledged: The stanzas of rows that were sent in it and not acknowledged, by their positions.
    package init(
      _ configuration: StreamConfiguration, session: StreamSession? = nil,
      unacknowledged: [SentStanza] = []
    ) {
      self.configuration = configuration
    }

    /// The number of stanzas that `send` takes now; 0 without a session.
    package var room: Int { 0 }
  }

  extension StreamMachine: Machine {
    package var nextWake: Instant? { nil }

    package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {}

    package mutating func wake(now: Instant, into actions: inout [Action]) {}
  }
#endif
