#if Messaging
  import Essentials
  import GRDB
  package import XMPPMachines
  import XMPPWire

  /// Writes changes of uploads into their table, in a transaction of the caller.
  enum UploadWriter {
    static let table = """
      CREATE TABLE upload (
        id INTEGER PRIMARY KEY, peer TEXT NOT NULL, origin TEXT NOT NULL UNIQUE,
        path TEXT NOT NULL, file TEXT NOT NULL, deadline INTEGER, date INTEGER NOT NULL,
        message INTEGER, failure TEXT, reason TEXT)
      """

    static func apply(_ change: UploadChange, to database: Database) throws {
      switch change {
      case .insert(let row):
        try run(
          database, "INSERT INTO upload VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)",
          [
            row.id.rawValue, row.peer, row.originID, row.path,
            XMLFragment.text(of: [row.metadata.element]), row.deadline, row.date,
          ])
      case .setOutcome(let id, .sent(let message)):
        try run(
          database, "UPDATE upload SET message = ? WHERE id = ?", [message.rawValue, id.rawValue])
      case .setOutcome(let id, .failed(let failure)):
        let code = UploadCode.encode(failure)
        try run(
          database, "UPDATE upload SET failure = ?, reason = ? WHERE id = ?",
          [code.name, code.reason, id.rawValue])
      case .forget(let id):
        try run(database, "DELETE FROM upload WHERE id = ?", [id.rawValue])
      }
    }

    private static func run(
      _ database: Database, _ sql: String, _ arguments: StatementArguments = []
    ) throws {
      try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }
  }

  /// Failures of uploads as the store has them.
  enum UploadCode {
    static func encode(_ failure: UploadFailure) -> (name: String, reason: String?) {
      switch failure {
      case .deadline: ("deadline", nil)
      case .cancelled: ("cancelled", nil)
      case .unsupported: ("unsupported", nil)
      case .tooLarge(let most): ("tooLarge", most.map { "\($0)" })
      case .refused(let reason): ("refused", reason)
      case .changed: ("changed", nil)
      case .unreadable(let reason): ("unreadable", reason)
      }
    }

    static func decode(_ name: String, _ reason: String?) -> UploadFailure {
      switch name {
      case "deadline": .deadline
      case "cancelled": .cancelled
      case "unsupported": .unsupported
      case "tooLarge": .tooLarge(byteCountMax: reason.flatMap { Int64($0) })
      case "changed": .changed
      case "unreadable": .unreadable(reason ?? "")
      default: .refused(reason ?? name)
      }
    }
  }

  extension MessageStore {
    /// What the machine of uploads begins with. Rows that can't be read are left out.
    package func loadUploads() throws(StoreError) -> StoredUploads {
      try read { database in
        var stored = StoredUploads()
        stored.rows = try Row.fetchAll(database, sql: "SELECT * FROM upload ORDER BY id").compactMap
        {
          row in
          guard let metadata = FileMetadata.first(in: XMLFragment.elements(of: row["file"])) else {
            return nil
          }
          let failure: String? = row["failure"]
          let message: Int64? = row["message"]
          let outcome: UploadRow.Outcome? =
            message.map { .sent(RowID(rawValue: $0)) }
            ?? failure.map { .failed(UploadCode.decode($0, row["reason"])) }
          return UploadRow(
            id: UploadID(rawValue: row["id"]), peer: row["peer"], originID: row["origin"],
            path: row["path"], metadata: metadata, deadline: row["deadline"], date: row["date"],
            outcome: outcome)
        }
        return stored
      }
    }
  }
#endif
