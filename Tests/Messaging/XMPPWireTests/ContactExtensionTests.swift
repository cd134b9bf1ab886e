#if Messaging
  import Testing

  @testable import XMPPWire

  @Suite("Extensions about contacts")
  struct ContactExtensionTests {
    private static func check<E: XMPPExtension>(_ values: [E]) {
      for value in values {
        let element = value.element
        #expect(E(element) == value, "\(value)")
        #expect(parse(header + XMLWriter.bytes(of: element)).items.last == .element(element))
        #expect(E(XMLElement(element.name, "urn:other")) == nil)
      }
    }

    @Test func `Values come back as they were written`() throws {
      let jid = try #require(JID("romeo@example.net"))
      let id = try #require(StanzaID("m1"))
      let item = RosterItem(
        jid, name: "Romeo", subscription: .both, isAsked: true, isApproved: true,
        groups: ["Friends", "Lovers"])
      Self.check([
        RosterQuery(), RosterQuery(version: ""), RosterQuery(version: "ver7", items: [item]),
        RosterQuery(items: [RosterItem(jid), RosterItem(jid, subscription: .remove)]),
      ])
      Self.check([
        BlockingCommand(.blocklist), BlockingCommand(.block, [jid]), BlockingCommand(.unblock),
      ])
      Self.check(ChatState.allCases)
      Self.check([ChatMarker.markable, .displayed(id)])
      let values = [
        Availability(), Availability(.dnd, status: "Wooing Juliet", priority: -1),
        Availability(.xa, priority: 127),
      ]
      for value in values { #expect(Availability(in: value.elements) == value) }
    }

    @Test func `A roster is read as RFC 6121 has it`() throws {
      let element = try #require(
        parsedElement(
          """
          <iq id='hu2bac18' to='juliet@example.com/balcony' type='result'>
            <query xmlns='jabber:iq:roster' ver='ver11'>
              <item jid='romeo@example.net' name='Romeo' subscription='both'>
                <group>Friends</group>
              </item>
              <item jid='mercutio@example.com' name='Mercutio' subscription='from'/>
              <item jid='benvolio@example.net' name='Benvolio' subscription='both'/>
              <item jid='nurse@example.com' ask='subscribe' approved='1'/>
            </query>
          </iq>
          """))
      let query = try #require(IQStanza(element)?[RosterQuery.self])
      #expect(query.version == "ver11")
      #expect(
        query.items.map(\.jid.description) == [
          "romeo@example.net", "mercutio@example.com", "benvolio@example.net", "nurse@example.com",
        ])
      #expect(query.items.map(\.subscription) == [.both, .from, .both, .none])
      #expect(query.items[0].groups == ["Friends"])
      #expect(query.items[3].isAsked && query.items[3].isApproved && query.items[3].name == nil)
    }

    @Test func `One bad item loses no other`() throws {
      let element = try #require(
        parsedElement(
          """
          <query xmlns='jabber:iq:roster'><item/><item jid='@x'/><item jid='a@b' subscription='odd'>
          <group/><group>g</group><group>g</group></item><other/><item jid=''/></query>
          """))
      let query = try #require(RosterQuery(element))
      #expect(query.unreadableCount == 3)
      #expect(query.items == [RosterItem(try #require(JID("a@b")), groups: ["g"])])
      let blocked = try #require(
        parsedElement("<block xmlns='urn:xmpp:blocking'><item/><item jid='a@b'/></block>"))
      let command = try #require(BlockingCommand(blocked))
      #expect(command.unreadableCount == 1 && command.addresses.map(\.description) == ["a@b"])
    }

    @Test func `A contact with a long name and many groups is cut, and marked as cut`() throws {
      let groups = (0..<100).map { "<group>\($0)</group>" }.joined()
      let name = String(repeating: "é", count: 600)
      let element = try #require(
        parsedElement(
          "<item xmlns='jabber:iq:roster' jid='a@b' name='\(name)'>\(groups)</item>"))
      let item = try #require(RosterItem(element))
      #expect(item.isCut && item.groups.count == RosterItem.groupCountMax)
      #expect(item.name == String(repeating: "é", count: 511))
    }

    @Test func `A roster of 10,000 contacts with names and groups is one stanza`() {
      let items = (0..<10_000).map {
        "<item jid='contact\($0)@chat.example' name='Contact \($0)' subscription='both'>"
          + "<group>Friends</group><group>Work</group></item>"
      }
      let result = parse(
        stanzas: "<iq type='result' id='1'><query xmlns='jabber:iq:roster' ver='1'>"
          + items.joined() + "</query></iq>")
      guard case .element(let element)? = result.items.first else {
        Issue.record("\(String(describing: result.error))")
        return
      }
      let query = IQStanza(element)?[RosterQuery.self]
      #expect(query?.items.count == 10_000 && query?.unreadableCount == 0)
    }

    @Test func `A presence that breaks rules is read as far as it goes`() throws {
      let element = try #require(
        parsedElement(
          "<presence from='a@b/c'><show>sleepy</show><status xml:lang='de'>weg</status>"
            + "<priority>high</priority></presence>"))
      let presence = try #require(PresenceStanza(element))
      #expect(Availability(in: presence.payload) == Availability(status: "weg"))
      let long = XMLElement("status", Namespace.client, text: String(repeating: "x", count: 5_000))
      #expect(Availability(in: [long]).status.utf8.count == Availability.statusByteCountMax)
    }
  }
#endif
