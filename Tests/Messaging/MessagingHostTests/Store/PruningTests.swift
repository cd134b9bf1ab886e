#if Messaging
  import GRDB
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("What the store forgets")
  struct PruningTests {
    private static let day: WallTime = 86_400_000
    private static let now: WallTime = 1_800_000_000_000

    /// A store with rows of both directions and keys, one for each number, `days(number)` old.
    private static func fill(_ store: MessageStore, count: Int, days: String) throws {
      try store.pool.writeWithoutTransaction { database in
        try database.inTransaction {
          for statement in [
            """
            INSERT INTO incoming SELECT n, 0, 'b@x', 'in-' || n, NULL, NULL, NULL, NULL, 'text', '', 0,
              5, n, 1, :now - 86400000 * (\(days)), NULL, 0 FROM numbers
            """,
            """
            INSERT INTO outgoing SELECT n, 'b@x', 'out-' || n, '00', n, 'text', '', 3, NULL, NULL, NULL,
              0, :now - 86400000 * (\(days)) FROM numbers
            """,
            "INSERT INTO seen SELECT 'a ' || n, :now - 86400000 * (\(days)) FROM numbers",
          ] {
            try database.execute(
              sql: """
                WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT \(count))
                """ + statement,
              arguments: ["now": now])
          }
          return .commit
        }
      }
    }

    private static func count(_ table: String, _ store: MessageStore) throws -> Int {
      try store.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM \(table)") ?? 0 }
    }

    private static func prune(
      _ store: MessageStore, _ retention: Retention = Retention()
    ) throws -> Int {
      for step in 1...1_000 {
        guard try store.prune(retention, now: now, countMax: 500) else { return step }
      }
      return 1_000
    }

    @Test("100,000 old rows are removed in bounded steps; numbers are not given again")
    func manyRows() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      try Self.fill(store, count: 100_000, days: "400")
      #expect(try Self.prune(store) == 201)
      #expect(try Self.count("incoming", store) == 1)
      #expect(try Self.count("outgoing", store) == 1)
      #expect(try Self.count("seen", store) == 0)
      let stored = try store.load()
      #expect(stored.lastIncoming == 100_000 && stored.lastSequence == 100_000)
      #expect(stored.lastOutgoing == 100_000)
    }

    @Test("the oldest messages are removed beyond their number, and none of the last week")
    func countLimit() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      var retention = Retention()
      retention.countMax = 300
      // The first 500 are ten days old, the others a day.
      try Self.fill(store, count: 1_000, days: "CASE WHEN n <= 500 THEN 10 ELSE 1 END")
      _ = try Self.prune(store, retention)
      #expect(try Self.count("incoming", store) == 500)
      #expect(try Self.count("outgoing", store) == 500)
      #expect(try Self.count("seen", store) == 500)
    }

    @Test("Rows that the app has not taken, and messages on their way, are kept at any age")
    func unfinished() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      try Self.fill(store, count: 100, days: "1000")
      try store.pool.writeWithoutTransaction {
        try $0.execute(
          sql: """
            UPDATE incoming SET isTaken = 0 WHERE id <= 10;
            UPDATE incoming SET sequence = NULL, isTaken = 0 WHERE id BETWEEN 11 AND 20;
            UPDATE outgoing SET fate = 0 WHERE id <= 10;
            UPDATE outgoing SET fate = 2 WHERE id BETWEEN 11 AND 20;
            INSERT INTO outgoingStream VALUES ('b@x', '00', 101, 1, 1)
            """)
      }
      _ = try Self.prune(store)
      #expect(try Self.count("incoming", store) == 21)
      #expect(try Self.count("outgoing", store) == 21)
    }

    @Test("What the archive brings again is recognised, also after months offline")
    func archive() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      try Self.fill(store, count: 100, days: "500")
      try store.apply([
        .setArchiveMarks([ArchiveMark(id: "1", date: Self.now - 500 * Self.day)])
      ])
      _ = try Self.prune(store)
      #expect(try Self.count("seen", store) == 100)
      #expect(try Self.count("incoming", store) == 100)
    }
  }
#endif
