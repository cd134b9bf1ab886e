#if Messaging
  /// The binding of a resource (RFC 6120, §7): the wish, and the address that the server assigned.
  package enum ResourceBinding: XMPPExtension {
    case wish(resource: String?)
    case assigned(JID)

    package init?(_ element: XMLElement) {
      guard element.has("bind", Namespace.bind) else { return nil }
      if let text = element.child("jid", Namespace.bind)?.text {
        guard let jid = JID(text) else { return nil }
        self = .assigned(jid)
      } else {
        self = .wish(resource: element.child("resource", Namespace.bind)?.text)
      }
    }

    package var element: XMLElement {
      switch self {
      case .wish(let resource):
        XMLElement(
          "bind", Namespace.bind,
          children: resource.map { [XMLElement("resource", Namespace.bind, text: $0)] } ?? [])
      case .assigned(let jid):
        XMLElement(
          "bind", Namespace.bind,
          children: [XMLElement("jid", Namespace.bind, text: jid.description)])
      }
    }
  }
#endif
