#if Messaging
  import Testing

  @testable import XMPPWire

  @Suite("Components and push services")
  struct ComponentTests {
    @Test func `A component's stream has a namespace of its own and no version`() {
      let opening = String(decoding: ComponentStream.opening(domain: "push.example"), as: UTF8.self)
      #expect(
        opening == "<?xml version='1.0'?><stream:stream xmlns='jabber:component:accept' "
          + "xmlns:stream='http://etherx.jabber.org/streams' to='push.example'>")
    }

    @Test func `The handshake is the digest of stream id and secret in lower-case hexadecimal`() {
      let text = ComponentStream.handshakeText(streamID: "3BF96D32", secret: "correct horse")
      #expect(String(decoding: text, as: UTF8.self) == "3BF96D32correct horse")
      // As `printf '3BF96D32correct horse' | sha1sum` has it.
      let digest: [UInt8] = [
        0xcb, 0xaf, 0xf3, 0x6a, 0xac, 0xf5, 0x28, 0xbc, 0x1d, 0x56, 0xff, 0x6c, 0xf3, 0x95, 0x38,
        0xef, 0xec, 0x7d, 0xe7, 0x50,
      ]
      #expect(PlainFunctions().digest(.sha1, text) == digest)
      #expect(
        String(decoding: ComponentStream.handshake(digest), as: UTF8.self)
          == "<handshake>cbaff36aacf528bc1d56ff6cf39538efec7de750</handshake>")
    }

    @Test func `Stanzas of a component are a client's with all their children, and back`() throws {
      let text = """
        <message from='ann@chat.example/a' to='push.example'><body>Hi</body>\
        <x xmlns='urn:other'><body xmlns='jabber:component:accept'/></x></message>
        """
      let bytes = ComponentStream.opening(domain: "push.example") + Array(text.utf8)
      guard case .element(let element)? = parse(bytes).items.last else {
        throw Failure.noElement
      }
      let moved = ComponentStream.clientElement(element)
      #expect(MessageStanza(moved)?.body == "Hi")
      let written = ComponentStream.bytes(of: moved)
      #expect(parse(ComponentStream.opening(domain: "p") + written).items.last == .element(element))
      #expect(!String(decoding: written, as: UTF8.self).contains("jabber:client"))
    }

    @Test func `A publication is read as XEP-0357 has it, without its summary`() throws {
      let element = try #require(
        parsedElement(
          """
          <iq type='set' from='chat.example' to='push.example' id='97'>
            <pubsub xmlns='http://jabber.org/protocol/pubsub'>
              <publish node='yxs32uqsflafdk3iuqo'>
                <item>
                  <notification xmlns='urn:xmpp:push:0'>
                    <x xmlns='jabber:x:data' type='form'>
                      <field var='last-message-body'><value>Wherefore art thou</value></field>
                    </x>
                  </notification>
                </item>
              </publish>
            </pubsub>
          </iq>
          """))
      let publication = try #require(IQStanza(element)?[PushPublication.self])
      #expect(publication == PushPublication(node: "yxs32uqsflafdk3iuqo"))
      #expect(PushPublication(publication.element) == publication)
      for node in ["", String(repeating: "a", count: 257)] {
        #expect(PushPublication(PushPublication(node: node).element) == nil)
      }
    }

    @Test func `A registration is written as XEP-0357 has it, and read again`() throws {
      let service = try #require(JID("push.example"))
      for (isEnabled, node) in [(true, "yxs32uqsflafdk3iuqo"), (false, nil)] {
        let registration = PushRegistration(isEnabled: isEnabled, service: service, node: node)
        #expect(PushRegistration(registration.element) == registration)
        let text = String(decoding: XMLWriter.bytes(of: registration.element), as: UTF8.self)
        let name = isEnabled ? "enable" : "disable"
        let attribute = node.map { " node='\($0)'" } ?? ""
        #expect(text == "<\(name) xmlns='urn:xmpp:push:0' jid='push.example'\(attribute)/>")
      }
      #expect(PushRegistration(XMLElement("enable", Namespace.push)) == nil)
      #expect(PushRegistration(XMLElement("other", Namespace.push, ["jid": "push.example"])) == nil)
    }

    private enum Failure: Error { case noElement }
  }
#endif
