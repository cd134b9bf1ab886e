#if Messaging
  import Testing

  @testable import XMPPWire

  @Suite("Addresses and stanzas")
  struct StanzaTests {
    @Test("an address has its parts, and is written as it was read")
    func address() throws {
      for (text, local, domain, resource) in [
        ("a@b/c", "a", "b", "c"), ("b", nil, "b", nil), ("a@b", "a", "b", nil),
        ("b/c@d/e", nil, "b", "c@d/e"), ("a@b/c/d@e f", "a", "b", "c/d@e f"),
        ("é@ß.x", "é", "ß.x", nil),
      ] as [(String, String?, String, String?)] {
        let jid = try #require(JID(text), "\(text)")
        #expect(jid.local == local && jid.domain == domain && jid.resource == resource)
        #expect(jid.description == text && jid.bare.resource == nil)
      }
    }

    @Test(
      "invalid addresses are refused",
      arguments: [
        "", "@b", "a@", "a@b/", "/c", "a b@c", "a\u{7F}@b", "a'@b", "<@b", "a@b@c", "a@b\u{0}",
        "a@b/\n",
        String(repeating: "x", count: 1_024), "a@" + String(repeating: "x", count: 1_024),
      ])
    func invalid(text: String) { #expect(JID(text) == nil) }

    @Test("addresses and identifiers are compared by bytes, and not as characters")
    func bytes() throws {
      let composed = try #require(JID("caf\u{E9}@example.org"))
      let decomposed = try #require(JID("cafe\u{301}@example.org"))
      #expect("caf\u{E9}" == "cafe\u{301}")
      #expect(composed != decomposed && Set([composed, decomposed]).count == 2)
      #expect(try #require(StanzaID("\u{E9}")) != #require(StanzaID("e\u{301}")))
      #expect(JID("A@b") != JID("a@b"))
      #expect(JID(typed: " Anna@Example.ORG/Desk ") == JID("anna@example.org/Desk"))
      #expect(JID(typed: "a b@c") == nil && JID(typed: "  ") == nil)
    }

    @Test("messages, presences and IQs come back as they were written")
    func roundTrip() throws {
      let jid = JID("a@b/c")
      let payload = [XMLElement("x", "urn:x", text: "y")]
      let id = try #require(StanzaID("1"))
      let stanzas: [Stanza] = [
        .message(MessageStanza(.normal, payload: payload)),
        .message(MessageStanza(.groupchat, id: id, from: jid, to: jid, payload: payload)),
        .presence(PresenceStanza()), .presence(PresenceStanza(.unavailable, from: jid)),
        .iq(IQStanza(.get, id: id, to: jid, payload: payload)), .iq(IQStanza(.result, id: id)),
      ]
      for stanza in stanzas {
        #expect(Stanza(stanza.element) == stanza)
        #expect(Stanza.isCounted(stanza.element))
      }
    }

    @Test("stanzas without what they must have are refused, and counted all the same")
    func incomplete() throws {
      for text in [
        "<iq/>", "<iq type='get'/>", "<iq id='1'/>", "<iq id='1' type='odd'/>",
        "<message from='@'/>",
        "<message to='a@b/'/>", "<presence type='odd'/>", "<iq id='' type='get'/>",
      ] {
        let element = try #require(parsedElement(text))
        #expect(Stanza(element) == nil, "\(text)")
        #expect(Stanza.isCounted(element))
      }
      #expect(!Stanza.isCounted(XMLElement("r", Namespace.streamManagement)))
      let odd = try #require(parsedElement("<message type='odd'/>"))
      #expect(Stanza(odd) == .message(MessageStanza(.normal)))
    }

    @Test("the body of the stream's language is preferred, and can be replaced")
    func body() throws {
      let element = try #require(
        parsedElement("<message><body xml:lang='fr'>oui</body><body>yes</body></message>"))
      var message = try #require(MessageStanza(element))
      #expect(message.body == "yes")
      message.body = "no"
      #expect(message.body == "no" && message.payload.count == 1)
      message.body = nil
      #expect(message.body == nil && message.payload.isEmpty)
    }

    @Test("errors of stanzas and streams come back, and unknown conditions are undefined")
    func errors() throws {
      for condition in StanzaError.Condition.allCases {
        let error = StanzaError(.modify, condition, text: "why")
        #expect(StanzaError(in: [error.element]) == error)
      }
      for condition in StreamError.Condition.allCases {
        let other = condition == .seeOtherHost ? "host:5222" : nil
        let error = StreamError(condition, otherHost: other, text: "why")
        #expect(StreamError(error.element) == error)
      }
      #expect(StanzaError(in: []).condition == .undefinedCondition)
      let odd = XMLElement(
        "error", Namespace.stream, children: [XMLElement("odd", Namespace.streamErrors)])
      #expect(StreamError(odd)?.condition == .undefinedCondition)
      let text = String(repeating: "x", count: 5_000)
      let long = StanzaError(.cancel, .gone, text: text).element
      #expect(StanzaError(in: [long]).text?.count == 1_024)
    }

    @Test("features of a server are recognised among others")
    func features() throws {
      let features = try #require(
        parsedElement(
          """
          <stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls>\
          <mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>PLAIN</mechanism>\
          <mechanism>SCRAM-SHA-256</mechanism></mechanisms><sm xmlns='urn:xmpp:sm:3'/>\
          <sasl-channel-binding xmlns='urn:xmpp:sasl-cb:0'><channel-binding type='tls-exporter'/>\
          </sasl-channel-binding><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/>\
          <csi xmlns='urn:xmpp:csi:0'/><odd xmlns='urn:odd'/></stream:features>
          """
        ).flatMap { StreamFeatures($0) })
      #expect(features.offersTLS && features.demandsTLS && features.offersBinding)
      #expect(features.offersStreamManagement && features.offersClientState)
      #expect(features.mechanisms == ["PLAIN", "SCRAM-SHA-256"])
      #expect(features.channelBindings == ["tls-exporter"] && features.elements.count == 7)
      #expect(StreamFeatures(XMLElement("features", Namespace.client)) == nil)
    }
  }
#endif
