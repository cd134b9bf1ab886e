#if Messaging
  internal import XMPPWire

  /// What an entry of the inbox changes in an earlier message, instead of being a message of its own.
  ///
  /// The id is the one that the earlier message's sender gave it, ``InboxItem/originID``; for retractions and reactions in a
  /// room, the one that the room gave it. A change counts only if it comes from the sender of the message, or a retraction from
  /// the room itself.
  public enum MessageRevision: Hashable, Sendable {
    /// The text replaces the message's (XEP-0308). An app that doesn't have the message shows the text as a message.
    case correction(of: String, text: String)
    /// The message is withdrawn (XEP-0424).
    case retraction(of: String)
    /// The sender's reactions to the message, each a character or a short text; none withdraws those before (XEP-0444).
    case reactions(to: String, [String])
  }

  extension InboxItem {
    /// What the entry changes in an earlier message; nil for a message of its own, and for an encrypted change. The ``body`` of a
    /// change is empty.
    public var revision: MessageRevision? {
      let all = XMLFragment.elements(of: elements)
      switch Revision.first(in: all) {
      case .correction where EncryptionMark.bodyIsStandIn(in: all): return nil
      case .correction(let id):
        let body = all.first { $0.has("body", Namespace.client) }
        return .correction(of: id.text, text: body?.text ?? "")
      case .retraction(let id): return .retraction(of: id.text)
      case .reactions(let id, let reactions): return .reactions(to: id.text, reactions)
      case nil: return nil
      }
    }

    /// The id of the message that this one answers (XEP-0461); nil for other messages. ``text`` has no quotation of it.
    public var repliedID: String? {
      Reply.first(in: XMLFragment.elements(of: elements))?.id.text
    }

    /// The body without the parts that quote the answered message for clients without XEP-0461.
    var bodyWithoutQuotation: String {
      guard elements.contains(Namespace.replies) else { return body }
      let marks = XMLFragment.elements(of: elements).lazy.compactMap(FallbackMark.init)
      // A quotation has one, and each is compared with each code point.
      let ranges = Array(
        marks.filter { $0.replaced == Namespace.replies }.compactMap(\.range).prefix(8))
      guard !ranges.isEmpty else { return body }
      // XEP-0426 counts code points.
      var kept = String.UnicodeScalarView()
      for (place, scalar) in body.unicodeScalars.enumerated()
      where !ranges.contains(where: { $0.contains(place) }) {
        kept.append(scalar)
      }
      return String(kept)
    }
  }
#endif
