#if Messaging
  /// The reason why a stanza was refused (RFC 6120, §8.3).
  package struct StanzaError: Error, Hashable, Sendable {
    /// What the sender may do.
    package enum Kind: String, Hashable, Sendable { case auth, cancel, `continue`, modify, wait }

    /// A condition of §8.3.3.
    package enum Condition: String, Hashable, Sendable, CaseIterable {
      case badRequest = "bad-request"
      case conflict
      case featureNotImplemented = "feature-not-implemented"
      case forbidden
      case gone
      case internalServerError = "internal-server-error"
      case itemNotFound = "item-not-found"
      case jidMalformed = "jid-malformed"
      case notAcceptable = "not-acceptable"
      case notAllowed = "not-allowed"
      case notAuthorized = "not-authorized"
      case policyViolation = "policy-violation"
      case recipientUnavailable = "recipient-unavailable"
      case redirect
      case registrationRequired = "registration-required"
      case remoteServerNotFound = "remote-server-not-found"
      case remoteServerTimeout = "remote-server-timeout"
      case resourceConstraint = "resource-constraint"
      case serviceUnavailable = "service-unavailable"
      case subscriptionRequired = "subscription-required"
      case undefinedCondition = "undefined-condition"
      case unexpectedRequest = "unexpected-request"
    }

    package var kind: Kind
    package var condition: Condition
    /// A description for people, in the server's words; not more than 1,024 characters.
    package var text: String?

    package init(_ kind: Kind, _ condition: Condition, text: String? = nil) {
      self.kind = kind
      self.condition = condition
      self.text = text
    }

    /// Reads the error among the children of a stanza. A condition that is missing or unknown counts as
    /// `undefined-condition`, a type as `cancel`.
    package init(in payload: [XMLElement]) {
      let error = payload.first { $0.has("error", Namespace.client) }
      let names = error?.children.lazy.filter { $0.namespace == Namespace.stanzaErrors }.map(\.name)
      kind = error?["type"].flatMap { Kind(rawValue: $0) } ?? .cancel
      condition = names?.compactMap { Condition(rawValue: $0) }.first ?? .undefinedCondition
      text = error?.child("text", Namespace.stanzaErrors).map { String($0.text.prefix(1_024)) }
    }

    package var element: XMLElement {
      var children = [XMLElement(condition.rawValue, Namespace.stanzaErrors)]
      if let text { children.append(XMLElement("text", Namespace.stanzaErrors, text: text)) }
      return XMLElement("error", Namespace.client, ["type": kind.rawValue], children: children)
    }
  }
#endif
