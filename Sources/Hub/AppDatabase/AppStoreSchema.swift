#if AppDatabase
  import GRDB
  import StateFiles

  /// The tables and their rows.
  enum AppStoreSchema {
    /// `ambt`: of SQLite's databases, those of this kind.
    private static let applicationID = 0x616d_6274

    /// A migration is never changed after it was released.
    private static var migrator: DatabaseMigrator {
      var migrator = DatabaseMigrator()
      migrator.registerMigration("records") { database in
        try database.execute(sql: "PRAGMA application_id = \(applicationID)")
        try database.execute(
          sql: """
            CREATE TABLE record (
              section TEXT NOT NULL, position INTEGER NOT NULL, value TEXT NOT NULL,
              PRIMARY KEY (section, position)) WITHOUT ROWID
            """)
        try database.execute(
          sql: "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
      }
      return migrator
    }

    /// Opens a file that exists, and makes the tables. A file of a later version, or of another program, is not changed.
    static func open(_ path: String) throws -> DatabaseQueue {
      try check(path)
      var configuration = Configuration()
      configuration.journalMode = .wal
      configuration.busyMode = .timeout(1)
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      // GRDB has lowered it to NORMAL, with which the last commits are lost when the power fails.
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      try migrator.migrate(queue)
      let problem = try queue.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
      guard problem == "ok" else {
        try? queue.close()
        throw UnusableDatabase(kept: .damaged, .damaged, problem ?? "its check has no result")
      }
      return queue
    }

    /// Writes nothing but what a process has left unfinished that was killed.
    private static func check(_ path: String) throws {
      let queue = try DatabaseQueue(path: path)
      defer { try? queue.close() }
      try queue.read { database in
        // GRDB makes its own table first, and SQLite its index.
        let tables = """
          SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name <> 'grdb_migrations'
          """
        guard try Int.fetchOne(database, sql: tables) != 0 else { return }
        guard try Int.fetchOne(database, sql: "PRAGMA application_id") == applicationID else {
          throw UnusableDatabase(kept: nil, .refused, "the file is something else")
        }
        guard try !migrator.hasBeenSuperseded(database) else {
          throw UnusableDatabase(kept: .later, .refused, "a later version of Ambit wrote it")
        }
      }
    }

    static func rows(_ database: Database) throws -> AppStoreRows {
      let size = try Int.fetchOne(database, sql: "SELECT sum(length(value)) FROM record")
      guard size ?? 0 <= AppStoreRows.byteCountMax else {
        throw UnusableDatabase(kept: .damaged, .damaged, "it is too large")
      }
      var rows = AppStoreRows()
      let found = try Row.fetchCursor(
        database, sql: "SELECT section, position, value FROM record")
      while let row = try found.next() {
        guard let section = String.fromDatabaseValue(row[0]),
          let position = Int64.fromDatabaseValue(row[1]),
          let value = String.fromDatabaseValue(row[2])
        else { throw UnusableDatabase(kept: .damaged, .damaged, "a row is no text") }
        rows.values[AppStoreRows.Key(section: section, position: position)] = value
      }
      return rows
    }

    /// Writes the rows that differ.
    static func change(
      _ old: AppStoreRows, to new: AppStoreRows, in database: Database
    ) throws {
      for key in old.values.keys where new.values[key] == nil {
        try database.execute(
          sql: "DELETE FROM record WHERE section = ? AND position = ?",
          arguments: [key.section, key.position])
      }
      for (key, value) in new.values where old.values[key] != value {
        try database.execute(
          sql: "INSERT OR REPLACE INTO record VALUES (?, ?, ?)",
          arguments: [key.section, key.position, value])
      }
    }

    // MARK: The file of earlier versions

    static func hasImported(_ database: Database) throws -> Bool {
      try Bool.fetchOne(database, sql: "SELECT count(*) FROM setting WHERE name = 'imported'")
        ?? false
    }

    static func markImport(_ database: Database) throws {
      try database.execute(sql: "INSERT OR REPLACE INTO setting VALUES ('imported', 'apps.json')")
    }
  }
#endif
