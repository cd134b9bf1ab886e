#if Messaging
  internal import Essentials
  internal import XMPPWire

  /// A connection that is open: how far its negotiation is, and its liveness.
  struct StreamConnection: Sendable {
    enum Stage: Sendable {
      /// The server's features are awaited.
      case opening(isAuthenticated: Bool)
      /// The server's consent to TLS is awaited.
      case startingTLS
      /// The host establishes TLS.
      case establishingTLS
      /// The host computes.
      case computing(Computation)
      /// The server's first message of SCRAM is awaited.
      case authenticating(SASLMechanism, SCRAM.ClientFirst)
      /// The server's last word of the authentication is awaited.
      case proving(SASLMechanism, SCRAMProof?, isChecked: Bool)
      /// The server's word about a token is awaited, with the code that proves that the server knows it.
      case provingToken(responder: [UInt8])
      /// A resource is bound by the authentication, and the session's features follow.
      case bound(JID, StreamManagement.Enabled?)
      case resuming
      case binding(StanzaID)
      /// With messages that came before the session was numbered.
      case enabling(JID, early: [XMLElement])
      case online
      /// The app wants to end the stream: acknowledgements are awaited, or the server's end.
      case ending(deadline: Instant, isClosed: Bool)

      var isOnline: Bool { if case .online = self { true } else { false } }
      /// Whether bytes are under way that begin a session, or take one over.
      func beginsSession(_ profile: SASLProfile) -> Bool {
        switch self {
        case .resuming, .binding: true
        case .computing, .authenticating, .proving, .provingToken: profile == .extensible
        case .opening, .startingTLS, .establishingTLS, .bound, .enabling, .online, .ending: false
        }
      }

      var isEnding: Bool { if case .ending = self { true } else { false } }

      var isAuthentication: Bool {
        switch self {
        case .computing, .authenticating, .proving, .provingToken: true
        default: false
        }
      }

      /// False while TLS is being established.
      var carriesXML: Bool { if case .establishingTLS = self { false } else { true } }

      var hasSession: Bool {
        switch self {
        case .online, .ending: true
        default: false
        }
      }
    }

    enum Computation: Sendable {
      case plain
      case token(TokenInput)
      case proof(SASLMechanism, SCRAM.ClientFirst, SCRAM.ServerFirst, SASLOffer)

      var request: CredentialRequest {
        switch self {
        case .plain: .password
        case .token(let input): .token(input)
        case .proof(let mechanism, let first, let answer, let offer):
          .scram(SCRAM.input(mechanism.hash ?? .sha1, first, answer, offer: offer))
        }
      }
    }

    /// What a request for an authentication has asked for besides.
    struct InlineRequests: Sendable {
      var hasCarbons = false
      var clientState: ClientState?
      /// The mechanism for which a token is wanted, or by which one was used: a new token is for the same.
      var tokenMechanism: TokenMechanism?
    }

    /// A request for an acknowledgement that is not answered.
    struct Request: Sendable {
      var sentAt: Instant
      /// Where there is no stream management: the ping, and its position. Its answer shows that all earlier stanzas
      /// have been handled.
      var ping: (id: StanzaID, position: UInt64)?
    }

    var stage: Stage
    var isEncrypted: Bool
    var bindings: ChannelBindings
    var nonce: String
    /// The profile of the authentication that was begun last, and how many were begun.
    var profile = SASLProfile.core
    var exchangeCount = 0
    /// What was requested with the authentication.
    var requested = InlineRequests()
    /// The end of the negotiation's time; nil while the host computes.
    var deadline: Instant?
    var features = StreamFeatures()
    var lastReceived: Instant
    /// When the negotiation has moved on last, also by the host: its computation is no silence of the server.
    var lastStep = Instant.zero
    var request: Request?
    /// The count of deliveries after whose commit the server gets an acknowledgement that it has requested.
    var owedCount: UInt64?
    var onlineSince: Instant?

    /// A server that sends other things may take this many times the time for an answer.
    private static let patience: Int64 = 6

    /// When a request counts as unanswered: if nothing at all arrives, or after a longer time.
    func requestDeadline(_ answer: TimeSpan) -> Instant? {
      guard let request else { return nil }
      let quiet = max(request.sentAt, lastReceived) + answer
      let longest = answer.nanoseconds.multipliedReportingOverflow(by: Self.patience)
      return min(
        quiet,
        request.sentAt + TimeSpan(nanoseconds: longest.overflow ? .max : longest.partialValue))
    }

    func nextWake(_ times: StreamTimes, _ pace: StreamPace) -> Instant? {
      switch stage {
      case .online: requestDeadline(pace.answer(times)) ?? lastReceived + times.silence
      case .ending(let deadline, _): deadline
      default: deadline.map { min($0, max(lastReceived, lastStep) + pace.negotiation(times)) }
      }
    }
  }
#endif
