#if Messaging
  /// What a message changes in an earlier one, instead of being one of its own. Its body, if it has one, is meant for clients
  /// that don't know the extension, or is the new text of a correction.
  package enum Revision: XMPPExtension {
    /// The body replaces that of the sender's message with this id (XEP-0308).
    case correction(StanzaID)
    /// The sender withdraws the message with this id (XEP-0424), or a room does (XEP-0425).
    case retraction(StanzaID)
    /// The sender's reactions to the message with this id, which replace the ones before (XEP-0444).
    case reactions(StanzaID, [String])

    private static let reactionCountMax = 32
    private static let reactionByteCountMax = 128

    package init?(_ element: XMLElement) {
      guard let id = element["id"].flatMap({ StanzaID($0) }) else { return nil }
      if element.has("replace", Namespace.correction) {
        self = .correction(id)
      } else if element.has("retract", Namespace.retraction) || Self.isEarlyRetraction(element) {
        self = .retraction(id)
      } else if element.has("reactions", Namespace.reactions) {
        let reactions = element.children.lazy.filter { $0.has("reaction", Namespace.reactions) }
          .map(\.text).filter { !$0.isEmpty && $0.utf8.count <= Self.reactionByteCountMax }
        self = .reactions(id, Array(reactions.prefix(Self.reactionCountMax)))
      } else {
        return nil
      }
    }

    /// Before version 0.4, XEP-0424 had a retraction inside an element of XEP-0422.
    private static func isEarlyRetraction(_ element: XMLElement) -> Bool {
      element.has("apply-to", "urn:xmpp:fasten:0")
        && element.child("retract", "urn:xmpp:message-retract:0") != nil
    }

    package var element: XMLElement {
      switch self {
      case .correction(let id): XMLElement("replace", Namespace.correction, ["id": id.text])
      case .retraction(let id): XMLElement("retract", Namespace.retraction, ["id": id.text])
      case .reactions(let id, let reactions):
        XMLElement(
          "reactions", Namespace.reactions, ["id": id.text],
          children: reactions.map { XMLElement("reaction", Namespace.reactions, text: $0) })
      }
    }
  }

  /// The message that a message answers (XEP-0461).
  package struct Reply: XMPPExtension {
    package var id: StanzaID
    package var author: JID?

    package init(to id: StanzaID, by author: JID? = nil) {
      self.id = id
      self.author = author
    }

    package init?(_ element: XMLElement) {
      guard element.has("reply", Namespace.replies),
        let id = element["id"].flatMap({ StanzaID($0) })
      else { return nil }
      self.init(to: id, by: element["to"].flatMap { JID($0) })
    }

    package var element: XMLElement {
      XMLElement("reply", Namespace.replies, ["id": id.text, "to": author?.description])
    }
  }
#endif
