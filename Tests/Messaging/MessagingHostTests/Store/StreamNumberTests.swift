#if Messaging
  import Foundation
  import GRDB
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("Numbers of outgoing streams, and names of keys")
  struct StreamNumberTests {
    private static func changes(_ id: Int64, to peer: String, date: WallTime = 5) -> [MessageChange]
    {
      let id64 = OrderStreamID(high: 1, low: UInt64(peer.utf8.count))
      let row = OutgoingRow(
        id: RowID(rawValue: id), peer: peer, originID: "id-\(id)",
        order: OrderElement(stream: id64, number: UInt64(id)),
        content: MessageContent(body: "text"),
        fate: .received, date: date)
      return [
        .insertOutgoing(row),
        .setOutgoingStream(OutgoingStream(peer: peer, stream: id64, next: UInt64(id) + 1)),
      ]
    }

    private static func next(_ store: MessageStore) throws -> [String: UInt64] {
      let streams = try store.load().outgoingStreams
      return Dictionary(uniqueKeysWithValues: streams.map { ($0.peer, $0.next) })
    }

    @Test("a message changes the row of its stream once, and the next number is known all the same")
    func numbers() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      for id in 1...3 as ClosedRange<Int64> { try store.apply(Self.changes(id, to: "b@x")) }
      let stored = try store.read { try Int.fetchOne($0, sql: "SELECT next FROM outgoingStream") }
      #expect(stored == 2)
      #expect(try Self.next(store) == ["b@x": 4])
      // A change of another kind is written, and so is a number without a row.
      var stream = try #require(try store.load().outgoingStreams.first)
      stream.confirmed = 2
      try store.apply([.setOutgoingStream(stream)])
      stream.next = 9
      try store.apply([.setOutgoingStream(stream)])
      #expect(try store.load().outgoingStreams == [stream])
    }

    @Test("numbers whose rows were removed are not given again")
    func pruning() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      for id in 1...4 as ClosedRange<Int64> { try store.apply(Self.changes(id, to: "b@x")) }
      // The row with the highest number of all stays, which is one of another stream.
      try store.apply(Self.changes(5, to: "carol@x"))
      _ = try store.prune(Retention(), now: 1_800_000_000_000, countMax: 500)
      let count = try store.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM outgoing") }
      #expect(count == 1)
      #expect(try Self.next(store) == ["b@x": 5, "carol@x": 6])
    }

    @Test("keys of a store that was made before they were sorted by ids are found")
    func oldKeys() throws {
      let folder = try TestFolder()
      let digest = MessageContent(body: "text").digest
      let senders = ["b@x", "room@x/a nick \(digest)"]
      let path = folder.path("messages")
      var store = try MessageStore(path: path)
      try store.pool.write { database in
        for sender in senders {
          try database.execute(
            sql: "INSERT INTO seen VALUES (?, 5)", arguments: ["m \(sender) \(digest) an id"])
        }
        try database.execute(sql: "INSERT INTO seen VALUES ('a m 1', 5), ('m broken', 5)")
        try database.execute(
          sql: "DELETE FROM grdb_migrations WHERE identifier = 'keysByName'")
      }
      store.close()
      store = try MessageStore(path: path)
      defer { store.close() }
      let key = SeenKey.message(sender: "b@x", name: "an id", digest: digest)
      #expect(try store.known([key, .archive("m 1")]) == [key, .archive("m 1")])
      let other = SeenKey.message(sender: "b@x", name: "another", digest: digest)
      #expect(try store.known([other]).isEmpty)
      try store.apply([.addKey(other), .addKey(key)])
      #expect(try store.known([other, key]) == [other, key])
      #expect(try store.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM seen") } == 5)
    }
  }
#endif
