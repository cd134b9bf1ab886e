#if AppDatabase
  import AppManagerHost
  import EventLoop
  import GRDB
  import Glibc
  import StateFiles

  /// The database of a store, its lock, and the rows that it has.
  struct OpenAppStore {
    /// What another file at the same path differs by.
    private struct Identity: Equatable {
      var device: dev_t
      var number: ino_t
    }

    private let path: String
    private let importedPath: String?
    private var lock: StateFileLock?
    private(set) var queue: DatabaseQueue?
    private var identity: Identity?
    private var rows = AppStoreRows()
    private var reports: [String] = []
    private var isClosed = false

    init(path: String, importedPath: String?) {
      self.path = path
      self.importedPath = importedPath
    }

    mutating func takeReports() -> [String] {
      defer { reports = [] }
      return reports
    }

    mutating func close() {
      isClosed = true
      closeDatabase()
      lock = nil
    }

    // MARK: Reading

    mutating func read() throws(StateFileError) -> AppStoreContents {
      try open()
      try importFile()
      guard let contents = rows.contents else {
        throw StateFileError(.damaged, "it has rows that are no list of apps")
      }
      return contents
    }

    /// Opens the database, and begins another one where it can't be used.
    private mutating func open() throws(StateFileError) {
      guard queue == nil else { return }
      guard !isClosed else { throw StateFileError(.unwritable, "the store is closed") }
      try takeLock()
      do throws(UnusableDatabase) {
        try openDatabase()
      } catch {
        closeDatabase()
        guard let kind = error.kept else { throw error.reason }
        try setAside(kind)
        do throws(UnusableDatabase) { try openDatabase() } catch {
          closeDatabase()
          throw error.reason
        }
      }
    }

    private mutating func openDatabase() throws(UnusableDatabase) {
      do {
        try makeFile()
        let new = try AppStoreSchema.open(path)
        queue = new
        identity = Self.identity(of: path)
        rows = try new.read(AppStoreSchema.rows)
      } catch {
        throw UnusableDatabase(error)
      }
      guard rows.contents != nil else {
        throw UnusableDatabase(kept: .damaged, .damaged, "it has rows that are no list of apps")
      }
    }

    private mutating func closeDatabase() {
      try? queue?.close()
      queue = nil
      identity = nil
      rows = AppStoreRows()
    }

    private mutating func takeLock() throws(StateFileError) {
      guard lock == nil else { return }
      lock = try StateFile(path: path, byteCountMax: 0).takeLock("manager")
      guard lock != nil else {
        throw StateFileError(.busy, "another manager of apps has it")
      }
    }

    /// SQLite would let others read what it creates; its log takes over these permissions.
    private func makeFile() throws(StateFileError) {
      do throws(SystemError) {
        let folder = try StateFolder(
          path: StateFolder.parent(of: path), probe: StateFileProbe())
        defer { folder.close() }
        let file = try folder.open(Self.name(path), O_RDWR | O_CREAT)
        defer { Glibc.close(file) }
        try folder.makePrivate(file)
      } catch {
        throw StateFileError(.unreadable, error.text)
      }
    }

    private static func name(_ path: String) -> String {
      path.split(separator: "/").last.map(String.init) ?? path
    }

    private static func identity(of path: String) -> Identity? {
      var information = stat()
      guard stat(path, &information) == 0 else { return nil }
      return Identity(device: information.st_dev, number: information.st_ino)
    }

    // MARK: Writing

    mutating func write(_ contents: AppStoreContents) throws(StateFileError) {
      let new = AppStoreRows(contents)
      // The next manager would take it for damaged, and begin without apps.
      guard new.byteCount <= AppStoreRows.byteCountMax else {
        throw StateFileError(
          .unwritable, "what the apps keep is longer than \(AppStoreRows.byteCountMax) bytes")
      }
      try replaceIfGone()
      do throws(UnusableDatabase) {
        try put(new, marksImport: false)
      } catch {
        guard let kind = error.kept else { throw error.reason }
        closeDatabase()
        try setAside(kind)
        do throws(UnusableDatabase) { try put(new, marksImport: true) } catch { throw error.reason }
      }
    }

    /// SQLite goes on writing into a file that was removed.
    private mutating func replaceIfGone() throws(StateFileError) {
      guard queue != nil, Self.identity(of: path) != identity else { return }
      closeDatabase()
      if access(path, F_OK) == 0 {
        try setAside(.replaced)
      } else {
        reports.append("the store of apps \(path) was removed, and is written again")
      }
    }

    private mutating func put(
      _ new: AppStoreRows, marksImport: Bool
    ) throws(UnusableDatabase) {
      do throws(StateFileError) { try open() } catch { throw UnusableDatabase(kept: nil, error) }
      guard let queue else { return }
      let old = rows
      do {
        try queue.writeWithoutTransaction { database in
          try database.inTransaction(.immediate) {
            try AppStoreSchema.change(old, to: new, in: database)
            if marksImport { try AppStoreSchema.markImport(database) }
            return .commit
          }
        }
      } catch {
        throw UnusableDatabase(error)
      }
      rows = new
    }

    // MARK: Files aside

    /// Moves the database and its log to names that are not used.
    private mutating func setAside(_ kind: KeptDatabase) throws(StateFileError) {
      for number in 1...StateFile.damagedFileCountMax {
        let new = "\(path).\(kind.rawValue)-\(number)"
        if access(new, F_OK) == 0 { continue }
        guard rename(path, new) == 0 else {
          throw StateFileError(.unwritable, "it can't be moved aside: \(SystemError.current.text)")
        }
        for suffix in ["-wal", "-shm"] { _ = rename(path + suffix, new + suffix) }
        reports.append("\(kind.sentence(path)); it is kept as \(new), and another one is begun")
        return
      }
      throw StateFileError(
        .damaged,
        "\(StateFile.damagedFileCountMax) \(kind.rawValue) files exist beside it already; remove one"
      )
    }

    /// Takes over what earlier versions have written, once.
    private mutating func importFile() throws(StateFileError) {
      guard let importedPath, access(importedPath, F_OK) == 0, let queue else { return }
      let isDone: Bool
      do { isDone = try queue.read(AppStoreSchema.hasImported) } catch {
        throw UnusableDatabase(error).reason
      }
      guard !isDone else {
        return setImportedAside(importedPath, "it was taken over before, and isn't read again")
      }
      let contents: AppStoreContents
      do throws(StateFileError) {
        contents = try AppStoreFile(path: importedPath).read()
      } catch {
        guard error.kind == .damaged else { throw error }
        return setImportedAside(importedPath, "it is damaged: \(error.reason)")
      }
      do throws(UnusableDatabase) {
        try put(AppStoreRows(contents), marksImport: true)
      } catch { throw error.reason }
      setImportedAside(importedPath, "its \(contents.apps.count) apps are in \(path) now")
    }

    private mutating func setImportedAside(_ old: String, _ reason: String) {
      let new = old + ".imported"
      let isMoved = rename(old, new) == 0
      reports.append("\(old): \(reason)" + (isMoved ? "; it is kept as \(new)" : ""))
    }
  }

  /// A database that was moved aside, as its name has it.
  enum KeptDatabase: String {
    case damaged, later, replaced

    func sentence(_ path: String) -> String {
      switch self {
      case .damaged: "the store of apps \(path) is damaged"
      case .later: "a later version of Ambit wrote the store of apps \(path)"
      case .replaced: "another file has taken the place of the store of apps \(path)"
      }
    }
  }

  /// Why a database can't be used.
  struct UnusableDatabase: Error {
    /// Whether, and as what, it is moved aside.
    var kept: KeptDatabase?
    var reason: StateFileError

    init(kept: KeptDatabase?, _ reason: StateFileError) {
      self.kept = kept
      self.reason = reason
    }

    init(kept: KeptDatabase?, _ kind: StateFileError.Kind, _ reason: String) {
      self.init(kept: kept, StateFileError(kind, reason))
    }

    init(_ error: any Error) {
      if let error = error as? UnusableDatabase {
        self = error
        return
      }
      if let error = error as? StateFileError {
        self.init(kept: nil, error)
        return
      }
      if error is RowDecodingError {
        self.init(kept: .damaged, .damaged, "a row has another type")
        return
      }
      guard let error = error as? DatabaseError else {
        self.init(kept: nil, .unreadable, "\(error)")
        return
      }
      let reason = error.message ?? "SQLite's error \(error.extendedResultCode.rawValue)"
      switch error.resultCode.primaryResultCode {
      // The last five: with a value that is too long; without a table, or with another one of its name; with a version
      // that may only be read.
      case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_TOOBIG, .SQLITE_ERROR, .SQLITE_MISMATCH,
        .SQLITE_CONSTRAINT, .SQLITE_READONLY:
        self.init(kept: .damaged, .damaged, reason)
      case .SQLITE_CANTOPEN, .SQLITE_AUTH, .SQLITE_PERM: self.init(kept: nil, .unreadable, reason)
      case .SQLITE_BUSY, .SQLITE_LOCKED: self.init(kept: nil, .busy, reason)
      default: self.init(kept: nil, .unwritable, reason)
      }
    }
  }
#endif
