import Foundation
import GRDBSQLite

/// A table of messages as one would write it by hand, with the system's SQLite and nothing else.
final class RawSQLite {
  struct Failure: Error {
    var code: Int32
    var step: String
  }

  private var database: OpaquePointer?
  private var insertion: OpaquePointer?
  private var last: Int64 = 0

  init(path: String) throws {
    try check(sqlite3_open(path, &database), "open")
    for statement in [
      "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
      "CREATE TABLE message (id INTEGER PRIMARY KEY, peer TEXT, origin TEXT UNIQUE, body TEXT, date INTEGER)",
    ] { try check(sqlite3_exec(database, statement, nil, nil, nil), statement) }
    try check(
      sqlite3_prepare_v2(
        database, "INSERT INTO message VALUES (?, ?, ?, ?, ?)", -1, &insertion, nil), "prepare")
  }

  deinit {
    sqlite3_finalize(insertion)
    sqlite3_close(database)
  }

  /// Stores messages in one transaction, which is on the disk when this returns.
  func store(_ body: String, count: Int) throws {
    try check(sqlite3_exec(database, "BEGIN IMMEDIATE", nil, nil, nil), "begin")
    for _ in 0..<count {
      last += 1
      sqlite3_bind_int64(insertion, 1, last)
      try bind("bob@chat.example", 2)
      try bind("origin-of-the-message-\(last)", 3)
      try bind(body, 4)
      sqlite3_bind_int64(insertion, 5, last)
      guard sqlite3_step(insertion) == SQLITE_DONE else { throw Failure(code: 0, step: "insert") }
      sqlite3_reset(insertion)
    }
    try check(sqlite3_exec(database, "COMMIT", nil, nil, nil), "commit")
  }

  private func bind(_ text: String, _ index: Int32) throws {
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    try check(sqlite3_bind_text(insertion, index, text, -1, transient), "bind")
  }

  private func check(_ code: Int32, _ step: String) throws {
    guard code == SQLITE_OK else { throw Failure(code: code, step: step) }
  }
}
