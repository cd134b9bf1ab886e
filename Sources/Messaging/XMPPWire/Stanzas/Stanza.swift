#if Messaging
  /// A stanza of the content namespace `jabber:client` (RFC 6120, §8).
  package enum Stanza: Hashable, Sendable {
    case message(MessageStanza)
    case presence(PresenceStanza)
    case iq(IQStanza)

    /// Reads a stanza; nil for another element, for an invalid address, and for an IQ without type or identifier.
    package init?(_ element: XMLElement) {
      guard element.namespace == Namespace.client else { return nil }
      switch element.name {
      case "message":
        guard let message = MessageStanza(element) else { return nil }
        self = .message(message)
      case "presence":
        guard let presence = PresenceStanza(element) else { return nil }
        self = .presence(presence)
      case "iq":
        guard let iq = IQStanza(element) else { return nil }
        self = .iq(iq)
      default: return nil
      }
    }

    /// Whether XEP-0198 counts an element: every message, presence and IQ, also an invalid one.
    package static func isCounted(_ element: XMLElement) -> Bool {
      element.namespace == Namespace.client && ["message", "presence", "iq"].contains(element.name)
    }

    package var element: XMLElement {
      switch self {
      case .message(let message): message.element
      case .presence(let presence): presence.element
      case .iq(let iq): iq.element
      }
    }

    /// The sender; nil where the server left it out, which means one's own account (RFC 6120, §8.1.2.1).
    package var from: JID? {
      switch self {
      case .message(let message): message.from
      case .presence(let presence): presence.from
      case .iq(let iq): iq.from
      }
    }
  }

  /// The attributes that all stanzas have.
  struct StanzaHeader {
    var from: JID?
    var to: JID?
    var id: StanzaID?

    /// Nil if an address is invalid.
    init?(_ element: XMLElement) {
      if let text = element["from"] {
        guard let jid = JID(text) else { return nil }
        from = jid
      }
      if let text = element["to"] {
        guard let jid = JID(text) else { return nil }
        to = jid
      }
      id = element["id"].flatMap { StanzaID($0) }
    }
  }

  /// A message (RFC 6121, §5).
  package struct MessageStanza: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable { case normal, chat, groupchat, headline, error }

    package var kind: Kind
    package var id: StanzaID?
    package var from: JID?
    package var to: JID?
    /// The child elements: body, extensions and what else the sender put into it.
    package var payload: [XMLElement]

    package init(
      _ kind: Kind, id: StanzaID? = nil, from: JID? = nil, to: JID? = nil,
      payload: [XMLElement] = []
    ) {
      self.kind = kind
      self.id = id
      self.from = from
      self.to = to
      self.payload = payload
    }

    /// Reads a message; nil if an address is invalid. An unknown type counts as `normal` (RFC 6121, §5.2.2).
    package init?(_ element: XMLElement) {
      guard element.has("message", Namespace.client), let header = StanzaHeader(element) else {
        return nil
      }
      kind = element["type"].flatMap { Kind(rawValue: $0) } ?? .normal
      id = header.id
      from = header.from
      to = header.to
      payload = element.children
    }

    package var element: XMLElement {
      XMLElement(
        "message", Namespace.client,
        [
          "type": kind == .normal ? nil : kind.rawValue, "from": from?.description,
          "to": to?.description, "id": id?.text,
        ], children: payload)
    }

    /// The text of the body in the stream's language, or of the first body.
    package var body: String? {
      get {
        let bodies = payload.lazy.filter { $0.has("body", Namespace.client) }
        return (bodies.first { $0.language == nil } ?? bodies.first)?.text
      }
      set {
        payload.removeAll { $0.has("body", Namespace.client) }
        if let newValue {
          payload.insert(XMLElement("body", Namespace.client, text: newValue), at: 0)
        }
      }
    }

    /// The error of a message of kind `error`.
    package var error: StanzaError? { kind == .error ? StanzaError(in: payload) : nil }

    /// The first child that is this extension; nil without a well-formed one.
    package subscript<E: XMPPExtension>(_: E.Type) -> E? { E.first(in: payload) }
  }

  /// A presence (RFC 6121, §4).
  package struct PresenceStanza: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
      case available, unavailable, subscribe, subscribed, unsubscribe, unsubscribed, probe, error
    }

    package var kind: Kind
    package var id: StanzaID?
    package var from: JID?
    package var to: JID?
    package var payload: [XMLElement]

    package init(
      _ kind: Kind = .available, id: StanzaID? = nil, from: JID? = nil, to: JID? = nil,
      payload: [XMLElement] = []
    ) {
      self.kind = kind
      self.id = id
      self.from = from
      self.to = to
      self.payload = payload
    }

    /// Reads a presence; nil if an address is invalid or the type unknown.
    package init?(_ element: XMLElement) {
      guard element.has("presence", Namespace.client), let header = StanzaHeader(element),
        let kind = element["type"].map({ Kind(rawValue: $0) }) ?? .available
      else { return nil }
      self.kind = kind
      id = header.id
      from = header.from
      to = header.to
      payload = element.children
    }

    package var element: XMLElement {
      XMLElement(
        "presence", Namespace.client,
        [
          "type": kind == .available ? nil : kind.rawValue, "from": from?.description,
          "to": to?.description, "id": id?.text,
        ], children: payload)
    }

    /// The first child that is this extension; nil without a well-formed one.
    package subscript<E: XMPPExtension>(_: E.Type) -> E? { E.first(in: payload) }
  }

  /// A request or the answer to one (RFC 6120, §8.2.3).
  package struct IQStanza: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable { case get, set, result, error }

    package var kind: Kind
    package var id: StanzaID
    package var from: JID?
    package var to: JID?
    package var payload: [XMLElement]

    package init(
      _ kind: Kind, id: StanzaID, from: JID? = nil, to: JID? = nil, payload: [XMLElement] = []
    ) {
      self.kind = kind
      self.id = id
      self.from = from
      self.to = to
      self.payload = payload
    }

    /// Reads an IQ; nil if it has no identifier or type, or an invalid address.
    package init?(_ element: XMLElement) {
      guard element.has("iq", Namespace.client), let header = StanzaHeader(element),
        let kind = element["type"].flatMap({ Kind(rawValue: $0) }), let id = header.id
      else { return nil }
      self.kind = kind
      self.id = id
      from = header.from
      to = header.to
      payload = element.children
    }

    package var element: XMLElement {
      XMLElement(
        "iq", Namespace.client,
        ["type": kind.rawValue, "from": from?.description, "to": to?.description, "id": id.text],
        children: payload)
    }

    package var isRequest: Bool { kind == .get || kind == .set }

    /// The error of an IQ of kind `error`.
    package var error: StanzaError? { kind == .error ? StanzaError(in: payload) : nil }

    /// The first child that is this extension; nil without a well-formed one.
    package subscript<E: XMPPExtension>(_: E.Type) -> E? { E.first(in: payload) }

    /// The answer without content, or with some.
    package func result(_ payload: XMLElement? = nil) -> IQStanza {
      IQStanza(.result, id: id, to: from, payload: payload.map { [$0] } ?? [])
    }

    /// The answer that refuses the request.
    package func refusal(_ error: StanzaError) -> IQStanza {
      IQStanza(.error, id: id, to: from, payload: [error.element])
    }
  }
#endif
