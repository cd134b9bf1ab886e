#if Messaging
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("The store of rooms")
  struct RoomStoreTests {
    @Test func `Rooms, their places in the archive and messages that wait come back as written`()
      throws
    {
      let folder = try TestFolder()
      let path = folder.path("messages")
      let lab = try #require(JID("lab@rooms.example"))
      let pub = try #require(JID("pub@rooms.example"))
      let marks = [ArchiveMark(id: "a 1", date: 5), ArchiveMark(id: "a2", date: 6)]
      let end = HistoryEnd(id: "a 9", date: 7, isCut: true)
      let rows = (1...3).map {
        OutgoingRoomRow(
          id: RowID(rawValue: $0), room: lab, originID: "o\($0)",
          content: MessageContent(body: "text \($0)"), date: 8)
      }
      let key = SeenKey.room("lab@rooms.example", "a2")
      let changes: [RoomChange] =
        [
          .setRoom(StoredRoom(lab, nickname: "ann")), .setArchive(lab, marks, end),
          .setRoom(StoredRoom(lab, nickname: "anna", password: "p", isBookmarkDue: true)),
          .setRoom(StoredRoom(pub, nickname: "ann")), .setArchive(pub, marks, nil),
          .forgetRoom(pub), .addKey(key), .addKey(key),
        ] + rows.map(RoomChange.insertOutgoing)
        + [
          .setSent(rows[0].id, true), .setSent(rows[1].id, true), .setSent(rows[1].id, false),
          .settle(rows[2].id, .received),
        ]
      let store = try MessageStore(path: path)
      try store.apply(changes.map(MessageChange.rooms))
      store.close()
      let next = try MessageStore(path: path)
      defer { next.close() }
      let stored = try next.loadRooms()
      #expect(
        stored.rooms == [
          StoredRoom(
            lab, nickname: "anna", password: "p", isBookmarkDue: true, marks: marks,
            hasReadArchive: true, historyEnd: end)
        ])
      #expect(stored.outgoing.map(\.originID) == ["o1", "o2"])
      #expect(stored.outgoing.map(\.isSent) == [true, false])
      #expect(stored.outgoing.first?.content.body == "text 1")
      #expect(try next.load().lastOutgoing == 3, "numbers of messages are given once")
      let other = SeenKey.room("pub@rooms.example", "a2")
      #expect(try next.known([key, other]) == [key])
    }

    @Test func `The end of a stay comes back as written, and goes with the next join`() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      let lab = try #require(JID("lab@rooms.example"))
      let other = JID("new@rooms.example")
      for end in [
        RoomEnd.kicked("No"), .kicked(nil), .banned("Never"), .moved(other),
        .destroyed(alternate: other, "Old"), .destroyed(alternate: nil, nil),
      ] {
        let room = StoredRoom(lab, nickname: "ann", isWanted: false, ending: end)
        try store.apply([.rooms(.setRoom(room))])
        #expect(try store.loadRooms().rooms == [room])
      }
      try store.apply([.rooms(.setRoom(StoredRoom(lab, nickname: "ann")))])
      #expect(try store.loadRooms().rooms.first?.ending == nil)
    }

    @Test func `An entry of the inbox keeps the sender's nickname`() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      for (id, nickname) in [(1, "bob"), (2, ""), (3, nil)] as [(Int64, String?)] {
        try store.apply([
          .insertIncoming(
            IncomingRow(
              id: RowID(rawValue: id), kind: .message, peer: "lab@rooms.example",
              nickname: nickname, date: 5, sequence: id))
        ])
      }
      #expect(try store.inbox(after: 0, limit: 5).map(\.nickname) == ["bob", "", nil])
    }
  }
#endif
