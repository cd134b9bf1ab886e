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
      case resuming
      case binding(StanzaID)
      /// With messages that came before the session was numbered.
      case enabling(JID, early: [XMLElement])
      case online
      /// The app wants to end the stream: acknowledgements are awaited, or the server's end.
      case ending(deadline: Instant, isClosed: Bool)

      var isOnline: Bool { if case .online = self { true } else { false } }
      var isEnding: Bool { if case .ending = self { true } else { false } }

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
      case proof(SASLMechanism, SCRAM.ClientFirst, SCRAM.ServerFirst)

      var request: CredentialRequest {
        switch self {
        case .plain: .password
        case .proof(let mechanism, let first, let answer):
          .scram(SCRAM.input(mechanism.hash ?? .sha1, first, answer))
        }
      }
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
    /// The end of the negotiation's time; nil while the host computes.
    var deadline: Instant?
    var features = StreamFeatures()
    var lastReceived: Instant
    var request: Request?
    /// The count of deliveries after whose commit the server gets another acknowledgement.
    var owedCount: UInt64?
    var onlineSince: Instant?

    /// A server that sends other things may take this many times the time for an answer.
    private static let patience: Int64 = 6

    /// When a request counts as unanswered: if nothing at all arrives, or after a longer time.
    func requestDeadline(_ times: StreamTimes) -> Instant? {
      guard let request else { return nil }
      let quiet = max(request.sentAt, lastReceived) + times.answer
      let longest = times.answer.nanoseconds.multipliedReportingOverflow(by: Self.patience)
      return min(
        quiet,
        request.sentAt + TimeSpan(nanoseconds: longest.overflow ? .max : longest.partialValue))
    }

    func nextWake(_ times: StreamTimes) -> Instant? {
      switch stage {
      case .online: requestDeadline(times) ?? lastReceived + times.silence
      case .ending(let deadline, _): deadline
      default: deadline
      }
    }
  }
#endif
