#if Messaging
  package import XMPPWire

  /// Reads message stanzas as the machine of messages takes them: without carbons and archive results around them.
  package struct MessageReader: Sendable {
    /// What a message stanza is.
    package enum Item: Hashable, Sendable {
      /// A message of the own account, or to it.
      case message(InboundMessage)
      /// A result of a query of the own archive; its message is nil if it has none that can be read.
      case archived(query: String, ArchiveMark, InboundMessage?)
      /// Anything else. It only counts as a stanza.
      case other
    }

    /// The account's bare address.
    package let account: JID
    /// Whether the account's server announces that it guards the ids of its archive (XEP-0359, §5).
    package var guardsArchiveIDs = false
    /// The senders whose messages are not handed over.
    package var blocks = BlockList()
    /// Rooms whose occupants may send private messages (XEP-0045, §7.5): each occupant is a peer.
    package var rooms: Set<JID> = []

    package init(account: JID) { self.account = account.bare }

    /// Reads a stanza that came at `wall`, in milliseconds since 1970.
    package func read(_ element: XMLElement, wall: WallTime) -> Item {
      guard let stanza = MessageStanza(element) else { return .other }
      if isOwn(stanza.from), let result = first(ArchiveResult.self, in: stanza),
        let query = result.query
      {
        let date = result.forwarded.delay?.stamp.milliseconds ?? wall
        return .archived(
          query: query, ArchiveMark(id: result.id.text, date: date),
          read(
            result.forwarded.message, archiveID: result.id, .none, date: date, isArchived: true))
      }
      if let carbon = first(Carbon.self, in: stanza) {
        let forwarded =
          switch carbon {
          case .sent(let inner), .received(let inner): inner
          }
        let date = forwarded.delay?.stamp.milliseconds ?? wall
        return read(
          forwarded.message, archiveID: archiveID(forwarded.message),
          .carbon(from: stanza.from?.description), date: date
        ).map(Item.message) ?? .other
      }
      return read(stanza, archiveID: archiveID(stanza), .none, date: date(stanza) ?? wall)
        .map(Item.message) ?? .other
    }

    /// The first child that is this extension. The compiler makes a version for each of them, which it does not for a function
    /// of another module: every message is looked through for a dozen.
    private func first<E: XMPPExtension>(_: E.Type, in stanza: MessageStanza) -> E? {
      for element in stanza.payload {
        if let value = E(element) { return value }
      }
      return nil
    }

    private func isOwn(_ sender: JID?) -> Bool { sender.map { $0 == account } ?? true }

    private func archiveID(_ stanza: MessageStanza) -> StanzaID? {
      guard guardsArchiveIDs else { return nil }
      return ServerID.only(by: account, in: stanza.payload)
    }

    /// When the own server got a message that it delivers late. Other delays are the sender's claims.
    private func date(_ stanza: MessageStanza) -> WallTime? {
      for case let delay? in stanza.payload.lazy.map(Delay.init) {
        guard let from = delay.from, from.domain == account.domain else { continue }
        return delay.stamp.milliseconds
      }
      return nil
    }

    /// Nil for messages of rooms, which have an order of their own.
    private func read(
      _ stanza: MessageStanza, archiveID: StanzaID?, _ wrapper: InboundMessage.Wrapper,
      date: WallTime, isArchived: Bool = false
    ) -> InboundMessage? {
      guard stanza.kind != .groupchat else { return nil }
      // A nickname may be another person's later: messages to its first holder are not repeated.
      let isPrivate = [stanza.from, stanza.to].contains { isOccupant($0) }
      let order =
        isPrivate ? nil : stanza.payload.lazy.compactMap(OrderElement.init(reading:)).first
      var message = InboundMessage(
        sender: peer(stanza.from), recipient: peer(stanza.to),
        id: stanza.id?.text, originID: first(OriginID.self, in: stanza)?.id.text,
        archiveID: archiveID?.text,
        order: order,
        wantsReceipt: !isPrivate && first(Receipt.self, in: stanza) == .request && stanza.id != nil,
        kind: kind(stanza, hasOrder: order != nil), wrapper: wrapper, date: date)
      if let from = stanza.from, !from.isSameAccount(as: account) {
        for element in stanza.payload {
          if element.namespace == Namespace.chatStates { message.showsChatStates = true }
          if element.has("markable", Namespace.chatMarkers) { message.isMarkable = true }
        }
        let inviter = first(RoomUser.self, in: stanza)?.invitation?.from
        message.isBlocked = [from, inviter].compactMap { $0 }.contains {
          isArchived ? blocks.isBlocked($0, at: date) : blocks.isBlocked($0)
        }
      }
      return message
    }

    private func isOccupant(_ jid: JID?) -> Bool {
      jid.map { !$0.isBare && rooms.contains($0.bare) } ?? false
    }

    private func peer(_ jid: JID?) -> String? {
      jid.map { isOccupant($0) ? $0.description : $0.bare.description }
    }

    private func kind(_ stanza: MessageStanza, hasOrder: Bool) -> InboundMessage.Kind {
      if stanza.kind == .error {
        guard let id = stanza.id, let error = stanza.error else { return .other }
        return .error(
          error.condition.rawValue, of: id.text, isTransient: error.kind == .wait)
      }
      if let missing = first(MissingRequest.self, in: stanza) {
        return .missing(missing.stream, missing.numbers)
      }
      if stanza.payload.contains(where: { $0.has("order", Namespace.order) && $0["void"] != nil }) {
        return .void
      }
      if stanza.body == nil {
        if case .received(let id)? = first(Receipt.self, in: stanza) { return .receipt(id.text) }
        if let marker = stanza.payload.first(where: { $0.has("displayed", Namespace.chatMarkers) }),
          let id = marker["id"].flatMap({ StanzaID($0) })
        {
          return .displayed(id.text)
        }
        let content = stanza.payload.contains { !Self.isPassing($0) }
        guard content || hasOrder else { return .other }
      }
      return .content(MessageContent(reading: stanza))
    }

    /// Namespaces of elements that are no content by themselves.
    private static let passing: Set = [
      Namespace.chatStates, Namespace.hints, Namespace.stanzaIDs, Namespace.delay,
      Namespace.receipts,
      Namespace.order, Namespace.encryption, Namespace.fallback, Namespace.chatMarkers,
      "http://jabber.org/protocol/pubsub#event", "jabber:x:delay",
    ]

    /// Whether a message of a room has content besides its body.
    static func hasContent(_ stanza: MessageStanza) -> Bool {
      stanza.payload.contains { element in
        !isPassing(element) && !element.has("subject", Namespace.client)
          && ![Namespace.roomUser, Namespace.occupantID].contains(element.namespace)
      }
    }

    /// Whether an element by itself is no message for a person: typing, hints, events.
    private static func isPassing(_ element: XMLElement) -> Bool {
      passing.contains(element.namespace)
        || element.namespace == Namespace.client && element.name == "thread"
        || RoomUser(element).map { $0.invitation == nil } ?? false
    }
  }

  extension OrderElement {
    /// Nil for another element, and for one that is malformed.
    package init?(reading element: XMLElement) {
      guard let mark = OrderMark(element) else { return nil }
      self.init(
        stream: mark.stream, number: mark.number,
        since: element["since"].flatMap { UInt64($0) })
      guard isValid else { return nil }
    }
  }

  extension MessageContent {
    /// The content of a stanza. A text that only replaces content for clients without an extension is kept among the
    /// elements, and is not the body, and so is that of a change of an earlier message: no app may show it as another one.
    init(reading stanza: MessageStanza) {
      let isStandIn =
        EncryptionMark.bodyIsStandIn(in: stanza.payload)
        || Revision.first(in: stanza.payload) != nil
      var writer = XMLWriter()
      for element in stanza.payload where !Self.isOfMachines(element) {
        if !isStandIn, element.has("body", Namespace.client) { continue }
        writer.write(element, inside: Namespace.client)
      }
      self.init(
        body: isStandIn ? "" : stanza.body ?? "",
        elements: String(decoding: writer.bytes, as: UTF8.self))
    }

    /// Whether the machines read and write an element, so that it is no content.
    private static func isOfMachines(_ element: XMLElement) -> Bool {
      machineNamespaces.contains(element.namespace)
    }

    private static let machineNamespaces: Set = [
      Namespace.order, Namespace.receipts, Namespace.stanzaIDs, Namespace.hints, Namespace.delay,
      Namespace.chatStates, Namespace.chatMarkers, Namespace.occupantID,
    ]
  }
#endif
