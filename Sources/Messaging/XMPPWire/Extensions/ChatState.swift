#if Messaging
  /// What a person does in a conversation (XEP-0085).
  package enum ChatState: String, XMPPExtension, CaseIterable {
    case active, composing, paused, inactive, gone

    package init?(_ element: XMLElement) {
      guard element.namespace == Namespace.chatStates else { return nil }
      self.init(rawValue: element.name)
    }

    package var element: XMLElement { XMLElement(rawValue, Namespace.chatStates) }
  }

  /// Marks of messages that were shown to a person (XEP-0333).
  package enum ChatMarker: XMPPExtension {
    /// The message may be marked.
    case markable
    /// The message with this identifier, and all before it, was displayed.
    case displayed(StanzaID)

    package init?(_ element: XMLElement) {
      guard element.namespace == Namespace.chatMarkers else { return nil }
      switch element.name {
      case "markable": self = .markable
      case "displayed":
        guard let id = element["id"].flatMap({ StanzaID($0) }) else { return nil }
        self = .displayed(id)
      default: return nil
      }
    }

    package var element: XMLElement {
      switch self {
      case .markable: XMLElement("markable", Namespace.chatMarkers)
      case .displayed(let id): XMLElement("displayed", Namespace.chatMarkers, ["id": id.text])
      }
    }
  }
#endif
