#if Messaging
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("The store of contacts")
  struct ContactStoreTests {
    private func contacts(_ changes: [ContactChange]) throws -> StoredContacts {
      let folder = try TestFolder()
      let path = folder.path("messages")
      let store = try MessageStore(path: path)
      try store.apply(changes.map(MessageChange.contacts))
      store.close()
      let next = try MessageStore(path: path)
      defer { next.close() }
      return try next.loadContacts()
    }

    @Test func `Contacts, requests, presences, blocks and peers come back as they were written`()
      throws
    {
      let bob = try #require(JID("bob@x"))
      let phone = try #require(JID("bob@x/phone"))
      let item = RosterItem(
        bob, name: "Bob", subscription: .both, isAsked: true, isApproved: true,
        groups: ["Friends, old", "Work"])
      let request = SubscriptionRequest(bob, text: "Hello")
      let resource = AvailableResource(phone, Availability(.dnd, status: "Busy", priority: -5))
      let blocked = BlockedAddress(bob, since: 5)
      let ended = BlockedAddress(phone, since: 5, until: 7)
      let chatPeer = ChatPeer("bob@x", takesMarkers: true, displayed: "m1")
      let stored = try contacts([
        .setContact(RosterItem(bob)), .setContact(item), .setRosterVersion("v1"),
        .setRequest(request), .setResource(resource), .setBlocked(blocked), .setBlocked(ended),
        .setChatPeer(chatPeer), .setChatPeer(ChatPeer("eve@x", showsStates: true)),
      ])
      #expect(stored.roster == [item] && stored.rosterVersion == "v1")
      #expect(stored.requests == [request] && stored.resources == [resource])
      #expect(stored.blocked == [blocked, ended])
      #expect(stored.chatPeers == [chatPeer, ChatPeer("eve@x", showsStates: true)])
    }

    @Test func `What is removed is gone`() throws {
      let bob = try #require(JID("bob@x"))
      let eve = try #require(JID("eve@x"))
      let stored = try contacts([
        .setContact(RosterItem(bob)), .setContact(RosterItem(eve)), .removeContact(eve),
        .setRosterVersion("v1"), .setRosterVersion(nil),
        .setRequest(SubscriptionRequest(bob)), .removeRequest(bob),
        .setResource(AvailableResource(bob, Availability())), .removeResource(bob),
        .setBlocked(BlockedAddress(bob, since: 5)), .forgetBlocked(bob),
        .setChatPeer(ChatPeer("bob@x")), .forgetChatPeer("bob@x"),
      ])
      var expected = StoredContacts()
      expected.roster = [RosterItem(bob)]
      #expect(stored == expected)
      #expect(
        try contacts([
          .setContact(RosterItem(bob)), .clearContacts,
          .setResource(AvailableResource(bob, Availability())), .clearResources,
        ]) == StoredContacts())
    }
  }
#endif
