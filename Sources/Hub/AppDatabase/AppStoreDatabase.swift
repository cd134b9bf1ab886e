#if AppDatabase
  package import AppManagerHost
  package import StateFiles
  import Synchronization

  /// The store of a manager of apps: an SQLite database in a folder of the user's own.
  ///
  /// One process at a time has it. A call returns when the contents are on the disk, and a process that is killed leaves
  /// those of the last call, or of the one before. A database that is damaged, or of a later version, is moved aside
  /// and reported, and another one takes its place: with all that the manager knows where it runs already, empty at its
  /// start. All methods may be called from any thread.
  package final class AppStoreDatabase: AppStore {
    private let store: Mutex<OpenAppStore>

    /// - Parameters:
    ///   - path: The database. It and its folder are made when it is read first.
    ///   - file: The file of JSON that earlier versions had. What it has is taken over once.
    package init(path: String, importing file: String? = nil) {
      store = Mutex(OpenAppStore(path: path, importedPath: file))
    }

    package func read() throws(StateFileError) -> AppStoreContents {
      try store.withLock { store throws(StateFileError) in try store.read() }
    }

    package func write(_ contents: AppStoreContents) throws(StateFileError) {
      try store.withLock { store throws(StateFileError) in try store.write(contents) }
    }

    package func takeReports() -> [String] { store.withLock { $0.takeReports() } }

    package func close() { store.withLock { $0.close() } }
  }
#endif
