#if Messaging
  /// A request for a receipt, or a receipt (XEP-0184).
  package enum Receipt: XMPPExtension {
    case request
    /// The message with this identifier has arrived.
    case received(StanzaID)

    package init?(_ element: XMLElement) {
      guard element.namespace == Namespace.receipts else { return nil }
      switch element.name {
      case "request": self = .request
      case "received":
        guard let id = element["id"].flatMap({ StanzaID($0) }) else { return nil }
        self = .received(id)
      default: return nil
      }
    }

    package var element: XMLElement {
      switch self {
      case .request: XMLElement("request", Namespace.receipts)
      case .received(let id): XMLElement("received", Namespace.receipts, ["id": id.text])
      }
    }
  }

  /// A ping (XEP-0199).
  package struct Ping: XMPPExtension {
    package init() {}

    package init?(_ element: XMLElement) {
      guard element.has("ping", Namespace.ping) else { return nil }
    }

    package var element: XMLElement { XMLElement("ping", Namespace.ping) }
  }

  /// The time at which a message was sent, if it was delivered later (XEP-0203).
  package struct Delay: XMPPExtension {
    package var stamp: Timestamp
    /// The entity that delayed the message; nil if the element doesn't name one.
    package var from: JID?

    package init(_ stamp: Timestamp, from: JID? = nil) {
      self.stamp = stamp
      self.from = from
    }

    package init?(_ element: XMLElement) {
      guard element.has("delay", Namespace.delay),
        let stamp = element["stamp"].flatMap({ Timestamp($0) })
      else { return nil }
      self.stamp = stamp
      from = element["from"].flatMap { JID($0) }
    }

    package var element: XMLElement {
      XMLElement(
        "delay", Namespace.delay, ["from": from?.description, "stamp": stamp.description])
    }
  }

  /// What servers may do with a message (XEP-0334).
  package enum ProcessingHint: String, XMPPExtension, CaseIterable {
    case noPermanentStore = "no-permanent-store"
    case noStore = "no-store"
    case noCopy = "no-copy"
    case store

    package init?(_ element: XMLElement) {
      guard element.namespace == Namespace.hints else { return nil }
      self.init(rawValue: element.name)
    }

    package var element: XMLElement { XMLElement(rawValue, Namespace.hints) }
  }

  /// Whether the app is in use (XEP-0352).
  package enum ClientState: String, XMPPExtension {
    case active, inactive

    package init?(_ element: XMLElement) {
      guard element.namespace == Namespace.clientState else { return nil }
      self.init(rawValue: element.name)
    }

    package var element: XMLElement { XMLElement(rawValue, Namespace.clientState) }
  }

  /// The identifier that a message's sender gave it, which copies and archives keep (XEP-0359).
  package struct OriginID: XMPPExtension {
    package var id: StanzaID

    package init(_ id: StanzaID) { self.id = id }

    package init?(_ element: XMLElement) {
      guard element.has("origin-id", Namespace.stanzaIDs),
        let id = element["id"].flatMap({ StanzaID($0) })
      else { return nil }
      self.id = id
    }

    package var element: XMLElement {
      XMLElement("origin-id", Namespace.stanzaIDs, ["id": id.text])
    }
  }

  /// The identifier that a server or a room gave a message (XEP-0359). Anybody can write one: it counts only if `by` is
  /// one's own bare address or the room, and that entity announces `urn:xmpp:sid:0`.
  package struct ServerID: XMPPExtension {
    package var id: StanzaID
    package var by: JID

    package init(_ id: StanzaID, by: JID) {
      self.id = id
      self.by = by
    }

    package init?(_ element: XMLElement) {
      guard element.has("stanza-id", Namespace.stanzaIDs),
        let id = element["id"].flatMap({ StanzaID($0) }),
        let by = element["by"].flatMap({ JID($0) })
      else { return nil }
      self.id = id
      self.by = by
    }

    package var element: XMLElement {
      XMLElement("stanza-id", Namespace.stanzaIDs, ["by": by.description, "id": id.text])
    }

    /// The only identifier by an entity; nil without one, and if there are several, one of which is forged.
    package static func only(by entity: JID, in payload: [XMLElement]) -> StanzaID? {
      let ids = payload.lazy.compactMap(ServerID.init).filter { $0.by == entity }
      return ids.count == 1 ? ids.first?.id : nil
    }
  }

  /// The mark of a message whose content is encrypted (XEP-0380): its body is not the content.
  package struct EncryptionMark: XMPPExtension {
    /// Whether the body of a message with these elements only replaces content for clients without an extension.
    package static func bodyIsStandIn(in payload: [XMLElement]) -> Bool {
      payload.contains { Self($0) != nil || $0.name == "encrypted" }
        || payload.contains { FallbackMark($0).map { $0.range == nil } ?? false }
    }

    package var scheme: String
    package var name: String?

    package init(scheme: String, name: String? = nil) {
      self.scheme = scheme
      self.name = name
    }

    package init?(_ element: XMLElement) {
      guard element.has("encryption", Namespace.encryption), let scheme = element["namespace"]
      else {
        return nil
      }
      self.init(scheme: scheme, name: element["name"])
    }

    package var element: XMLElement {
      XMLElement("encryption", Namespace.encryption, ["namespace": scheme, "name": name])
    }
  }

  /// The mark of a text that is meant for clients that don't know an extension (XEP-0428).
  package struct FallbackMark: XMPPExtension {
    /// The namespace of the extension; nil if the mark doesn't name one.
    package var replaced: String?
    /// The part of the body, in characters, or nil for all of it.
    package var range: Range<Int>?

    package init(for replaced: String?, range: Range<Int>? = nil) {
      self.replaced = replaced
      self.range = range
    }

    package init?(_ element: XMLElement) {
      guard element.has("fallback", Namespace.fallback) else { return nil }
      replaced = element["for"]
      if let body = element.child("body", Namespace.fallback),
        let start = body["start"].flatMap({ Int($0) }), let end = body["end"].flatMap({ Int($0) }),
        start >= 0, start <= end
      {
        range = start..<end
      }
    }

    package var element: XMLElement {
      XMLElement(
        "fallback", Namespace.fallback, ["for": replaced],
        children: range.map {
          [
            XMLElement(
              "body", Namespace.fallback, ["start": "\($0.lowerBound)", "end": "\($0.upperBound)"])
          ]
        } ?? [])
    }
  }
#endif
