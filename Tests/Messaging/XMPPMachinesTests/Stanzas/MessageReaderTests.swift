#if Messaging
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Messages as stanzas")
  struct MessageReaderTests {
    private static let account = "ann@chat.example"
    private static let wall: WallTime = 1_700_000_000_000

    private func element(_ text: String) throws -> XMLElement {
      let parser = XMLStreamParser()
      parser.append(
        Array("<stream:stream xmlns='jabber:client' xmlns:stream='\(Namespace.stream)'>".utf8))
      _ = try parser.next()
      parser.append(Array(text.utf8))
      guard case .element(let element)? = try parser.next() else { throw NotAnElement() }
      return element
    }

    private struct NotAnElement: Error {}

    private func reader(guardsIDs: Bool = true) throws -> MessageReader {
      var reader = MessageReader(account: try #require(JID(Self.account)))
      reader.guardsArchiveIDs = guardsIDs
      return reader
    }

    private func message(_ text: String, guardsIDs: Bool = true) throws -> InboundMessage? {
      let item = try reader(guardsIDs: guardsIDs).read(try element(text), wall: Self.wall)
      if case .message(let message) = item { return message }
      return nil
    }

    private func content(_ text: String) throws -> MessageContent? {
      guard case .content(let content)? = try message(text)?.kind else { return nil }
      return content
    }

    @Test("a message of this library is read as it was written")
    func roundTrip() throws {
      let order = OrderElement(stream: OrderStreamID(high: 1, low: 2), number: 7, since: 5)
      let written = try #require(
        MessageWriter.element(
          OutboundStanza(
            recipient: Self.account,
            kind: .message(originID: "m1", order, MessageContent(body: "a < b & \"c\"")), row: nil))
      )
      var sent = written
      sent["from"] = "bob@chat.example/phone"
      let text = String(decoding: XMLWriter.bytes(of: sent), as: UTF8.self)
      let read = try #require(try message(text))
      #expect(read.sender == "bob@chat.example" && read.recipient == Self.account)
      #expect(read.id == "m1" && read.originID == "m1" && read.order == order && read.wantsReceipt)
      #expect(read.kind == .content(MessageContent(body: "a < b & \"c\"")))
    }

    @Test func `Messages of a blocked sender are marked, live, as carbons and in the archive`()
      throws
    {
      let bob = try #require(JID("bob@x"))
      var reader = try reader()
      reader.blocks.set(BlockedAddress(bob, since: 0))
      func isBlocked(_ text: String) throws -> Bool? {
        switch reader.read(try element(text), wall: Self.wall) {
        case .message(let message): message.isBlocked
        case .archived(_, _, let message): message?.isBlocked
        case .other: nil
        }
      }
      func archived(_ stamp: String) -> String {
        """
        <message from='\(Self.account)'><result xmlns='urn:xmpp:mam:2' queryid='q' id='1'>
        <forwarded xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='\(stamp)'/>
        <message xmlns='jabber:client' from='bob@x/a' to='\(Self.account)'><body>x</body></message>
        </forwarded></result></message>
        """
      }
      let carbon = """
        <message from='\(Self.account)'><%@ xmlns='urn:xmpp:carbons:2'>
        <forwarded xmlns='urn:xmpp:forward:0'>
        <message xmlns='jabber:client' from='%@' to='bob@x'><body>x</body></message>
        </forwarded></%@></message>
        """
      #expect(try isBlocked("<message from='bob@x/a'><body>x</body></message>") == true)
      #expect(try isBlocked("<message from='kim@x/a'><body>x</body></message>") == false)
      let received = carbon.replacing("<%@", with: "<received").replacing(
        "</%@", with: "</received")
      #expect(try isBlocked(received.replacing("%@", with: "bob@x/a")) == true)
      let sent = carbon.replacing("<%@", with: "<sent").replacing("</%@", with: "</sent")
      #expect(try isBlocked(sent.replacing("%@", with: "\(Self.account)/b")) == false)
      #expect(try isBlocked(archived("2023-11-14T22:13:20Z")) == true)
      // After the end of the block, only messages of its time are kept away.
      reader.blocks.set(
        BlockedAddress(bob, since: Self.wall - 1_000, until: Self.wall + 1_000))
      #expect(try isBlocked("<message from='bob@x/a'><body>x</body></message>") == false)
      #expect(try isBlocked(archived("2023-11-14T22:13:20Z")) == true)
      #expect(try isBlocked(archived("2023-11-14T22:13:22Z")) == false)
    }

    @Test("receipts, void numbers and requests for missing numbers are read as they were written")
    func control() throws {
      let stream = OrderStreamID(high: .max, low: 1)
      let order = OrderElement(stream: stream, number: 3)
      func read(_ kind: OutboundStanza.Kind) throws -> InboundMessage {
        let element = try #require(
          MessageWriter.element(OutboundStanza(recipient: Self.account, kind: kind, row: nil)))
        return try #require(
          try message(String(decoding: XMLWriter.bytes(of: element), as: UTF8.self)))
      }
      let receipt = try read(.receipt("m1", order))
      #expect(receipt.kind == .receipt("m1") && receipt.order == order)
      let void = try read(.void(order))
      #expect(void.kind == .void && void.order == order)
      #expect(try read(.missing(stream, 2...9)).kind == .missing(stream, 2...9))
    }

    @Test("an id of the archive counts only from the own account, once, at a server that guards it")
    func archiveIDs() throws {
      func id(_ marks: String, guardsIDs: Bool = true) throws -> String? {
        try message(
          "<message from='bob@chat.example'><body>x</body>\(marks)</message>", guardsIDs: guardsIDs)?
          .archiveID
      }
      let own = "<stanza-id xmlns='urn:xmpp:sid:0' by='ann@chat.example' id='7'/>"
      let other = "<stanza-id xmlns='urn:xmpp:sid:0' by='bob@chat.example' id='8'/>"
      #expect(try id(own) == "7")
      #expect(try id(own + other) == "7")
      #expect(try id(other) == nil)
      #expect(try id(own + own.replacing("7", with: "9")) == nil)
      #expect(try id(own, guardsIDs: false) == nil)
    }

    @Test("a carbon keeps the address of the stanza around it, which the machine checks")
    func carbons() throws {
      let inner =
        "<forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client' to='bob@chat.example' "
        + "from='ann@chat.example/other' id='c1'><body>hi</body></message></forwarded>"
      let carbon = "<sent xmlns='urn:xmpp:carbons:2'>\(inner)</sent>"
      for sender in ["ann@chat.example", "eve@evil.example", "room@conference.example/eve"] {
        let read = try #require(try message("<message from='\(sender)'>\(carbon)</message>"))
        #expect(read.wrapper == .carbon(from: sender))
        #expect(read.sender == "ann@chat.example" && read.recipient == "bob@chat.example")
      }
    }

    @Test("a result of the archive counts only from the own account")
    func results() throws {
      let result =
        "<result xmlns='urn:xmpp:mam:2' queryid='q' id='28'><forwarded xmlns='urn:xmpp:forward:0'>"
        + "<delay xmlns='urn:xmpp:delay' stamp='2026-01-02T03:04:05Z'/><message xmlns='jabber:client' "
        + "from='bob@chat.example/x' to='ann@chat.example'><body>old</body></message></forwarded></result>"
      let stanza = "<message from='ann@chat.example'>\(result)</message>"
      let item = try reader().read(try element(stanza), wall: Self.wall)
      guard case .archived("q", let mark, let found?) = item else {
        Issue.record("\(item)")
        return
      }
      #expect(mark == ArchiveMark(id: "28", date: 1_767_323_045_000))
      #expect(
        found.archiveID == "28" && found.date == mark.date && found.sender == "bob@chat.example")
      let forged = try element(stanza.replacing("from='ann@", with: "from='eve@"))
      if case .archived = try reader().read(forged, wall: Self.wall) {
        Issue.record("a forged result counts")
      }
    }

    @Test(
      "what is no message for a person is only counted",
      arguments: [
        "<composing xmlns='http://jabber.org/protocol/chatstates'/>",
        "<event xmlns='http://jabber.org/protocol/pubsub#event'/>", "",
      ])
    func passing(_ payload: String) throws {
      let read = try message("<message from='bob@chat.example' type='chat'>\(payload)</message>")
      #expect(read?.kind == .other)
    }

    @Test("a message of a room is left to rooms, which have an order of their own")
    func rooms() throws {
      let text = "<message from='room@rooms.example/bob' type='groupchat'><body>x</body></message>"
      #expect(try message(text) == nil)
    }

    @Test("a text that stands in for encrypted or unknown content is kept, and is not the body")
    func standIns() throws {
      for mark in [
        "<encryption xmlns='urn:xmpp:eme:0' namespace='eu.siacs.conversations.axolotl'/>",
        "<encrypted xmlns='eu.siacs.conversations.axolotl'/>",
        "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reactions:0'/>",
      ] {
        let found = try #require(
          try content("<message from='b@x'><body>Your app can't show this</body>\(mark)</message>"))
        #expect(found.body.isEmpty)
        #expect(found.elements.contains("Your app can't show this"))
      }
    }

    @Test("unknown content without a text is a message")
    func unknown() throws {
      let found = try #require(
        try content("<message from='b@x'><poll xmlns='urn:polls' id='1'/></message>"))
      #expect(found.body.isEmpty && found.elements == "<poll xmlns='urn:polls' id='1'/>")
    }

    @Test("an error names the message that it is about, and its condition")
    func errors() throws {
      let read = try message(
        "<message type='error' from='bob@chat.example' id='m1'><error type='cancel'>"
          + "<service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>")
      #expect(read?.kind == .error("service-unavailable", of: "m1"))
      let late = try message(
        "<message type='error' from='bob@chat.example' id='m1'><error type='wait'>"
          + "<remote-server-timeout xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
      )
      #expect(late?.kind == .error("remote-server-timeout", of: "m1", isTransient: true))
    }

    @Test("a delay is believed from the own server only")
    func delays() throws {
      func date(_ from: String) throws -> WallTime? {
        try message(
          "<message from='bob@x'><body>x</body><delay xmlns='urn:xmpp:delay' from='\(from)' "
            + "stamp='2026-01-02T03:04:05Z'/></message>")?.date
      }
      #expect(try date("chat.example") == 1_767_323_045_000)
      #expect(try date("evil.example") == Self.wall)
    }

    @Test
    func `A private message of an occupant is of its full address, without number and receipt`()
      throws
    {
      var reader = try reader()
      let text =
        "<message type='chat' id='1' from='lab@rooms.example/bob' to='ann@chat.example/a'>"
        + "<body>psst</body><request xmlns='urn:xmpp:receipts'/>"
        + "<order xmlns='urn:x-ambit:order:1' stream='\(String(repeating: "a", count: 32))' n='1'/>"
        + "<x xmlns='http://jabber.org/protocol/muc#user'/></message>"
      guard case .message(let plain) = reader.read(try element(text), wall: 0) else {
        Issue.record("it is no message")
        return
      }
      #expect(plain.sender == "lab@rooms.example" && plain.order != nil)
      reader.rooms = [try #require(JID("lab@rooms.example"))]
      guard case .message(let message) = reader.read(try element(text), wall: 0) else {
        Issue.record("it is no message")
        return
      }
      #expect(message.sender == "lab@rooms.example/bob")
      #expect(message.order == nil && !message.wantsReceipt)
      let sent = OutboundStanza(
        recipient: "lab@rooms.example/bob",
        kind: .message(
          originID: "o1", OrderElement(stream: OrderStreamID(high: 1, low: 1), number: 1),
          MessageContent(body: "yes")), row: nil)
      let stanza = try #require(MessageWriter.element(sent))
      #expect(stanza.child("order", Namespace.order) == nil)
      #expect(stanza.child("request", Namespace.receipts) == nil)
      #expect(stanza.child("x", Namespace.roomUser) != nil)
    }

    @Test func `An invitation by a blocked account is blocked, also by way of a room`() throws {
      var reader = try reader()
      reader.blocks.set(BlockedAddress(try #require(JID("eve@x")), since: 0))
      let text =
        "<message from='lab@rooms.example'><x xmlns='http://jabber.org/protocol/muc#user'>"
        + "<invite from='eve@x/a'/></x></message>"
      guard case .message(let message) = reader.read(try element(text), wall: 5) else {
        Issue.record("it is no message")
        return
      }
      #expect(message.isBlocked)
    }
  }
#endif
