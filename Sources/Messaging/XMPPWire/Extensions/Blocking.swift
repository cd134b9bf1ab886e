#if Messaging
  /// Addresses whose stanzas the server keeps away (XEP-0191): the list, or a change of it.
  package struct BlockingCommand: XMPPExtension {
    package enum Kind: String, Hashable, Sendable { case blocklist, block, unblock }

    package var kind: Kind
    /// Of ``Kind/unblock``, none mean all.
    package var addresses: [JID]
    /// Items without a valid address, which are left out.
    package var unreadableCount = 0

    package init(_ kind: Kind, _ addresses: [JID] = []) {
      self.kind = kind
      self.addresses = addresses
    }

    package init?(_ element: XMLElement) {
      guard element.namespace == Namespace.blocking, let kind = Kind(rawValue: element.name) else {
        return nil
      }
      self.init(kind)
      for child in element.children where child.has("item", Namespace.blocking) {
        if let jid = child["jid"].flatMap({ JID($0) }) {
          addresses.append(jid)
        } else {
          unreadableCount += 1
        }
      }
    }

    package var element: XMLElement {
      XMLElement(
        kind.rawValue, Namespace.blocking,
        children: addresses.map {
          XMLElement("item", Namespace.blocking, ["jid": $0.description])
        })
    }
  }
#endif
