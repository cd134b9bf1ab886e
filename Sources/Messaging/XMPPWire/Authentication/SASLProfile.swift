#if Messaging
  /// The elements in which mechanisms of SASL are negotiated.
  package enum SASLProfile: Hashable, Sendable {
    /// RFC 6120, §6: a new stream follows.
    case core
    /// XEP-0388: a session is resumed or bound by the same request, and the stream goes on.
    case extensible

    package var namespace: String {
      switch self {
      case .core: Namespace.sasl
      case .extensible: Namespace.extensibleSASL
      }
    }
  }

  /// What a server offers of the extensible profile (XEP-0388, §2.1), and what it negotiates in the same request.
  package struct ExtensibleFeature: Hashable, Sendable {
    /// The names of the mechanisms.
    package var mechanisms: [String]
    /// Whether a session can be resumed (XEP-0198, §9).
    package var offersResumption = false
    /// The namespaces of what can begin with a new session (XEP-0386); nil if none can be bound.
    package var sessionFeatures: [String]?
    /// The mechanisms for tokens (XEP-0484).
    package var tokenMechanisms: [String] = []

    package init(mechanisms: [String]) { self.mechanisms = mechanisms }

    init?(_ element: XMLElement) {
      guard element.has("authentication", Namespace.extensibleSASL) else { return nil }
      func names(_ element: XMLElement, _ namespace: String) -> [String] {
        element.children.filter { $0.has("mechanism", namespace) }.map(\.text)
      }
      mechanisms = names(element, Namespace.extensibleSASL)
      guard let inline = element.child("inline", Namespace.extensibleSASL) else { return }
      offersResumption = inline.child("sm", Namespace.streamManagement) != nil
      if let bind = inline.child("bind", Namespace.inlineBinding) {
        sessionFeatures =
          bind.child("inline", Namespace.inlineBinding)?.children.compactMap { $0["var"] } ?? []
      }
      tokenMechanisms =
        inline.child("fast", Namespace.tokens).map { names($0, Namespace.tokens) } ?? []
    }

    package var element: XMLElement {
      func mechanisms(_ names: [String], _ namespace: String) -> [XMLElement] {
        names.map { XMLElement("mechanism", namespace, text: $0) }
      }
      var inline: [XMLElement] = []
      if let sessionFeatures {
        let features = sessionFeatures.map {
          XMLElement("feature", Namespace.inlineBinding, ["var": $0])
        }
        inline.append(
          XMLElement(
            "bind", Namespace.inlineBinding,
            children: [XMLElement("inline", Namespace.inlineBinding, children: features)]))
      }
      if offersResumption { inline.append(XMLElement("sm", Namespace.streamManagement)) }
      if !tokenMechanisms.isEmpty {
        inline.append(
          XMLElement(
            "fast", Namespace.tokens, children: mechanisms(tokenMechanisms, Namespace.tokens)))
      }
      return XMLElement(
        "authentication", Namespace.extensibleSASL,
        children: mechanisms(self.mechanisms, Namespace.extensibleSASL)
          + [XMLElement("inline", Namespace.extensibleSASL, children: inline)])
    }
  }

  /// A client's request by the extensible profile (XEP-0388, §2.3).
  package struct ExtensibleRequest: Hashable, Sendable {
    package var mechanism: String
    package var response: [UInt8]
    /// An installation of a client.
    package var client: Client?
    /// What is to be negotiated with the authentication.
    package var children: [XMLElement]

    package struct Client: Hashable, Sendable {
      /// A UUID of version 4, the same for all connections of the installation, and known to the server only.
      package var id: String
      package var software: String?

      package init(id: String, software: String?) {
        self.id = id
        self.software = software
      }
    }

    package init(
      mechanism: String, _ response: [UInt8], client: Client?, children: [XMLElement] = []
    ) {
      self.mechanism = mechanism
      self.response = response
      self.client = client
      self.children = children
    }

    package init?(_ element: XMLElement) {
      let namespace = Namespace.extensibleSASL
      guard element.has("authenticate", namespace), let mechanism = element["mechanism"],
        let response = Base64.bytes(element.child("initial-response", namespace)?.text ?? "")
      else { return nil }
      self.mechanism = mechanism
      self.response = response
      client = element.child("user-agent", namespace).flatMap { agent in
        agent["id"].map { Client(id: $0, software: agent.child("software", namespace)?.text) }
      }
      children = element.children.filter { $0.namespace != namespace }
    }

    package var element: XMLElement {
      let namespace = Namespace.extensibleSASL
      var own = [XMLElement("initial-response", namespace, text: Base64.text(response))]
      if let client {
        own.append(
          XMLElement(
            "user-agent", namespace, ["id": client.id],
            children: client.software.map { [XMLElement("software", namespace, text: $0)] } ?? []))
      }
      return XMLElement(
        "authenticate", namespace, ["mechanism": mechanism], children: own + children)
    }
  }

  /// A server's success by the extensible profile (XEP-0388, §2.6.1).
  package struct ExtensibleSuccess: Hashable, Sendable {
    /// The mechanism's last message.
    package var data: [UInt8]?
    /// The account's address; a full one if a resource is bound.
    package var address: JID?
    /// The answers to what was negotiated with the authentication.
    package var children: [XMLElement]

    package init(data: [UInt8]?, address: JID?, children: [XMLElement] = []) {
      self.data = data
      self.address = address
      self.children = children
    }

    /// Nil for another element, or if its data are not base64.
    package init?(_ element: XMLElement) {
      let namespace = Namespace.extensibleSASL
      guard element.has("success", namespace) else { return nil }
      if let text = element.child("additional-data", namespace)?.text {
        guard let data = Base64.bytes(text.filter { !$0.isWhitespace }) else { return nil }
        self.data = data
      }
      address = element.child("authorization-identifier", namespace).flatMap { JID($0.text) }
      children = element.children.filter { $0.namespace != namespace }
    }

    package var element: XMLElement {
      let namespace = Namespace.extensibleSASL
      var own: [XMLElement] = []
      if let data {
        own.append(XMLElement("additional-data", namespace, text: Base64.text(data)))
      }
      if let address {
        own.append(XMLElement("authorization-identifier", namespace, text: address.description))
      }
      return XMLElement("success", namespace, children: own + children)
    }

    /// The answer to the wish to resume a session; nil if the server has ignored it.
    package var resumption: StreamManagement? {
      children.first { $0.namespace == Namespace.streamManagement }.flatMap { StreamManagement($0) }
    }

    /// The new session, if one was bound, with the answer to the wish for stream management.
    package var binding: (jid: JID, management: StreamManagement?)? {
      guard let address, !address.isBare,
        let bound = children.first(where: { $0.has("bound", Namespace.inlineBinding) })
      else { return nil }
      let answer = bound.children.first { $0.namespace == Namespace.streamManagement }
      return (address, answer.flatMap { StreamManagement($0) })
    }

    /// A token for later authentications (XEP-0484, §3.3); nil for one that is longer than a kilobyte.
    package var token: String? {
      children.first { $0.has("token", Namespace.tokens) }?["token"]
        .flatMap { (1...1_024).contains($0.utf8.count) ? $0 : nil }
    }
  }

  /// The wish for a new session that is bound with the authentication (XEP-0386, §3.2).
  package struct InlineBinding: Hashable, Sendable {
    /// The beginning of the resource; nil to leave it to the server.
    package var tag: String?
    /// What begins with the session.
    package var children: [XMLElement]

    package init(tag: String?, children: [XMLElement]) {
      self.tag = tag
      self.children = children
    }

    package init?(_ element: XMLElement) {
      guard element.has("bind", Namespace.inlineBinding) else { return nil }
      tag = element.child("tag", Namespace.inlineBinding)?.text
      children = element.children.filter { $0.namespace != Namespace.inlineBinding }
    }

    package var element: XMLElement {
      let own = tag.map { [XMLElement("tag", Namespace.inlineBinding, text: $0)] } ?? []
      return XMLElement("bind", Namespace.inlineBinding, children: own + children)
    }
  }
#endif
