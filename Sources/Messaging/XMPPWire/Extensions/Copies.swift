#if Messaging
  /// A message inside another stanza, with its time (XEP-0297).
  package struct Forwarded: XMPPExtension {
    package var message: MessageStanza
    package var delay: Delay?

    package init(_ message: MessageStanza, delay: Delay? = nil) {
      self.message = message
      self.delay = delay
    }

    package init?(_ element: XMLElement) {
      guard element.has("forwarded", Namespace.forward),
        let inner = element.child("message", Namespace.client),
        let message = MessageStanza(inner)
      else { return nil }
      self.init(message, delay: Delay.first(inside: element))
    }

    package var element: XMLElement {
      XMLElement(
        "forwarded", Namespace.forward,
        children: (delay.map { [$0.element] } ?? []) + [message.element])
    }
  }

  /// The copy of a message from or to another device of one's own account (XEP-0280). Anybody can write one: it counts
  /// only if the message that carries it is from one's own bare address (§11).
  package enum Carbon: XMPPExtension {
    case sent(Forwarded)
    case received(Forwarded)

    package init?(_ element: XMLElement) {
      guard element.namespace == Namespace.carbons,
        let forwarded = Forwarded.first(inside: element)
      else { return nil }
      switch element.name {
      case "sent": self = .sent(forwarded)
      case "received": self = .received(forwarded)
      default: return nil
      }
    }

    package var element: XMLElement {
      switch self {
      case .sent(let forwarded):
        XMLElement("sent", Namespace.carbons, children: [forwarded.element])
      case .received(let forwarded):
        XMLElement("received", Namespace.carbons, children: [forwarded.element])
      }
    }

    /// The request for copies.
    package static let enable = XMLElement("enable", Namespace.carbons)
  }
#endif
