#if Messaging
  import Foundation
  import Testing

  @testable import Messaging

  @Suite("Rooms without a connection")
  struct RoomTests {
    @Test func `A room that is joined without a connection keeps its messages on the disk`()
      async throws
    {
      let url = FileManager.default.temporaryDirectory.appending(
        path: "rooms-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: url) }
      var configuration = MessagingAccount.Configuration(
        address: "ann@chat.example", password: "secret", storePath: url.path + "/messages")
      configuration.server = .init(host: "127.0.0.1", port: 1)
      let room = "lab@rooms.example"
      let account = try MessagingAccount(configuration)
      await #expect(throws: MessagingError.notInRoom) {
        try await account.rooms.send("too early", to: room)
      }
      await #expect(throws: MessagingError.offline) {
        try await account.rooms.join(room, nickname: "ann")
      }
      let first = try await account.rooms.send("one", to: room)
      await #expect(throws: MessagingError.notInRoom) {
        try await account.rooms.occupants(of: room)
      }
      await #expect(throws: MessagingError.notInRoom) {
        try await account.rooms.setSubject("Work", of: room)
      }
      await #expect(throws: MessagingError.invalidAddress("rooms.example")) {
        try await account.rooms.join("rooms.example", nickname: "ann")
      }
      await #expect(throws: MessagingError.invalidText) {
        try await account.rooms.join(room, nickname: "\u{1}")
      }
      try await account.close()
      await #expect(throws: MessagingError.ended) { try await account.rooms.leave(room) }
      let next = try MessagingAccount(configuration)
      let list = try await next.rooms.list()
      #expect(list.map(\.address) == [room] && list.map(\.state) == [.joining])
      let second = try await next.rooms.send("two", to: room)
      #expect(second.rawValue > first.rawValue, "numbers of messages are given once")
      try await next.rooms.leave(room)
      #expect(try await next.rooms.list().map(\.state) == [.ended(.left)])
      try await next.close()
    }

    @Test func `Invitations of both kinds are read from an entry, and others are none`() {
      func item(_ elements: String, nickname: String? = nil) -> InboxItem {
        InboxItem(
          row: 1, kind: .message, peer: "bob@x", body: "Come", elements: elements, originID: "",
          nickname: nickname, number: nil, arrival: .inOrder, time: 5)
      }
      let direct =
        "<x xmlns='jabber:x:conference' jid='lab@rooms.example' reason='Work' password='p'/>"
      #expect(
        item("<other xmlns='urn:x'/>" + direct).invitation
          == RoomInvitation(
            room: "lab@rooms.example", inviter: "bob@x", reason: "Work", password: "p"))
      let mediated =
        "<x xmlns='http://jabber.org/protocol/muc#user'><invite from='eve@x/a'/></x>"
      #expect(
        item(mediated).invitation
          == RoomInvitation(room: "bob@x", inviter: "eve@x", reason: nil, password: nil))
      let occupant =
        "<x xmlns='http://jabber.org/protocol/muc#user'><invite from='bob@x/Eve'/></x>"
      #expect(item(direct + occupant).invitation?.inviter == "bob@x/Eve")
      #expect(item(direct, nickname: "bob").invitation == nil)
      #expect(item("<x xmlns='jabber:x:conference' jid='@'/>").invitation == nil)
      #expect(item("<x xmlns='jabber:x:conference'").invitation == nil)
      #expect(item("").invitation == nil)
    }
  }
#endif
