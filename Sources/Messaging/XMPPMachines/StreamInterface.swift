#if Messaging
  package import Essentials
  package import XMPPWire

  /// What an account's stream is to do, and the limits of its patience.
  package struct StreamConfiguration: Sendable {
    /// The account's bare address.
    package var account: JID
    /// The resource that is wished for; the server chooses one if nil.
    package var resource: String?
    /// Whether the password may be sent itself, under TLS, if the server has nothing better.
    package var allowsPlain = false
    /// The strongest mechanism that has succeeded with this account before, from the store: weaker ones are refused.
    package var provenMechanism: SASLMechanism?
    /// This installation, as servers know it by the extensible profile of SASL; nil uses the core profile's only.
    package var client: ExtensibleRequest.Client?
    /// The token that the server has issued to this installation, from the store.
    package var token: SASLToken?
    /// Whether the stream only authenticates with the token, so that the server accepts it no more, and ends.
    package var withdrawsToken = false
    /// The iteration counts of SCRAM that are accepted. Fewer than 4,096 are refused (RFC 7677, §4), and more than the
    /// upper bound would keep this computer busy.
    package var iterations: ClosedRange<Int> = 4_096...1_000_000
    package var times = StreamTimes()
    /// Messages, presences and IQs that the server has not acknowledged, at most. `send` beyond that is refused.
    package var unacknowledgedMax = 256
    /// Whether copies of messages from and to other devices of the account are wanted (XEP-0280).
    package var enablesCarbons = true
    /// The presence that announces a new session; nil for none.
    package var presence: PresenceStanza? = PresenceStanza()
    /// What this client answers to a query about its abilities (XEP-0030).
    package var abilities = DiscoInfo()
    /// The namespaces of IQ requests that are delivered, and answered above. Others are answered by the machine.
    package var answeredAbove: Set<String> = []
    /// Chance for the pauses before connections. Needs no secrecy, but must differ between processes.
    package var seed: UInt64

    package init(account: JID, seed: UInt64) {
      self.account = account.bare
      self.seed = seed
    }
  }

  /// The times of a stream.
  package struct StreamTimes: Hashable, Sendable {
    /// From the wish to connect to an open connection, at most.
    package var connecting: TimeSpan = .seconds(30)
    /// From an open connection to a session, without the host's computation of a proof, at most.
    package var negotiation: TimeSpan = .seconds(30)
    /// Silence of the server after which it is pinged.
    package var silence: TimeSpan
    /// From a ping or a request for an acknowledgement to the end of the connection, if nothing arrives, and the silence
    /// that ends a negotiation. ``StreamPace`` makes it longer for servers that are slow.
    package var answer: TimeSpan
    /// The pause before the first new connection is between nothing and this; later ones double.
    package var firstPause: TimeSpan
    package var longestPause: TimeSpan
    /// From the wish to end to the end of the connection.
    package var ending: TimeSpan = .seconds(3)

    package init(
      silence: TimeSpan = .seconds(60), answer: TimeSpan = .seconds(20),
      longestPause: TimeSpan = .seconds(120)
    ) {
      self.silence = silence
      self.answer = answer
      self.longestPause = longestPause
      firstPause = min(.seconds(1), TimeSpan(nanoseconds: longestPause.nanoseconds / 4))
    }
  }

  /// A session of stream management (XEP-0198) as the store keeps it, so that a new process resumes it.
  package struct StreamSession: Hashable, Sendable {
    /// Numbers the sessions of one store, from 1: positions belong to a session.
    package var number: UInt64
    /// The server's identifier for resumption; nil if the session can't be resumed.
    package var id: String?
    /// The host and port at which the server prefers resumption.
    package var location: String?
    /// The full address that the server assigned.
    package var jid: JID
    /// The position of the last stanza that the server has acknowledged.
    package var acknowledged: UInt64 = 0
    /// The number of the server's stanzas that were committed here.
    package var handled: UInt64 = 0

    package init(number: UInt64, id: String?, location: String? = nil, jid: JID) {
      self.number = number
      self.id = id
      self.location = location
      self.jid = jid
    }
  }

  /// A stanza on its way out.
  package struct OutgoingStanza: Hashable, Sendable {
    /// The row that it comes from, which is recorded with its position; nil for one that is not stored, such as an IQ.
    package var row: UInt64?
    package var element: XMLElement

    package init(row: UInt64?, _ element: XMLElement) {
      self.row = row
      self.element = element
    }
  }

  /// A stanza that was sent in a session and not acknowledged.
  package struct SentStanza: Hashable, Sendable {
    /// Counts the stanzas of a session, from 1.
    package var position: UInt64
    package var stanza: OutgoingStanza

    package init(position: UInt64, _ stanza: OutgoingStanza) {
      self.position = position
      self.stanza = stanza
    }
  }

  /// The place to connect to.
  package enum StreamTarget: Hashable, Sendable {
    /// The account's domain: its SRV records, or its addresses.
    case domain
    /// What the server named: `see-other-host`, or the location of a session. TLS still checks the account's domain.
    case host(String, port: UInt16?)
  }

  /// What the host computes with the password, which the machine doesn't know.
  package enum CredentialRequest: Hashable, Sendable {
    /// The password itself.
    case password
    /// `SCRAMFunctions.proof(of:password:)`.
    case scram(SCRAMInput)
    /// `SCRAMFunctions.proof(of:)`, which needs no password.
    case token(TokenInput)
  }

  /// The host's answer to a ``CredentialRequest``.
  package enum CredentialAnswer: Hashable, Sendable {
    case password(String)
    case scram(SCRAMProof)
    case token(TokenProof)
    /// The server's digest of its offer is another one than that of the offer that arrived.
    case offerChanged
    /// There is no password, or it can't be read.
    case unavailable
  }

  /// The reason why there is no stream.
  package enum StreamFailure: Error, Hashable, Sendable {
    /// The host could not connect, or the connection ended; the text is the host's.
    case transport(String)
    /// The certificate is not valid for the account's domain, or TLS failed otherwise.
    case tls(String)
    /// The server offers no TLS.
    case noTLS
    /// The server did not answer in time.
    case silent
    /// The server ended the stream without an error.
    case ended
    /// The server ended the stream with an error.
    case stream(StreamError)
    /// The server ended the stream because of a bound, after it had delivered many stanzas without taking one: its own
    /// stanzas wait for acknowledgements, which it has not read yet.
    case overrun(StreamError)
    /// The server sent bytes that are no stream of XML, or more than the limits allow.
    case invalidXML(XMLStreamError)
    /// The server sent an element that has no place in the negotiation; its name.
    case unexpected(String)
    /// The server offers none of the mechanisms that are allowed.
    case noMechanism(offered: [String])
    /// The server offers only mechanisms that are weaker than one that has succeeded before.
    case downgrade(offered: [String], proven: SASLMechanism)
    /// What the server offered was changed on its way: someone in between has a certificate for the domain.
    case offerChanged
    /// The server's message in the exchange is invalid, or demands too many or too few iterations.
    case invalidExchange(SCRAMError)
    /// The server doesn't know the password's derivation: it is not the account's server.
    case serverNotAuthenticated
    /// The server refused the credentials.
    case refused(SASLFailure)
    /// There is no password.
    case noCredentials
    /// The server refused a resource.
    case bindingRefused(StanzaError)
    /// The server named another host more often than is followed.
    case tooManyRedirects
    /// The server acknowledged stanzas that were not sent (XEP-0198, §4), or fewer than before.
    case wrongAcknowledgement(h: UInt32, acknowledged: UInt64, sent: UInt64)
    /// The app ended the stream.
    case stopped

    /// When a new connection is tried without the app.
    package enum Retry: Hashable, Sendable {
      /// After a pause that grows.
      case soon
      /// After the longest pause: the server's operator has to mend something.
      case late
      /// Only when the app starts the stream again.
      case never
    }

    /// The condition of a stream error that may be about a stanza that was sent.
    package var blamedCondition: String? {
      guard case .stream(let error) = self else { return nil }
      switch error.condition {
      case .conflict, .systemShutdown, .hostGone, .hostUnknown, .notAuthorized, .seeOtherHost,
        .connectionTimeout, .reset, .remoteConnectionFailed, .internalServerError:
        return nil
      default: return error.condition.rawValue
      }
    }

    package var retry: Retry {
      switch self {
      case .transport, .silent, .ended, .overrun, .invalidXML, .unexpected, .wrongAcknowledgement:
        .soon
      case .tls, .noTLS, .noMechanism, .downgrade, .offerChanged, .invalidExchange,
        .serverNotAuthenticated,
        .bindingRefused, .tooManyRedirects:
        .late
      case .refused(let failure): failure.condition == .temporaryAuthFailure ? .late : .never
      case .noCredentials, .stopped: .never
      case .stream(let error):
        switch error.condition {
        // Another client has taken the place: connecting again would take it back, for ever.
        case .conflict: .never
        case .hostGone, .hostUnknown, .notAuthorized, .unsupportedVersion: .late
        default: .soon
        }
      }
    }
  }

  /// What the store commits before the actions after it.
  package enum StreamRecord: Hashable, Sendable {
    /// A session has begun: it replaces the stored one, with all positions of it.
    case began(StreamSession)
    /// The stanza of a row gets this position in the current session; one that it had is replaced.
    case sent(row: UInt64, position: UInt64)
    /// The server has acknowledged all positions up to this one.
    case acknowledged(through: UInt64)
    /// The stored session can't be resumed any more.
    case ended
    /// A mechanism has succeeded, so that weaker ones are refused from now on.
    case proven(SASLMechanism)
    /// The token for later authentications; nil if the server accepts the last one no more. A secret.
    case token(SASLToken?)
  }

  /// A session that can be used.
  package struct StreamOnline: Hashable, Sendable {
    package var jid: JID
    /// The number of the session.
    package var session: UInt64
    /// Whether a session goes on, or a new one has begun.
    package var isResumed: Bool
    /// Whether the server acknowledges stanzas. Without that nothing is known of sent stanzas.
    package var isManaged: Bool
    /// Whether the server has versions of the roster, and approves requests to come.
    package var offersRosterVersions = false
    package var offersPreApproval = false
  }
#endif
