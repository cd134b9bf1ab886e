#if Messaging
  import XMPPMachines
  import XMPPWire

  /// A service with one room and its archive, as far as one client sees it.
  struct RoomService {
    struct Entry {
      var id: String
      var nickname: String
      var messageID: String
      var body: String
      var date: WallTime
    }

    var room: JID
    var client: JID
    /// The nickname of the client; nil while it is no occupant.
    var nickname: String?
    var others = ["bob"]
    var hasArchive = true
    var isNew = false
    /// The error with which joins are refused.
    var refusal: StanzaError?
    var takenNicknames: Set<String> = []
    var archive: [Entry] = []
    var lastID = 0
    /// The error with which messages of an occupant are returned, and to how many this happens.
    var returns: (error: StanzaError, count: Int)?
    /// Whether each message of the client makes the service forget that it is an occupant.
    var ejectsSpeakers = false
    /// Whether the next reflection or live message gets lost.
    var losesNext = false
    var bookmarks: [XMLElement] = []
    var answersPings = true
    /// Whether queries of the archive, and requests about bookmarks, get their answers only from ``answerAll()``.
    var isArchiveSilent = false
    var isBookmarkSilent = false
    private var unanswered: [IQStanza] = []
    /// Whether requests for the room's settings and abilities get no answer.
    var isRoomSilent = false
    /// Whether it knows the options of bookmarks only in part.
    var refusesOptions = false

    init(room: JID, client: JID) {
      self.room = room
      self.client = client
    }

    func occupant(_ name: String) -> JID? {
      JID(local: room.local, domain: room.domain, resource: name)
    }

    /// The answers to a stanza of the client.
    mutating func take(_ element: XMLElement, date: WallTime) -> [XMLElement] {
      switch Stanza(element) {
      case .presence(let presence): take(presence)
      case .message(let message): take(message, date)
      case .iq(let iq): take(iq)
      case nil: []
      }
    }

    private mutating func take(_ presence: PresenceStanza) -> [XMLElement] {
      guard let name = presence.to?.resource else { return [] }
      if presence.kind == .unavailable {
        guard nickname != nil else { return [] }
        nickname = nil
        return [
          PresenceStanza(
            .unavailable, from: occupant(name), to: client,
            payload: [RoomUser(statuses: [RoomUser.isSelf], item: RoomItem()).element]
          ).element
        ]
      }
      let error =
        takenNicknames.contains(name) ? StanzaError(.cancel, .conflict) : refusal
      if let error {
        return [
          PresenceStanza(
            .error, id: presence.id, from: occupant(name), to: client, payload: [error.element]
          ).element
        ]
      }
      nickname = name
      var answers = others.map { other in
        PresenceStanza(
          from: occupant(other), to: client,
          payload: [RoomUser(item: RoomItem(.member, .participant)).element]
        ).element
      }
      let statuses: Set = isNew ? [RoomUser.isSelf, RoomUser.created] : [RoomUser.isSelf]
      isNew = false
      answers.append(
        PresenceStanza(
          id: presence.id, from: occupant(name), to: client,
          payload: [RoomUser(statuses: statuses, item: RoomItem(.owner, .moderator)).element]
        ).element)
      answers.append(
        MessageStanza(
          .groupchat, from: room, to: client,
          payload: [XMLElement("subject", Namespace.client, text: "Work")]
        ).element)
      return answers
    }

    private mutating func take(_ message: MessageStanza, _ date: WallTime) -> [XMLElement] {
      guard message.kind == .groupchat, let body = message.body else { return [] }
      if ejectsSpeakers { nickname = nil }
      guard let nickname else { return [returned(message, StanzaError(.modify, .notAcceptable))] }
      if let (error, count) = returns, count > 0 {
        returns?.count -= 1
        return [returned(message, error)]
      }
      return say(body, nickname, id: message.id?.text ?? "", date)
    }

    private func returned(_ message: MessageStanza, _ error: StanzaError) -> XMLElement {
      MessageStanza(
        .error, id: message.id, from: room, to: client, payload: [error.element]
      ).element
    }

    /// An occupant's message, as it reaches the client.
    mutating func say(
      _ body: String, _ name: String, id: String, _ date: WallTime
    ) -> [XMLElement] {
      lastID += 1
      let entry = Entry(id: "a\(lastID)", nickname: name, messageID: id, body: body, date: date)
      archive.append(entry)
      defer { losesNext = false }
      guard nickname != nil, !losesNext else { return [] }
      var message = stanza(entry)
      message.to = client
      if hasArchive, let id = StanzaID(entry.id) {
        message.payload.append(ServerID(id, by: room).element)
      }
      return [message.element]
    }

    private func stanza(_ entry: Entry) -> MessageStanza {
      var message = MessageStanza(
        .groupchat, id: StanzaID(entry.messageID), from: occupant(entry.nickname))
      message.body = entry.body
      if let id = message.id { message.payload.append(OriginID(id).element) }
      return message
    }

    /// The answers that were held back.
    mutating func answerAll() -> [XMLElement] {
      let waiting = unanswered
      unanswered = []
      (isArchiveSilent, isBookmarkSilent) = (false, false)
      return waiting.flatMap { take($0) }
    }

    private mutating func take(_ iq: IQStanza) -> [XMLElement] {
      if isArchiveSilent && iq[ArchiveQuery.self] != nil || isBookmarkSilent && iq.to == nil {
        unanswered.append(iq)
        return []
      }
      let isAboutRoom =
        iq[DiscoInfo.self] != nil || iq.payload.first?.namespace == Namespace.roomOwner
      if isRoomSilent, isAboutRoom { return [] }
      var answer = iq.result()
      answer.from = iq.to
      answer.to = client
      if iq[Ping.self] != nil {
        guard answersPings else { return [] }
        guard nickname != nil else {
          answer.kind = .error
          answer.payload = [StanzaError(.cancel, .notAcceptable).element]
          return [answer.element]
        }
      } else if iq[DiscoInfo.self] != nil {
        answer.payload = [
          DiscoInfo(
            features: hasArchive ? [Namespace.room, Namespace.archive, Namespace.stanzaIDs] : []
          ).element
        ]
      } else if let query = iq[ArchiveQuery.self] {
        return page(query, answer)
      } else if iq.to == nil, iq.kind == .get {
        let items = XMLElement(
          "items", Namespace.pubSub, ["node": Namespace.bookmarks], children: bookmarks)
        answer.payload = [XMLElement("pubsub", Namespace.pubSub, children: [items])]
      } else if let publication = iq.payload.first?.child("publish", Namespace.pubSub),
        let item = publication.child("item", Namespace.pubSub)
      {
        let options = iq.payload.first?.child("publish-options", Namespace.pubSub)?.children ?? []
        if refusesOptions, DataForm.first(in: options)?["pubsub#max_items"] != nil {
          answer.kind = .error
          answer.payload = [StanzaError(.wait, .resourceConstraint).element]
          return [answer.element]
        }
        bookmarks.removeAll { $0["id"] == item["id"] }
        bookmarks.append(item)
      }
      return [answer.element]
    }

    private func page(_ query: ArchiveQuery, _ answer: IQStanza) -> [XMLElement] {
      var answer = answer
      let count = query.page.max ?? 50
      var rest = archive[...]
      if let after = query.page.after {
        guard let place = archive.firstIndex(where: { $0.id == after }) else {
          answer.kind = .error
          answer.payload = [StanzaError(.cancel, .itemNotFound).element]
          return [answer.element]
        }
        rest = archive[(place + 1)...]
      }
      if let start = query.start?.milliseconds { rest = rest.drop { $0.date < start } }
      if let before = query.page.before, !before.isEmpty {
        rest = rest[..<(rest.firstIndex { $0.id == before } ?? rest.endIndex)]
      }
      let page = query.page.before == nil ? rest.prefix(count) : rest.suffix(count)
      let results = page.compactMap { entry -> XMLElement? in
        guard let id = StanzaID(entry.id) else { return nil }
        let forwarded = Forwarded(
          stanza(entry), delay: Delay(Timestamp(milliseconds: entry.date)))
        return MessageStanza(
          .normal, from: room, to: client,
          payload: [ArchiveResult(query: query.id, id: id, forwarded).element]
        ).element
      }
      answer.payload = [
        ArchiveEnd(isComplete: page.count == rest.count, page: ResultSet()).element
      ]
      return results + [answer.element]
    }
  }
#endif
