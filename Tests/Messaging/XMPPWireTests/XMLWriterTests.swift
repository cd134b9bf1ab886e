#if Messaging
  import Essentials
  import Testing

  @testable import XMPPWire

  @Suite("Writing XML")
  struct XMLWriterTests {
    @Test(
      "random elements come back from a parser as they were written",
      arguments: 1...200 as ClosedRange<UInt64>)
    func roundTrip(seed: UInt64) {
      var chance = SeededGenerator(seed: seed)
      let element = chance.element()
      let result = parse(header + XMLWriter.bytes(of: element))
      #expect(result.error == nil, "seed \(seed)")
      #expect(result.items.dropFirst() == [.element(element)], "seed \(seed)")
    }

    @Test(
      "characters that XML lacks become U+FFFD instead of ending the stream, and a text can be checked for them"
    )
    func forbidden() {
      let text = "a\u{0}b\u{1B}c\u{FFFE}d"
      #expect(!text.isXMLText && "a\n\t\r é😀".isXMLText)
      let body = XMLElement("body", Namespace.client, ["a": text], text: text)
      let result = parse(header + XMLWriter.bytes(of: body))
      let replaced = "a\u{FFFD}b\u{FFFD}c\u{FFFD}d"
      #expect(
        result.items.last
          == .element(XMLElement("body", Namespace.client, ["a": replaced], text: replaced)))
    }

    @Test("text can't end its element or its attribute")
    func injection() {
      let text = "'\"/></body></message><iq id='x'>]]>"
      let message = XMLElement(
        "message", Namespace.client, ["id": text],
        children: [XMLElement("body", Namespace.client, text: text)])
      let result = parse(header + XMLWriter.bytes(of: message))
      #expect(result.items.dropFirst() == [.element(message)])
    }

    @Test("a stanza needs no declaration of a namespace, and a child of another namespace one")
    func namespaces() {
      var message = MessageStanza(.chat, id: StanzaID("1"), to: JID("a@b"))
      message.body = "x"
      message.payload.append(Receipt.request.element)
      #expect(
        String(decoding: XMLWriter.bytes(of: message.element), as: UTF8.self)
          == "<message type='chat' to='a@b' id='1'><body>x</body>"
          + "<request xmlns='urn:xmpp:receipts'/></message>")
      let error = StreamError(.conflict).element
      #expect(
        String(decoding: XMLWriter.bytes(of: error), as: UTF8.self)
          == "<stream:error><conflict xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error>")
    }
  }
#endif
