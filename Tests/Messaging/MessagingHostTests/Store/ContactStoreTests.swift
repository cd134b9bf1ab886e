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

    @Test func `Contacts, requests and presences come back as they were written`() throws {
      let bob = try #require(JID("bob@x"))
      let phone = try #require(JID("bob@x/phone"))
      let item = RosterItem(
        bob, name: "Bob", subscription: .both, isAsked: true, isApproved: true,
        groups: ["Friends, old", "Work"])
      let request = SubscriptionRequest(bob, text: "Hello")
      let resource = AvailableResource(phone, Availability(.dnd, status: "Busy", priority: -5))
      let stored = try contacts([
        .setContact(RosterItem(bob)), .setContact(item), .setRosterVersion("v1"),
        .setRequest(request), .setResource(resource),
      ])
      #expect(stored.roster == [item] && stored.rosterVersion == "v1")
      #expect(stored.requests == [request] && stored.resources == [resource])
    }

    @Test func `What is removed is gone`() throws {
      let bob = try #require(JID("bob@x"))
      let eve = try #require(JID("eve@x"))
      let stored = try contacts([
        .setContact(RosterItem(bob)), .setContact(RosterItem(eve)), .removeContact(eve),
        .setRosterVersion("v1"), .setRosterVersion(nil),
        .setRequest(SubscriptionRequest(bob)), .removeRequest(bob),
        .setResource(AvailableResource(bob, Availability())), .removeResource(bob),
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
