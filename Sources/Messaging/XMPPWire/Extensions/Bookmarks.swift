#if Messaging
  /// A room that an account keeps at its server (XEP-0402).
  package struct RoomBookmark: Hashable, Sendable {
    package var room: JID
    package var name: String?
    package var nickname: String?
    package var password: String?
    /// Whether each of the account's clients joins the room.
    package var isJoined: Bool
    /// Elements of other programs, which are written back (§5.1).
    package var extensions: XMLElement?

    package init(
      _ room: JID, name: String? = nil, nickname: String? = nil, password: String? = nil,
      isJoined: Bool
    ) {
      self.room = room
      self.name = name
      self.nickname = nickname
      self.password = password
      self.isJoined = isJoined
    }

    /// Reads an item of the node; nil if its identifier is no room's address.
    init?(item: XMLElement) {
      guard let room = item["id"].flatMap({ JID($0) }), room.local != nil, room.isBare,
        let conference = item.child("conference", Namespace.bookmarks)
      else { return nil }
      func text(_ name: String) -> String? {
        conference.child(name, Namespace.bookmarks)?.text
          .prefix(byteCountMax: RoomText.reasonByteCountMax)
      }
      self.init(
        room, name: conference["name"]?.prefix(byteCountMax: RoomText.reasonByteCountMax),
        nickname: text("nick"), password: text("password"),
        isJoined: ["true", "1"].contains(conference["autojoin"]))
      extensions = conference.child("extensions", Namespace.bookmarks)
    }

    var item: XMLElement {
      var children: [XMLElement] = []
      if let nickname { children.append(XMLElement("nick", Namespace.bookmarks, text: nickname)) }
      if let password {
        children.append(XMLElement("password", Namespace.bookmarks, text: password))
      }
      if let extensions { children.append(extensions) }
      let conference = XMLElement(
        "conference", Namespace.bookmarks,
        ["name": name, "autojoin": isJoined ? "true" : nil], children: children)
      return XMLElement("item", Namespace.pubSub, ["id": room.description], children: [conference])
    }

    /// The request for all bookmarks.
    package static let request = XMLElement(
      "pubsub", Namespace.pubSub,
      children: [XMLElement("items", Namespace.pubSub, ["node": Namespace.bookmarks])])

    /// The request to keep this one. The server keeps it for this account alone, or refuses.
    package var publication: XMLElement {
      let options = DataForm(
        .submit, type: Namespace.pubSubOptions,
        fields: [
          .init("pubsub#persist_items", ["true"]), .init("pubsub#max_items", ["max"]),
          .init("pubsub#send_last_published_item", ["never"]),
          .init("pubsub#access_model", ["whitelist"]),
        ])
      return XMLElement(
        "pubsub", Namespace.pubSub,
        children: [
          XMLElement(
            "publish", Namespace.pubSub, ["node": Namespace.bookmarks], children: [item]),
          XMLElement("publish-options", Namespace.pubSub, children: [options.element]),
        ])
    }

    /// Reads the answer to ``request``; nil for another element. Items that can't be read are left out.
    package static func list(in element: XMLElement) -> [RoomBookmark]? {
      guard element.has("pubsub", Namespace.pubSub),
        let items = element.child("items", Namespace.pubSub),
        items["node"] == Namespace.bookmarks
      else { return nil }
      return items.children.filter { $0.has("item", Namespace.pubSub) }.compactMap {
        RoomBookmark(item: $0)
      }
    }
  }
#endif
