#if Messaging
  import GRDB

  /// The tables of the store. A migration is never changed after it was released.
  enum StoreSchema {
    static var migrator: DatabaseMigrator {
      var migrator = DatabaseMigrator()
      migrator.registerMigration("1") { database in
        for statement in first { try database.execute(sql: statement) }
      }
      migrator.registerMigration("2") { database in
        for statement in second { try database.execute(sql: statement) }
      }
      migrator.registerMigration("contacts") { database in
        for statement in contacts { try database.execute(sql: statement) }
      }
      migrator.registerMigration("blocked") { database in
        try database.execute(
          sql: """
            CREATE TABLE blocked (jid TEXT PRIMARY KEY, since INTEGER NOT NULL, until INTEGER)
              WITHOUT ROWID
            """)
      }
      migrator.registerMigration("chatPeers") { database in
        try database.execute(
          sql: """
            CREATE TABLE chatPeer (
              address TEXT PRIMARY KEY, showsStates INTEGER NOT NULL,
              takesMarkers INTEGER NOT NULL, displayed TEXT) WITHOUT ROWID
            """)
      }
      migrator.registerMigration("rooms") { database in
        for statement in rooms { try database.execute(sql: statement) }
      }
      migrator.registerMigration("uploads") { database in
        try database.execute(sql: UploadWriter.table)
      }
      migrator.registerMigration("client") { database in
        for statement in client { try database.execute(sql: statement) }
      }
      migrator.registerMigration("roomEndings") { database in
        for column in ["ending", "endingText", "endingRoom"] {
          try database.execute(sql: "ALTER TABLE room ADD COLUMN \(column) TEXT")
        }
      }
      migrator.registerMigration("provisional") { database in
        try database.execute(
          sql: "ALTER TABLE incoming ADD COLUMN isProvisional INTEGER NOT NULL DEFAULT 0")
        try database.execute(
          sql: "CREATE INDEX incomingProvisional ON incoming (id) WHERE isProvisional = 1")
      }
      // Programs without this take the number of a stream's next message from its row, which has no longer the latest.
      migrator.registerMigration("keysByName") { database in
        let renamed = DatabaseFunction("renamed", argumentCount: 1, pure: true) { values in
          String.fromDatabaseValue(values[0]).map(OldKeyName.renamed)
        }
        database.add(function: renamed)
        defer { database.remove(function: renamed) }
        for statement in keysByName { try database.execute(sql: statement) }
      }
      return migrator
    }

    /// 64-bit numbers without a sign are stored by their bits; streams as 32 hexadecimal digits.
    private static let first = [
      """
      CREATE TABLE outgoing (
        id INTEGER PRIMARY KEY, peer TEXT NOT NULL, origin TEXT NOT NULL UNIQUE,
        stream TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL, elements TEXT NOT NULL,
        fate INTEGER NOT NULL, reason TEXT, position INTEGER, deadline INTEGER,
        closings INTEGER NOT NULL, date INTEGER NOT NULL)
      """,
      "CREATE INDEX outgoingOrder ON outgoing (stream, number)",
      "CREATE INDEX outgoingOpen ON outgoing (id) WHERE fate <= 2",
      """
      CREATE TABLE incoming (
        id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, peer TEXT NOT NULL, origin TEXT NOT NULL,
        stream TEXT, number INTEGER, since INTEGER, last INTEGER, body TEXT NOT NULL,
        elements TEXT NOT NULL, arrival INTEGER NOT NULL, date INTEGER NOT NULL, sequence INTEGER,
        isTaken INTEGER NOT NULL)
      """,
      """
      CREATE INDEX incomingOrder ON incoming (stream, number, peer)
        WHERE stream IS NOT NULL AND kind = 0
      """,
      "CREATE UNIQUE INDEX incomingSequence ON incoming (sequence) WHERE sequence IS NOT NULL",
      "CREATE INDEX incomingHeld ON incoming (id) WHERE sequence IS NULL",
      "CREATE TABLE seen (name TEXT PRIMARY KEY) WITHOUT ROWID",
      """
      CREATE TABLE incomingStream (
        sender TEXT NOT NULL, stream TEXT NOT NULL, next INTEGER NOT NULL, lastUse INTEGER NOT NULL,
        PRIMARY KEY (sender, stream)) WITHOUT ROWID
      """,
      """
      CREATE TABLE outgoingStream (
        peer TEXT PRIMARY KEY, stream TEXT NOT NULL, next INTEGER NOT NULL,
        confirmed INTEGER NOT NULL, hasOrder INTEGER NOT NULL) WITHOUT ROWID
      """,
      "CREATE TABLE mark (place INTEGER PRIMARY KEY, id TEXT NOT NULL, date INTEGER NOT NULL)",
      """
      CREATE TABLE session (
        only INTEGER PRIMARY KEY CHECK (only = 1), id TEXT NOT NULL, jid TEXT NOT NULL,
        location TEXT, inbound INTEGER NOT NULL, outbound INTEGER NOT NULL)
      """,
      "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    ]

    /// Groups are separated by U+001F, which XML can't have.
    private static let contacts = [
      """
      CREATE TABLE contact (
        jid TEXT PRIMARY KEY, name TEXT, subscription TEXT NOT NULL, isAsked INTEGER NOT NULL,
        isApproved INTEGER NOT NULL, groups TEXT NOT NULL) WITHOUT ROWID
      """,
      "CREATE TABLE request (jid TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
      """
      CREATE TABLE resource (
        jid TEXT PRIMARY KEY, show TEXT, status TEXT NOT NULL, priority INTEGER NOT NULL)
        WITHOUT ROWID
      """,
    ]

    /// A UUID of version 4, and the token that a server has issued to it.
    private static let client = [
      """
      INSERT INTO setting SELECT 'client', lower(
        hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2)
        || '-' || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-'
        || hex(randomblob(6)))
      """,
      "CREATE TABLE token (mechanism TEXT PRIMARY KEY, secret TEXT NOT NULL) WITHOUT ROWID",
    ]

    /// A table that is sorted once: to rename rows in their places takes seven times longer, 19 s for 400,000 of them.
    private static let keysByName = [
      """
      CREATE TABLE sorted (name TEXT PRIMARY KEY, date INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID
      """,
      "INSERT OR REPLACE INTO sorted SELECT renamed(name), date FROM seen ORDER BY 1",
      "DROP TABLE seen",
      "ALTER TABLE sorted RENAME TO seen",
      "CREATE INDEX seenDate ON seen (date)",
    ]

    private static let rooms = [
      """
      CREATE TABLE room (
        jid TEXT PRIMARY KEY, nickname TEXT NOT NULL, password TEXT, isWanted INTEGER NOT NULL,
        isBookmarkDue INTEGER NOT NULL, historyEnd TEXT) WITHOUT ROWID
      """,
      """
      CREATE TABLE roomMark (
        room TEXT NOT NULL, place INTEGER NOT NULL, id TEXT NOT NULL, date INTEGER NOT NULL,
        PRIMARY KEY (room, place)) WITHOUT ROWID
      """,
      """
      CREATE TABLE roomOutgoing (
        id INTEGER PRIMARY KEY, room TEXT NOT NULL, origin TEXT NOT NULL UNIQUE, body TEXT NOT NULL,
        elements TEXT NOT NULL, fate INTEGER NOT NULL, reason TEXT, isSent INTEGER NOT NULL,
        date INTEGER NOT NULL)
      """,
      "CREATE INDEX roomOutgoingOpen ON roomOutgoing (id) WHERE fate = 0",
      "ALTER TABLE incoming ADD COLUMN nickname TEXT",
    ]

    private static let second = [
      """
      CREATE TABLE receipt (
        id INTEGER PRIMARY KEY, recipient TEXT NOT NULL, name TEXT NOT NULL, stream TEXT,
        number INTEGER, since INTEGER, position INTEGER)
      """,
      """
      CREATE TABLE aside (
        id INTEGER PRIMARY KEY, date INTEGER NOT NULL, reason TEXT NOT NULL, peer TEXT,
        content TEXT NOT NULL)
      """,
      // When rows were stored, by this machine's clock: peers can't make them older or younger.
      "ALTER TABLE incoming ADD COLUMN stored INTEGER NOT NULL DEFAULT 0",
      "UPDATE incoming SET stored = 1000 * strftime('%s', 'now')",
      "ALTER TABLE seen ADD COLUMN date INTEGER NOT NULL DEFAULT 0",
      "UPDATE seen SET date = 1000 * strftime('%s', 'now')",
      "CREATE INDEX seenDate ON seen (date)",
    ]
  }
#endif
