#if Messaging
  package import XMPPWire

  /// Writes the stanzas of the machine of messages.
  package enum MessageWriter {
    /// The stanza; nil if the recipient is no address.
    package static func element(_ stanza: OutboundStanza) -> XMLElement? {
      guard let recipient = JID(stanza.recipient) else { return nil }
      var message = MessageStanza(.chat, to: recipient)
      switch stanza.kind {
      case .message(let originID, let order, let content):
        guard let id = StanzaID(originID) else { return nil }
        message.id = id
        message.body = content.body
        message.payload += XMLFragment.elements(of: content.elements)
        // A private message to an occupant of a room (XEP-0045, §7.5). A later holder of the nickname must not get receipts
        // and repetitions.
        guard recipient.isBare else {
          message.payload += [
            OriginID(id).element, ProcessingHint.store.element, RoomUser().element,
          ]
          break
        }
        message.payload += [
          Receipt.request.element, OriginID(id).element, order.element(),
          ProcessingHint.store.element, ChatState.active.element, ChatMarker.markable.element,
        ]
      case .void(let order):
        message.payload = [order.element(isVoid: true), ProcessingHint.store.element]
      case .receipt(let name, let order):
        guard let id = StanzaID(name) else { return nil }
        message.payload = [Receipt.received(id).element]
        if let order { message.payload.append(order.element()) }
        message.payload.append(ProcessingHint.store.element)
      case .missing(let stream, let numbers):
        message.payload = [
          MissingRequest(stream: stream, numbers: numbers).element,
          ProcessingHint.noStore.element,
        ]
      }
      return message.element
    }

    /// A row of the outbox as the stanza that carries it.
    package static func element(_ row: OutgoingRow) -> XMLElement? {
      guard let content = row.content else { return nil }
      return element(
        OutboundStanza(
          recipient: row.peer,
          kind: .message(originID: row.originID, row.order, content), row: row.id))
    }

    /// A receipt as the stanza that carries it.
    package static func element(_ receipt: OwedReceipt) -> XMLElement? {
      element(
        OutboundStanza(
          recipient: receipt.recipient, kind: .receipt(receipt.name, receipt.order),
          row: receipt.id))
    }

    /// A query of the own archive.
    package static func query(_ query: ArchiveRequest, account: JID) -> IQStanza? {
      guard let id = StanzaID(queryID(query.id)) else { return nil }
      var page = ResultSet(max: query.countMax)
      var start: Timestamp?
      switch query.start {
      case .beginning: break
      case .after(let entry): page.after = entry
      case .date(let date): start = Timestamp(milliseconds: date)
      case .last: page.before = ""
      case .before(let entry): page.before = entry
      }
      let wire = ArchiveQuery(id: queryID(query.id), start: start, page: page)
      return IQStanza(.set, id: id, to: account.bare, payload: [wire.element])
    }

    /// The identifier of a query in stanzas.
    package static func queryID(_ number: UInt64) -> String { "ambit-archive-\(number)" }
  }

  extension OrderElement {
    fileprivate func element(isVoid: Bool = false) -> XMLElement {
      var element = OrderMark(stream: stream, number: number).element
      if isVoid { element["void"] = "true" }
      if let since { element["since"] = "\(since)" }
      return element
    }
  }
#endif
