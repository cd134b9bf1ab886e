#if Messaging
  import EventLoop
  import GRDB
  import Glibc
  import StateFiles
  import Synchronization
  package import XMPPMachines

  /// The store of an account: an SQLite database in a folder of the user's own.
  ///
  /// One process at a time has it. All functions block until the disk has done it, and may be
  /// called from any thread; changes are made one after the other. A process that is killed leaves
  /// the changes of all calls of ``apply(_:)`` that have returned, and of no other one but the last.
  package final class MessageStore: Sendable {
    /// The path of the database.
    package let path: String
    let pool: DatabasePool
    private let lock: StoreLock
    /// Held by the thread that uses the connection that writes.
    private let writing = Mutex(())

    /// Opens the store, and creates it with its folder if it doesn't exist.
    ///
    /// Blocks while another one of this process is being closed. A damaged file is moved aside; the next call creates
    /// a new one.
    package init(path: String) throws(StoreError) {
      self.path = path
      ClosingStores.wait(for: path)
      lock = try StoreLock(path: path)
      do {
        pool = try Self.open(path)
      } catch let error as DatabaseError where Self.isDamage(error) {
        throw .damaged(keptAt: Self.setAside(path))
      } catch {
        throw Self.storeError(error)
      }
    }

    /// Whether there is a store at a path. One that is opened is created.
    package static func exists(at path: String) -> Bool { access(path, F_OK) == 0 }

    private static func open(_ path: String) throws -> DatabasePool {
      try refuseLaterVersion(path)
      var configuration = Configuration()
      configuration.maximumReaderCount = 2
      configuration.busyMode = .timeout(5)
      let pool = try DatabasePool(path: path, configuration: configuration)
      // GRDB has lowered it to NORMAL, with which the last commits are lost when the power fails.
      try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
      try StoreSchema.migrator.migrate(pool)
      return pool
    }

    /// `DatabasePool` writes into what it opens.
    private static func refuseLaterVersion(_ path: String) throws {
      var configuration = Configuration()
      configuration.readonly = true
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      defer { try? queue.close() }
      guard try queue.read(StoreSchema.migrator.hasBeenSuperseded) else { return }
      throw StoreError.laterVersion
    }

    /// Closes the database and lets other processes have it. Later calls fail.
    package func close() {
      // GRDB closes the connections that can't do this last. The log is as good as the file.
      _ = try? pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
      try? pool.close()
      lock.release()
    }

    /// Makes all changes, or none.
    package func apply(_ changes: [MessageChange]) throws(StoreError) {
      guard !changes.isEmpty else { return }
      do {
        try write { database in
          try database.inPreparedTransaction { try StoreWriter.apply(changes, to: database) }
        }
      } catch {
        throw Self.storeError(error)
      }
    }

    /// Makes the changes that can be made, and keeps the others aside, in a table of their own. For changes that
    /// ``apply(_:)`` has rejected.
    ///
    /// - Parameter date: The time by this machine's clock.
    /// - Returns: The changes that were kept aside.
    package func applyKeepingAside(
      _ changes: [MessageChange], date: WallTime
    ) throws(StoreError) -> [RejectedChange] {
      do {
        return try write { database in
          var rejected: [RejectedChange] = []
          try database.inTransaction(.immediate) {
            for change in changes {
              do {
                try database.inSavepoint {
                  try StoreWriter.apply([change], to: database)
                  return .commit
                }
              } catch let error as DatabaseError where Self.isRejection(error) {
                let reason = Self.reason(error)
                try StoreWriter.keepAside(change, reason, date, database)
                if case .insertOutgoing(let row) = change { Self.insertVoid(of: row, database) }
                rejected.append(RejectedChange(change: change, reason: reason))
              }
            }
            return .commit
          }
          return rejected
        }
      } catch {
        throw Self.storeError(error)
      }
    }

    /// The row's number or id may be the reason for its rejection.
    private static func insertVoid(of row: OutgoingRow, _ database: Database) {
      try? database.inSavepoint {
        try StoreWriter.insertVoid(of: row, database)
        return .commit
      }
    }

    /// Uses the connection that writes.
    func write<Value: Sendable>(_ body: (Database) throws -> Value) throws -> Value {
      try writing.withLock { _ in try pool.writeWithoutTransaction(body) }
    }

    /// Reads what the last commit has left.
    func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
      do {
        return try pool.read(body)
      } catch {
        throw Self.storeError(error)
      }
    }

    /// The same with the connection that writes, if it writes nothing. Its pages are in memory,
    /// where another connection reads them again from the file after each transaction.
    func readWarm<Value: Sendable>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
      do {
        let value = try writing.withLockIfAvailable { _ in
          try pool.writeWithoutTransaction { database in
            var value: Value?
            try database.inPreparedTransaction(writes: false) { value = try body(database) }
            return value
          }
        }
        if let value = value ?? nil { return value }
      } catch {
        throw Self.storeError(error)
      }
      return try read(body)
    }

    // MARK: Errors

    private static func isDamage(_ error: DatabaseError) -> Bool {
      [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode.primaryResultCode)
    }

    private static func isRejection(_ error: DatabaseError) -> Bool {
      [.SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_RANGE, .SQLITE_ERROR].contains(
        error.resultCode.primaryResultCode)
    }

    private static func reason(_ error: DatabaseError) -> String {
      error.message ?? "SQLite's error \(error.extendedResultCode.rawValue)"
    }

    static func storeError(_ error: any Error) -> StoreError {
      if let error = error as? StoreError { return error }
      guard let error = error as? DatabaseError else { return .unusable("\(error)") }
      if isDamage(error) { return .damaged(keptAt: nil) }
      if error.resultCode == .SQLITE_FULL { return .full }
      return isRejection(error) ? .rejected(reason(error)) : .unusable(reason(error))
    }

    /// Moves the database and its log to names that are not used, and returns the first; nil if
    /// they can't be moved.
    static func setAside(_ path: String) -> String? {
      for number in 1...999 {
        let new = "\(path).damaged-\(number)"
        if access(new, F_OK) == 0 { continue }
        guard rename(path, new) == 0 else { return nil }
        for suffix in ["-wal", "-shm"] { _ = rename(path + suffix, new + suffix) }
        return new
      }
      return nil
    }
  }

  extension Database {
    /// Makes changes in one transaction. `inTransaction` compiles the statements around it each time, which takes as long
    /// as a message.
    fileprivate func inPreparedTransaction(writes: Bool = true, _ body: () throws -> Void) throws {
      try cachedStatement(sql: writes ? "BEGIN IMMEDIATE" : "BEGIN").execute()
      do {
        try body()
        try cachedStatement(sql: "COMMIT").execute()
      } catch {
        // SQLite has ended the transaction itself after some errors, such as that of a full disk.
        if isInsideTransaction { try? execute(sql: "ROLLBACK") }
        throw error
      }
    }
  }
#endif
