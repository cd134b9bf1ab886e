#if Messaging
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Content of other clients, and what they forge")
  struct ForeignContentTests {
    private static let account = "ann@chat.example"

    private static func element(_ text: String) throws -> XMLElement {
      let parser = XMLStreamParser()
      parser.append(
        Array("<stream:stream xmlns='jabber:client' xmlns:stream='\(Namespace.stream)'>".utf8))
      _ = try parser.next()
      parser.append(Array(text.utf8))
      guard case .element(let element)? = try parser.next() else {
        throw XMLStreamError.restricted
      }
      return element
    }

    private static func message(_ text: String) throws -> InboundMessage? {
      let reader = MessageReader(account: try #require(JID(account)))
      guard case .message(let message) = reader.read(try element(text), wall: 0) else { return nil }
      return message
    }

    @Test(
      arguments: [
        "<replace xmlns='urn:xmpp:message-correct:0' id='m1'/>",
        "<retract xmlns='urn:xmpp:message-retract:1' id='m1'/>",
        "<apply-to xmlns='urn:xmpp:fasten:0' id='m1'><retract xmlns='urn:xmpp:message-retract:0'/></apply-to>",
        "<reactions xmlns='urn:xmpp:reactions:0' id='m1'><reaction>+1</reaction></reactions>",
      ])
    func `A change of an earlier message is no message with a text of its own`(change: String)
      throws
    {
      let read = try #require(
        try Self.message("<message from='bob@x/a' id='m2'><body>a text</body>\(change)</message>"))
      guard case .content(let content) = read.kind else {
        Issue.record("it is no content")
        return
      }
      #expect(content.body.isEmpty && content.elements.contains("<body>a text</body>"))
      #expect(content.elements.contains("m1"))
    }

    @Test func `An answer to a message is a message of its own`() throws {
      let read = try Self.message(
        "<message from='bob@x/a'><body>Yes</body><reply xmlns='urn:xmpp:reply:0' id='m1'/></message>"
      )
      guard case .content(let content)? = read?.kind else {
        Issue.record("it is no content")
        return
      }
      #expect(content.body == "Yes")
    }

    private static let forged =
      "<received xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'>"
      + "<message xmlns='jabber:client' from='bob@x/a' to='ann@chat.example'><body>forged</body></message>"
      + "</forwarded></received>"

    @Test func `A carbon inside a message of a room is not believed, whether the room is joined`()
      throws
    {
      let text =
        "<message type='groupchat' from='lab@rooms.example/eve' to='ann@chat.example/a'>\(Self.forged)</message>"
      let read = try #require(try Self.message(text))
      #expect(read.wrapper == .carbon(from: "lab@rooms.example/eve"))
      var bench = MachineBench()
      bench.connect()
      bench.receive(read)
      #expect(bench.texts.isEmpty)
      #expect(bench.reports == [.forgedCarbon(from: "lab@rooms.example/eve")])
      var run = try RoomRun()
      run.connect()
      run.join()
      run.settle()
      try run.receive(
        "<message type='groupchat' from='lab@rooms.example/bob'>\(Self.forged)</message>")
      #expect(!run.bodies.contains("forged"))
    }

    @Test func `A message of a room inside a carbon is left to the room`() throws {
      let inner = Self.forged.replacing("from='bob@x/a'", with: "type='groupchat' from='lab@x/bob'")
      #expect(try Self.message("<message from='ann@chat.example'>\(inner)</message>") == nil)
    }

    @Test func `Messages and receipts are for the archive, and questions about numbers aren't`()
      throws
    {
      let order = OrderElement(stream: OrderStreamID(high: 1, low: 1), number: 1)
      func hints(_ kind: OutboundStanza.Kind) throws -> [ProcessingHint] {
        let stanza = OutboundStanza(recipient: "bob@x", kind: kind, row: nil)
        return try #require(MessageWriter.element(stanza)).children.compactMap(ProcessingHint.init)
      }
      #expect(try hints(.message(originID: "1", order, MessageContent(body: "x"))) == [.store])
      #expect(try hints(.receipt("1", order)) == [.store])
      #expect(try hints(.void(order)) == [.store])
      #expect(try hints(.missing(order.stream, 1...2)) == [.noStore])
    }
  }
#endif
