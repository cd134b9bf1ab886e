#if Messaging
  import Testing

  @testable import XMPPWire

  @Suite("Extensions about rooms")
  struct RoomExtensionTests {
    private static func check<E: XMPPExtension>(_ values: [E]) {
      for value in values {
        let element = value.element
        #expect(E(element) == value, "\(value)")
        #expect(parse(header + XMLWriter.bytes(of: element)).items.last == .element(element))
        #expect(E(XMLElement(element.name, "urn:other")) == nil)
      }
    }

    @Test func `Values come back as they were written`() throws {
      let room = try #require(JID("coven@chat.shakespeare.example"))
      let witch = try #require(JID("hag66@shakespeare.example/pda"))
      let id = try #require(StanzaID("dd72603deec90a38"))
      Self.check([
        RoomEntry(), RoomEntry(password: "cauldronburn"), RoomEntry(declinesHistory: false),
      ])
      Self.check([
        RoomUser(), RoomUser(statuses: [110, 201], item: RoomItem(.owner, .moderator, jid: witch)),
        RoomUser(statuses: [303], item: RoomItem(.member, .participant, nickname: "oldhag")),
        RoomUser(
          item: RoomItem(),
          destruction: .init(alternate: room, reason: "Macbeth doth come.")),
        RoomUser(
          invitation: .init(from: witch, to: room, reason: "Hey"), password: "cauldronburn"),
      ])
      Self.check([
        DirectInvitation(to: room), DirectInvitation(to: room, reason: "Hey", password: "c"),
      ])
      Self.check([OccupantID(id)])
    }

    @Test func `An occupant's presence is read as XEP-0045 has it`() throws {
      let element = try #require(
        parsedElement(
          """
          <presence from='coven@chat.shakespeare.example/thirdwitch' to='hag66@shakespeare.example'
              type='unavailable'>
            <x xmlns='http://jabber.org/protocol/muc#user'>
              <item affiliation='none' role='none' jid='hag66@shakespeare.example/pda'>
                <actor nick='Fluellen'/><reason>Avaunt, you cullion!</reason>
              </item>
              <status code='307'/><status code='110'/><status code='x'/>
            </x>
          </presence>
          """))
      let user = try #require(PresenceStanza(element)?[RoomUser.self])
      #expect(user.statuses == [RoomUser.kicked, RoomUser.isSelf])
      #expect(user.item?.reason == "Avaunt, you cullion!")
      #expect(user.item?.jid == JID("hag66@shakespeare.example/pda"))
    }

    @Test func `Only a message without a body changes a subject`() {
      func subject(_ content: String) -> String? {
        parsedElement("<message type='groupchat' from='a@b/c'>\(content)</message>")
          .flatMap { MessageStanza($0) }.flatMap { RoomSubject.text(in: $0) }
      }
      #expect(subject("<subject>Fire</subject>") == "Fire")
      #expect(subject("<subject/>") == "")
      #expect(subject("<subject>Fire</subject><body>Burn</body>") == nil)
      #expect(subject("<subject>Fire</subject><thread>1</thread>") == nil)
      #expect(subject("<body>Burn</body>") == nil)
    }

    @Test func `An invitation without the address of a room is none`() {
      for jid in ["", "chat.example", "room@chat.example/nick", "@"] {
        let element = XMLElement("x", Namespace.directInvitation, ["jid": jid])
        #expect(DirectInvitation(element) == nil, "\(jid)")
      }
    }

    @Test func `Bookmarks keep the elements of other programs, and leave out bad items`() throws {
      let element = try #require(
        parsedElement(
          """
          <pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='urn:xmpp:bookmarks:1'>
            <item id='theplay@conference.shakespeare.example'>
              <conference xmlns='urn:xmpp:bookmarks:1' name='The Play' autojoin='true'>
                <nick>JC</nick>
                <extensions><state xmlns='http://myclient.example/bookmark/state'/></extensions>
              </conference>
            </item>
            <item id='orchard@conference.shakespeare.example'>
              <conference xmlns='urn:xmpp:bookmarks:1' name='The Orcard' autojoin='1'/>
            </item>
            <item id='@'><conference xmlns='urn:xmpp:bookmarks:1'/></item>
            <item id='empty@conference.shakespeare.example'/>
          </items></pubsub>
          """))
      let list = try #require(RoomBookmark.list(in: element))
      #expect(list.map(\.room.local) == ["theplay", "orchard"])
      #expect(list.map(\.isJoined) == [true, true])
      #expect(list.first?.nickname == "JC")
      let publication = try #require(list.first).publication
      let item = try #require(
        publication.child("publish", Namespace.pubSub)?.child("item", Namespace.pubSub))
      #expect(RoomBookmark(item: item) == list.first)
      #expect(list.first?.extensions?.children.first?.name == "state")
    }

    @Test func `A room that has moved names its new address`() throws {
      let element = try #require(
        parsedElement(
          """
          <presence type='error' from='a@b'><error type='cancel'>
            <gone xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'>xmpp:new@rooms.example?join</gone>
          </error></presence>
          """))
      let presence = try #require(PresenceStanza(element))
      #expect(StanzaError(in: presence.payload).condition == .gone)
      #expect(StanzaError.newAddress(in: presence.payload) == JID("new@rooms.example"))
    }
  }
#endif
