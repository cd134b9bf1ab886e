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
      /// The app wants it no more. A session that is kept can be resumed by the next process; otherwise
      /// acknowledgements are waited for, for a moment, and the server shows the account as gone.
      case stop(keepsSession: Bool)
      /// The network has changed: a pause ends, and a connection is examined.
      case networkChanged
      /// The connection that was asked for is open. Direct TLS has been established if it is encrypted.
      /// - nonce: 24 or more printable characters without commas, not predictable.
      case opened(isEncrypted: Bool, ChannelBindings, nonce: String)
      /// TLS is established on the connection.
      case encrypted(ChannelBindings)
      /// The connection could not be opened, or has ended before there was a session, and another server of the domain
      /// has not been tried: the host connects with that one.
      case serverFailed(StreamFailure)
      /// The connection could not be opened, or has ended. After ``Action/close`` nothing is reported.
      case closed(StreamFailure)
      /// The stream's parser has brought this.
      case received(StreamItem)
      /// The stream's parser has failed.
      case invalid(XMLStreamError)
      /// The answer to ``Action/compute(_:)``.
      case credentials(CredentialAnswer, for: CredentialRequest)
      /// Stanzas are to be sent, in this order. Ignored while there is no session, and beyond ``StreamMachine/room``.
      case send([OutgoingStanza])
      /// Rows that failed for another reason: they are not sent again when the session is resumed.
      case abandoned([UInt64])
      /// All deliveries of a session up to this count are committed.
      case handled(through: UInt64, session: UInt64)
      /// The delivery with this count can't be handled, and neither can later ones: a resumption brings them again.
      case undelivered(UInt64)
      /// The app is in use, or is not.
      case clientState(ClientState)
    }

    /// What the driver does for the machine, in this order.
    package enum Action: Hashable, Sendable {
      /// Connect, then report `opened` or `closed`. Nothing that belongs to a connection before is reported from now on.
      case open(StreamTarget)
      /// Drop the bytes that were read and not parsed, restart the parser, establish TLS for the account's domain, and report
      /// `encrypted` or `closed`.
      case startTLS
      /// Restart the parser: a new stream follows on the connection.
      case restartParser
      /// Send bytes. All records before this action are on disk by then.
      case write([UInt8])
      /// Close the connection, after the bytes that are being sent.
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

    /// The machine's stage.
    enum Phase: Sendable {
      /// The app has to start it.
      case stopped
      case pausing(until: Instant)
      case connecting(deadline: Instant)
      case connected(StreamConnection)
    }

    let configuration: StreamConfiguration
    var phase = Phase.stopped
    var session: StreamSessionState?
    /// Rows that the store shows as sent although the server has acknowledged their positions.
    var acknowledgedRows: [UInt64]
    /// The number of the last session.
    var lastSession: UInt64
    /// The strongest mechanism that has succeeded.
    var provenMechanism: SASLMechanism?
    var pace = StreamPace()
    var token: SASLToken?
    /// Until when the core profile is used although the server offers the extensible one, and the connections in sequence
    /// that the extensible one has left without a session.
    var avoidsExtensibleUntil: Instant?
    var extensibleFailureCount = 0
    /// Stream errors that may be about stanzas, since the server has acknowledged one.
    var blamingErrorCount = 0
    var redirectCount = 0
    /// Where the next connection goes; nil for where the session prefers, or the domain.
    var nextTarget: StreamTarget?
    /// Whether the location of the session was tried in vain.
    var triedLocation = false
    /// Whether the server chooses the resource: it refused the wished one, or an abandoned connection may have it.
    var isResourceRefused = false
    /// When connections were abandoned that may still begin a session: the server can read their bytes later than those of the
    /// connection after them.
    var abandonments: [Instant] = []
    /// Whether the app wants the stream again that is being ended.
    var startsAgain = false
    var clientState = ClientState.active
    /// Numbers requests of the machine's own.
    var requestCount: UInt64 = 0
    var chance: SeededGenerator
    var now = Instant.zero
    var output: [Action] = []

    /// Creates the machine of an account.
    ///
    /// - Parameters:
    ///   - session: The session that the store has; nil for none.
    ///   - unacknowledged: The stanzas of rows that were sent in it and not acknowledged, by their positions.
    ///   - lastSession: The highest number of a session that the store has had.
    package init(
      _ configuration: StreamConfiguration, session: StreamSession? = nil,
      unacknowledged: [SentStanza] = [], lastSession: UInt64 = 0
    ) {
      self.configuration = configuration
      self.session = session.map { StreamSessionState(stored: $0, unacknowledged: unacknowledged) }
      acknowledgedRows = unacknowledged.filter { $0.position <= session?.acknowledged ?? 0 }
        .compactMap(\.stanza.row)
      self.lastSession = max(lastSession, session?.number ?? 0)
      provenMechanism = configuration.provenMechanism
      token = configuration.token
      chance = SeededGenerator(seed: configuration.seed)
    }

    /// Whether only the app can start the stream.
    package var isStopped: Bool { if case .stopped = phase { true } else { false } }

    /// Whether it waits before it connects again.
    package var isPausing: Bool { if case .pausing = phase { true } else { false } }

    /// The number of stanzas that `send` takes now; 0 without a session.
    package var room: Int {
      guard case .connected(let connection) = phase, connection.stage.isOnline, let session else {
        return 0
      }
      return max(0, configuration.unacknowledgedMax - session.unacknowledged.count)
    }

    /// Whether more may be read from the connection: false while deliveries wait to be committed.
    package var wantsBytes: Bool { (session?.uncommittedCount ?? 0) < Self.uncommittedMax }

    /// Deliveries that wait to be committed, at most, before reading stops.
    private static let uncommittedMax: UInt64 = 512

    /// Appends an action; bytes join those that are written just before.
    mutating func perform(_ action: Action) {
      if case .write(let bytes) = action, case .write(let before)? = output.last {
        output[output.count - 1] = .write(before + bytes)
      } else {
        output.append(action)
      }
    }

    mutating func write(_ element: XMLElement) {
      perform(.write(XMLWriter.bytes(of: element)))
    }
  }

  extension StreamMachine: Machine {
    package var nextWake: Instant? {
      switch phase {
      case .stopped: nil
      case .pausing(let until): until
      case .connecting(let deadline): deadline
      case .connected(let connection): connection.nextWake(configuration.times, pace)
      }
    }

    package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
      self.now = now
      if !acknowledgedRows.isEmpty {
        perform(.acknowledged(acknowledgedRows))
        acknowledgedRows = []
      }
      handle(event)
      flush(into: &actions)
    }

    package mutating func wake(now: Instant, into actions: inout [Action]) {
      self.now = now
      switch phase {
      case .stopped: break
      case .pausing(let until): if until <= now { connect() }
      case .connecting(let deadline): if deadline <= now { fail(.silent) }
      case .connected: wakeConnection()
      }
      flush(into: &actions)
    }

    private mutating func flush(into actions: inout [Action]) {
      assert(violations().isEmpty, violations().joined(separator: "; "))
      actions += output
      output.removeAll(keepingCapacity: true)
    }

    private mutating func handle(_ event: Event) {
      switch event {
      case .start: start()
      case .stop(let keepsSession): stop(keepsSession: keepsSession)
      case .networkChanged: examine()
      case .opened(let isEncrypted, let bindings, let nonce):
        opened(isEncrypted: isEncrypted, bindings, nonce: nonce)
      case .encrypted(let bindings): encrypted(bindings)
      case .serverFailed(let failure): serverFailed(failure)
      case .closed(let failure): closed(failure)
      case .received(let item): received(item)
      case .invalid(let error): if case .connected = phase { fail(.invalidXML(error)) }
      case .credentials(let answer, let request): credentials(answer, for: request)
      case .send(let stanzas): send(stanzas)
      case .abandoned(let rows): session?.abandon(rows)
      case .handled(let count, let number): handled(through: count, session: number)
      case .undelivered(let count): session?.takeBack(from: count)
      case .clientState(let state): clientStateChanged(state)
      }
    }

    private mutating func received(_ item: StreamItem) {
      guard case .connected(var connection) = phase else { return }
      connection.lastReceived = now
      phase = .connected(connection)
      switch item {
      case .header(let header):
        // A server without a version knows no features (RFC 6120, §4.7.5).
        if header.version?.hasPrefix("1.") != true { fail(.unexpected("stream")) }
      case .element(let element):
        if let error = StreamError(element) { return streamFailed(error) }
        received(element, connection)
      case .end: ended()
      }
    }
  }
#endif
