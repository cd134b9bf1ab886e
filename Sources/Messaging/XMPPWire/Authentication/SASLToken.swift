#if Messaging
  /// A token that a server has issued to an installation in place of the password (XEP-0484). A secret.
  package struct SASLToken: Hashable, Sendable {
    /// The only mechanism for which the token is valid.
    package var mechanism: TokenMechanism
    package var secret: String

    package init(_ mechanism: TokenMechanism, secret: String) {
      self.mechanism = mechanism
      self.secret = secret
    }
  }

  /// No description shows the secret, so that no log has it.
  extension SASLToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a token for \(mechanism.rawValue)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["mechanism": mechanism]) }
  }

  /// A mechanism for tokens (draft-schmaus-kitten-sasl-ht-09), weakest first.
  package enum TokenMechanism: String, Hashable, Sendable, CaseIterable {
    case unbound = "HT-SHA-256-NONE"
    case endPoint = "HT-SHA-256-ENDP"
    case exporter = "HT-SHA-256-EXPR"

    /// Whether the exchange is bound to the TLS connection.
    package var isBound: Bool { self != .unbound }

    /// The data of the connection that are authenticated; nil where it has none.
    package func binding(_ bindings: ChannelBindings) -> [UInt8]? {
      switch self {
      case .unbound: []
      case .endPoint: bindings.serverEndPoint
      case .exporter: bindings.exporter
      }
    }
  }

  /// What an exchange with a token is computed from.
  package struct TokenInput: Hashable, Sendable {
    package var token: SASLToken
    /// The data of the channel binding; empty without one.
    package var binding: [UInt8]

    package init(_ token: SASLToken, binding: [UInt8]) {
      self.token = token
      self.binding = binding
    }
  }

  /// What the client sends, and what a server that knows the token answers.
  package struct TokenProof: Hashable, Sendable {
    package var initiator: [UInt8]
    package var responder: [UInt8]

    package init(initiator: [UInt8], responder: [UInt8]) {
      self.initiator = initiator
      self.responder = responder
    }
  }

  extension SCRAMFunctions {
    /// The codes of both ends (draft-schmaus-kitten-sasl-ht-09, §3); nil if a function of the library fails.
    package func proof(of input: TokenInput) -> TokenProof? {
      let key = Array(input.token.secret.utf8)
      guard
        let initiator = authenticationCode(
          .sha256, key: key, Array("Initiator".utf8) + input.binding),
        let responder = authenticationCode(
          .sha256, key: key, Array("Responder".utf8) + input.binding)
      else { return nil }
      return TokenProof(initiator: initiator, responder: responder)
    }
  }

  /// Elements of XEP-0484 in a client's request.
  package enum TokenElement {
    /// The wish for a token.
    package static func request(_ mechanism: TokenMechanism) -> XMLElement {
      XMLElement("request-token", Namespace.tokens, ["mechanism": mechanism.rawValue])
    }

    /// The mark of a request that is authenticated by a token. Its count is for early data of TLS, which this client doesn't
    /// send.
    package static let use = XMLElement("fast", Namespace.tokens)

    /// The same mark of the last request with a token: the server accepts it no more after the success (XEP-0484, §3.6).
    package static let withdrawal = XMLElement("fast", Namespace.tokens, ["invalidate": "true"])
  }
#endif
