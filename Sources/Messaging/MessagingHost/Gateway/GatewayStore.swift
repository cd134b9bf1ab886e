#if Messaging
  internal import EventLoop
  import GRDB
  internal import Glibc
  internal import StateFiles
  package import XMPPMachines
  import XMPPWire

  /// The queue of a push gateway on disk: an SQLite database for one process at a time. All functions block.
  package final class GatewayStore: Sendable {
    private let queue: DatabaseQueue
    private let lock: StoreLock

    /// Opens the store, and creates it with its folder if it doesn't exist.
    ///
    /// - Parameter earlierPath: A file of the same name in another folder, which becomes that of `path` first, unless a
    ///   process has the store there.
    package init(path: String, earlierPath: String? = nil) throws(StoreError) {
      if let earlierPath {
        // It is the file's lock, also under the folder's new name.
        lock = try StoreLock(path: earlierPath, makesFolder: false)
        guard rename(StateFolder.parent(of: earlierPath), StateFolder.parent(of: path)) == 0 else {
          throw .unusable(SystemError.current.text)
        }
      } else {
        lock = try StoreLock(path: path)
      }
      do {
        queue = try Self.open(path)
      } catch {
        let reason = MessageStore.storeError(error)
        guard case .damaged = reason else { throw reason }
        throw .damaged(keptAt: MessageStore.setAside(path))
      }
    }

    private static func open(_ path: String) throws -> DatabaseQueue {
      var configuration = Configuration()
      configuration.busyMode = .timeout(5)
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      guard try !queue.read(migrator.hasBeenSuperseded) else { throw StoreError.laterVersion }
      try queue.writeWithoutTransaction { database in
        try database.execute(sql: "PRAGMA journal_mode = WAL")
        try database.execute(sql: "PRAGMA synchronous = FULL")
      }
      try migrator.migrate(queue)
      return queue
    }

    private static var migrator: DatabaseMigrator {
      var migrator = DatabaseMigrator()
      migrator.registerMigration("1") { database in
        try database.execute(
          sql: """
            CREATE TABLE message (
              number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, sender TEXT NOT NULL,
              recipient TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL, app TEXT, token TEXT,
              collapse TEXT, isSilent INTEGER NOT NULL, expiration INTEGER NOT NULL,
              date INTEGER NOT NULL, stanza TEXT NOT NULL, notification TEXT NOT NULL)
            """)
      }
      migrator.registerMigration("digest") { database in
        try database.execute(sql: "ALTER TABLE message ADD COLUMN digest TEXT")
      }
      return migrator
    }

    package func close() {
      try? queue.close()
      lock.release()
    }

    /// Makes all changes, or none.
    package func apply(_ changes: [GatewayChange]) throws(StoreError) {
      guard !changes.isEmpty else { return }
      do {
        try queue.write { database in
          for change in changes { try Self.apply(change, database) }
        }
      } catch {
        throw MessageStore.storeError(error)
      }
    }

    private static func apply(_ change: GatewayChange, _ database: Database) throws {
      func run(_ sql: String, _ arguments: StatementArguments) throws {
        try database.cachedStatement(sql: sql).execute(arguments: arguments)
      }
      switch change {
      case .insert(let row):
        let message = row.message
        var names: (app: String?, token: String?)
        switch message.target {
        case .app(let name): names.app = name
        case .token(let token): names.token = token
        case nil: break
        }
        try run(
          "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
          [
            row.number, message.id, message.sender.description, message.recipient.description,
            message.title, message.body, names.app, names.token, message.collapseIdentifier,
            message.isSilent, message.expiration, row.date, row.stanza.code, row.notification.code,
            message.digest,
          ])
      case .setState(let number, let part, let state):
        let column =
          switch part {
          case .stanza: "stanza"
          case .notification: "notification"
          }
        try run("UPDATE message SET \(column) = ? WHERE number = ?", [state.code, number])
      case .forgetBody(let number, let digest):
        try run("UPDATE message SET body = '', digest = ? WHERE number = ?", [digest, number])
      case .remove(let number): try run("DELETE FROM message WHERE number = ?", [number])
      }
    }

    /// All rows, by number. Rows that can't be read are left out. One at a time is copied.
    package func load() throws(StoreError) -> [GatewayRow] {
      do {
        return try queue.read { database in
          let rows = try Row.fetchCursor(database, sql: "SELECT * FROM message ORDER BY number")
          var found: [GatewayRow] = []
          while let row = try rows.next() {
            if let row = Self.row(row) { found.append(row) }
          }
          return found
        }
      } catch {
        throw MessageStore.storeError(error)
      }
    }

    private static func row(_ row: Row) -> GatewayRow? {
      guard let sender = JID(row["sender"]), let recipient = JID(row["recipient"]) else {
        return nil
      }
      let target =
        (row["app"] as String?).map(GatewayTarget.app)
        ?? (row["token"] as String?).map(GatewayTarget.token)
      let message = GatewayMessage(
        id: row["id"], from: sender, to: recipient, title: row["title"], body: row["body"],
        digest: row["digest"], target: target, collapseIdentifier: row["collapse"],
        isSilent: row["isSilent"], expiration: row["expiration"])
      return GatewayRow(
        number: row["number"], message: message, stanza: GatewayState(code: row["stanza"]),
        notification: GatewayState(code: row["notification"]), date: row["date"])
    }
  }

  extension GatewayState {
    fileprivate var code: String {
      switch self {
      case .waiting: "waiting"
      case .done(let word): "done \(word)"
      case .failed(let reason): "failed \(reason)"
      }
    }

    fileprivate init(code: String) {
      let parts = code.split(separator: " ", maxSplits: 1).map(String.init)
      switch parts.first {
      case "waiting": self = .waiting
      case "done": self = .done(parts.dropFirst().first ?? "")
      default: self = .failed(parts.dropFirst().first ?? "")
      }
    }
  }
#endif
