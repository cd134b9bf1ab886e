#if Messaging
  /// The longest texts of a room that are kept, in bytes: reasons, passwords and subjects.
  package enum RoomText {
    package static let reasonByteCountMax = 1_024
    package static let subjectByteCountMax = 4_096

    static func reason(in element: XMLElement) -> String? {
      element.child("reason", element.namespace).map {
        $0.text.prefix(byteCountMax: reasonByteCountMax)
      }
    }

    static func reasonElement(_ reason: String?, _ namespace: String) -> [XMLElement] {
      reason.map { [XMLElement("reason", namespace, text: $0)] } ?? []
    }
  }

  /// The request to become an occupant of a room, in a presence to `room/nickname` (XEP-0045, §7.2).
  package struct RoomEntry: XMPPExtension {
    package var password: String?
    /// Whether the room's discussion history is declined (§7.2.14): its archive is read instead.
    package var declinesHistory: Bool

    package init(password: String? = nil, declinesHistory: Bool = true) {
      self.password = password
      self.declinesHistory = declinesHistory
    }

    package init?(_ element: XMLElement) {
      guard element.has("x", Namespace.room) else { return nil }
      password = element.child("password", Namespace.room)?.text
      let history = element.child("history", Namespace.room)
      declinesHistory = history?["maxchars"] == "0" || history?["maxstanzas"] == "0"
    }

    package var element: XMLElement {
      var children: [XMLElement] = []
      if declinesHistory {
        // Servers differ in which of the two they know.
        children.append(
          XMLElement("history", Namespace.room, ["maxchars": "0", "maxstanzas": "0"]))
      }
      if let password {
        children.append(XMLElement("password", Namespace.room, text: password))
      }
      return XMLElement("x", Namespace.room, children: children)
    }
  }

  /// The relations of an occupant to a room (XEP-0045, §5).
  package struct RoomItem: Hashable, Sendable {
    package enum Affiliation: String, Hashable, Sendable {
      case owner, admin, member, outcast, none
    }

    package enum Role: String, Hashable, Sendable { case moderator, participant, visitor, none }

    package var affiliation: Affiliation
    package var role: Role
    /// The occupant's real address, where the room shows it.
    package var jid: JID?
    /// The new nickname, with the status 303.
    package var nickname: String?
    /// The words of the moderator that has caused the change.
    package var reason: String?

    package init(
      _ affiliation: Affiliation = .none, _ role: Role = .none, jid: JID? = nil,
      nickname: String? = nil, reason: String? = nil
    ) {
      self.affiliation = affiliation
      self.role = role
      self.jid = jid
      self.nickname = nickname
      self.reason = reason
    }

    init(reading element: XMLElement) {
      affiliation = element["affiliation"].flatMap { Affiliation(rawValue: $0) } ?? .none
      role = element["role"].flatMap { Role(rawValue: $0) } ?? .none
      jid = element["jid"].flatMap { JID($0) }
      nickname = element["nick"]
      reason = RoomText.reason(in: element)
    }

    var element: XMLElement {
      XMLElement(
        "item", Namespace.roomUser,
        [
          "affiliation": affiliation.rawValue, "role": role.rawValue, "jid": jid?.description,
          "nick": nickname,
        ], children: RoomText.reasonElement(reason, Namespace.roomUser))
    }
  }

  /// What a room tells about an occupant or itself (XEP-0045, §7 and §10).
  package struct RoomUser: XMPPExtension {
    /// The end of a room (§10.9).
    package struct Destruction: Hashable, Sendable {
      /// The room that replaces it.
      package var alternate: JID?
      package var reason: String?

      package init(alternate: JID? = nil, reason: String? = nil) {
        self.alternate = alternate
        self.reason = reason
      }
    }

    /// An invitation by way of the room (§7.8.2).
    package struct Invitation: Hashable, Sendable {
      /// From whom it is, by the room's word; nil in an invitation that is sent.
      package var from: JID?
      /// The invited account, in an invitation that is sent.
      package var to: JID?
      package var reason: String?

      package init(from: JID? = nil, to: JID? = nil, reason: String? = nil) {
        self.from = from
        self.to = to
        self.reason = reason
      }
    }

    /// The status codes (§15.6).
    package var statuses: Set<Int>
    package var item: RoomItem?
    package var destruction: Destruction?
    package var invitation: Invitation?
    package var password: String?

    /// The recipient's own presence.
    package static let isSelf = 110
    package static let created = 201
    package static let banned = 301
    package static let renamed = 303
    package static let kicked = 307
    package static let affiliationChanged = 321
    package static let membersOnly = 322
    package static let shutDown = 332
    package static let technicalProblem = 333

    package init(
      statuses: Set<Int> = [], item: RoomItem? = nil, destruction: Destruction? = nil,
      invitation: Invitation? = nil, password: String? = nil
    ) {
      self.statuses = statuses
      self.item = item
      self.destruction = destruction
      self.invitation = invitation
      self.password = password
    }

    package init?(_ element: XMLElement) {
      guard element.has("x", Namespace.roomUser) else { return nil }
      self.init()
      for child in element.children where child.namespace == Namespace.roomUser {
        switch child.name {
        case "status": if let code = child["code"].flatMap({ Int($0) }) { statuses.insert(code) }
        case "item": item = item ?? RoomItem(reading: child)
        case "destroy":
          destruction = Destruction(
            alternate: child["jid"].flatMap { JID($0) }, reason: RoomText.reason(in: child))
        case "invite":
          invitation = Invitation(
            from: child["from"].flatMap { JID($0) }, to: child["to"].flatMap { JID($0) },
            reason: RoomText.reason(in: child))
        case "password": password = child.text.prefix(byteCountMax: RoomText.reasonByteCountMax)
        default: break
        }
      }
    }

    package var element: XMLElement {
      var children = item.map { [$0.element] } ?? []
      if let destruction {
        children.append(
          XMLElement(
            "destroy", Namespace.roomUser, ["jid": destruction.alternate?.description],
            children: RoomText.reasonElement(destruction.reason, Namespace.roomUser)))
      }
      if let invitation {
        children.append(
          XMLElement(
            "invite", Namespace.roomUser,
            ["from": invitation.from?.description, "to": invitation.to?.description],
            children: RoomText.reasonElement(invitation.reason, Namespace.roomUser)))
      }
      if let password {
        children.append(XMLElement("password", Namespace.roomUser, text: password))
      }
      children += statuses.sorted().map {
        XMLElement("status", Namespace.roomUser, ["code": "\($0)"])
      }
      return XMLElement("x", Namespace.roomUser, children: children)
    }
  }

  /// An invitation to a room that an account sends itself (XEP-0249).
  package struct DirectInvitation: XMPPExtension {
    package var room: JID
    package var reason: String?
    package var password: String?

    package init(to room: JID, reason: String? = nil, password: String? = nil) {
      self.room = room
      self.reason = reason
      self.password = password
    }

    package init?(_ element: XMLElement) {
      guard element.has("x", Namespace.directInvitation),
        let room = element["jid"].flatMap({ JID($0) }), room.local != nil, room.isBare
      else { return nil }
      self.room = room
      reason = element["reason"].map { $0.prefix(byteCountMax: RoomText.reasonByteCountMax) }
      password = element["password"].map { $0.prefix(byteCountMax: RoomText.reasonByteCountMax) }
    }

    package var element: XMLElement {
      XMLElement(
        "x", Namespace.directInvitation,
        ["jid": room.description, "reason": reason, "password": password])
    }
  }

  /// The identifier of an account in a room, which is the same under all of its nicknames (XEP-0421).
  package struct OccupantID: XMPPExtension {
    package var id: StanzaID

    package init(_ id: StanzaID) { self.id = id }

    package init?(_ element: XMLElement) {
      guard element.has("occupant-id", Namespace.occupantID),
        let id = element["id"].flatMap({ StanzaID($0) })
      else { return nil }
      self.id = id
    }

    package var element: XMLElement {
      XMLElement("occupant-id", Namespace.occupantID, ["id": id.text])
    }
  }

  /// The acceptance of the default configuration for a room that was just created (XEP-0045, §10.1.2).
  package enum InstantRoom {
    package static let element = XMLElement(
      "query", Namespace.roomOwner, children: [DataForm(.submit).element])
  }

  /// The subject of a room (XEP-0045, §8.1).
  package enum RoomSubject {
    /// The new subject, perhaps empty; nil for a message that changes none: it has a body or a thread.
    package static func text(in message: MessageStanza) -> String? {
      guard message.kind == .groupchat,
        let subject = message.payload.first(where: { $0.has("subject", Namespace.client) }),
        !message.payload.contains(where: {
          $0.has("body", Namespace.client) || $0.has("thread", Namespace.client)
        })
      else { return nil }
      return subject.text.prefix(byteCountMax: RoomText.subjectByteCountMax)
    }

    package static func message(_ subject: String, to room: JID) -> MessageStanza {
      MessageStanza(
        .groupchat, to: room, payload: [XMLElement("subject", Namespace.client, text: subject)])
    }
  }

  extension StanzaError {
    /// The new address of an entity that has moved, from a `<gone/>` or `<redirect/>` error (RFC 6120, §8.3.3.5).
    package static func newAddress(in payload: [XMLElement]) -> JID? {
      let error = payload.first { $0.has("error", Namespace.client) }
      let place =
        error?.child("gone", Namespace.stanzaErrors)
        ?? error?.child("redirect", Namespace.stanzaErrors)
      guard var text = place?.text else { return nil }
      if text.hasPrefix("xmpp:") { text.removeFirst(5) }
      return JID(String(text.prefix { $0 != "?" && $0 != ";" }))
    }
  }
#endif
