#if Messaging
  /// An entry of a roster (RFC 6121, §2.1.2).
  package struct RosterItem: Hashable, Sendable {
    package enum Subscription: String, Hashable, Sendable {
      case none, to, from, both
      /// The entry is to be removed, or was.
      case remove
    }

    package var jid: JID
    /// The name that the account's user gave the contact.
    package var name: String?
    package var subscription: Subscription
    /// Whether the contact has not answered the account's request (attribute `ask`).
    package var isAsked: Bool
    /// Whether a later request of the contact is approved already (§3.4).
    package var isApproved: Bool
    /// In the server's order, each once.
    package var groups: [String]
    /// Whether the element had more than is kept: a longer name, or more groups.
    package var isCut = false

    /// The longest name of a contact or group in bytes.
    package static let nameByteCountMax = 1_023
    package static let groupCountMax = 64

    package init(
      _ jid: JID, name: String? = nil, subscription: Subscription = .none, isAsked: Bool = false,
      isApproved: Bool = false, groups: [String] = []
    ) {
      self.jid = jid
      self.name = name
      self.subscription = subscription
      self.isAsked = isAsked
      self.isApproved = isApproved
      self.groups = groups
    }

    /// Reads an item; nil for another element, and without a valid address. An unknown subscription counts as none.
    package init?(_ element: XMLElement) {
      guard element.has("item", Namespace.roster), let jid = element["jid"].flatMap({ JID($0) })
      else { return nil }
      self.init(
        jid, subscription: element["subscription"].flatMap { Subscription(rawValue: $0) } ?? .none,
        isAsked: element["ask"] == "subscribe", isApproved: element["approved"].isTrue)
      if let name = element["name"], !name.isEmpty { self.name = keep(name) }
      var seen: Set<String> = []
      for child in element.children where child.has("group", Namespace.roster) {
        let group = keep(child.text)
        guard !group.isEmpty, seen.insert(group).inserted else { continue }
        guard groups.count < Self.groupCountMax else {
          isCut = true
          break
        }
        groups.append(group)
      }
    }

    private mutating func keep(_ text: String) -> String {
      guard text.utf8.count > Self.nameByteCountMax else { return text }
      isCut = true
      return text.prefix(byteCountMax: Self.nameByteCountMax)
    }

    package var element: XMLElement {
      XMLElement(
        "item", Namespace.roster,
        [
          "jid": jid.description, "name": name,
          "subscription": subscription == .none ? nil : subscription.rawValue,
          "ask": isAsked ? "subscribe" : nil, "approved": isApproved ? "true" : nil,
        ], children: groups.map { XMLElement("group", Namespace.roster, text: $0) })
    }
  }

  extension String? {
    /// A boolean of XML Schema.
    fileprivate var isTrue: Bool { self == "true" || self == "1" }
  }

  /// The content of requests, answers and pushes about a roster (RFC 6121, §2.1.1).
  package struct RosterQuery: XMPPExtension {
    /// The version of the roster (§2.6); an empty one in a request is the support of versions without any.
    package var version: String?
    package var items: [RosterItem]
    /// Items without a valid address, which are left out.
    package var unreadableCount = 0

    /// The longest version in bytes that is kept.
    package static let versionByteCountMax = 1_024

    package init(version: String? = nil, items: [RosterItem] = []) {
      self.version = version
      self.items = items
    }

    package init?(_ element: XMLElement) {
      guard element.has("query", Namespace.roster) else { return nil }
      let version = element["ver"]
      self.version = (version?.utf8.count ?? 0) <= Self.versionByteCountMax ? version : nil
      items = []
      for child in element.children where child.has("item", Namespace.roster) {
        if let item = RosterItem(child) { items.append(item) } else { unreadableCount += 1 }
      }
    }

    package var element: XMLElement {
      XMLElement(
        "query", Namespace.roster, ["ver": version], children: items.map(\.element))
    }
  }
#endif
