#if AppDatabase
  import AppMachines
  import Essentials
  import Foundation
  import GRDB
  import StateFiles
  import Testing

  @testable import AppDatabase
  @testable import AppManagerHost

  /// A folder that is removed at the end.
  final class TestFolder: Sendable {
    let url: URL

    init() throws {
      url = FileManager.default.temporaryDirectory.appending(path: "apps-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }

    var names: [String] {
      ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
    }
  }

  @Suite
  struct AppStoreDatabaseTests {
    private static func contents(_ count: Int, _ mark: UInt8 = 1) -> AppStoreContents {
      AppStoreContents(
        apps: (0..<count).map {
          InstalledAppRecord(
            identifier: "com.example.\($0)", folder: "/a \"b\"\n\\ü\($0)",
            description: AppDescription(modes: .bluetoothCentral, hasScenes: $0 % 2 == 0))
        },
        managers: (0..<count).map {
          PreservedManagerRecord(app: "com.example.\($0)", manager: "", holdings: [mark, 255, 0])
        })
    }

    private let folder: TestFolder
    private let path: String

    init() throws {
      folder = try TestFolder()
      path = folder.path("new/apps.sqlite")
    }

    /// Writes contents as a manager that ends.
    private func put(_ contents: AppStoreContents) throws {
      let store = AppStoreDatabase(path: path)
      _ = try store.read()
      try store.write(contents)
      #expect(store.takeReports() == [])
      store.close()
    }

    private func sql(_ text: String) throws {
      let queue = try DatabaseQueue(path: path)
      try queue.writeWithoutTransaction { try $0.execute(sql: text) }
      try queue.close()
    }

    @Test func `A new store is empty, and the next manager reads what the last one wrote`() throws {
      let store = AppStoreDatabase(path: path)
      #expect(try store.read() == AppStoreContents())
      store.close()
      #expect(throws: StateFileError.self) { try store.write(Self.contents(1)) }
      for count in [5, 2, 0, 4] {
        try put(Self.contents(count, UInt8(count)))
        let next = AppStoreDatabase(path: path)
        #expect(try next.read() == Self.contents(count, UInt8(count)))
        next.close()
      }
    }

    @Test func `Only the rows that differ are written, and they are synchronized in full`() throws {
      let store = AppStoreDatabase(path: path)
      _ = try store.read()
      try store.write(Self.contents(200))
      let size = { try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int }
      let before = try size() ?? 0
      var changed = Self.contents(200)
      changed.managers[100].holdings = [9]
      try store.write(changed)
      #expect(try (size() ?? 0) - before <= 3 * 4_120)
      store.close()
      let queue = try AppStoreSchema.open(path)
      #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
      #expect(try queue.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
      try queue.close()
    }

    @Test func `Only the owner may read the files`() throws {
      let store = AppStoreDatabase(path: path)
      _ = try store.read()
      try store.write(Self.contents(1))
      for file in [path, path + "-wal", path + "-shm"] {
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect(mode as? Int == 0o600, "\(file)")
      }
      store.close()
    }

    @Test func `A second manager is refused while the first one has the store`() throws {
      let store = AppStoreDatabase(path: path)
      _ = try store.read()
      let other = AppStoreDatabase(path: path)
      #expect(throws: StateFileError(.busy, "another manager of apps has it")) { try other.read() }
      store.close()
      #expect(try other.read() == AppStoreContents())
      other.close()
    }

    @Test(arguments: [
      "DROP TABLE record", "UPDATE record SET value = 'x'",
      "UPDATE record SET section = 'a\"b' WHERE section = 'apps'",
      "UPDATE record SET value = x'00' WHERE position = 0",
      "UPDATE record SET value = '{}' WHERE position = 1",
      "INSERT INTO record VALUES ('apps', -1, '7')",
      "INSERT INTO record VALUES ('apps', 99, hex(zeroblob(9000000)))",
    ])
    func
      `A store whose rows are no list of apps is kept aside and reported, and a new one is begun`(
        _ change: String
      ) throws
    {
      try put(Self.contents(3))
      try sql(change)
      let store = AppStoreDatabase(path: path)
      #expect(try store.read() == AppStoreContents())
      let reports = store.takeReports()
      #expect(reports.count == 1 && reports[0].contains("is damaged"), "\(reports)")
      #expect(FileManager.default.fileExists(atPath: path + ".damaged-1"))
      try store.write(Self.contents(2))
      store.close()
      let next = AppStoreDatabase(path: path)
      #expect(try next.read() == Self.contents(2))
      #expect(next.takeReports() == [])
      next.close()
    }

    @Test func `A file that is no database is kept aside, and so is one with damaged pages`() throws
    {
      try put(Self.contents(200))
      for number in 1...2 {
        if number == 1 {
          let file = try FileHandle(forUpdating: URL(filePath: path))
          for page in 1..<(try file.seekToEnd()) / 4_096 {
            try file.seek(toOffset: page * 4_096)
            try file.write(contentsOf: Data(repeating: 0xff, count: 4_096))
          }
          try file.close()
        } else {
          try Data(repeating: 0x55, count: 8_192).write(to: URL(filePath: path))
        }
        let store = AppStoreDatabase(path: path)
        #expect(try store.read() == AppStoreContents())
        #expect(store.takeReports().count == 1)
        #expect(FileManager.default.fileExists(atPath: path + ".damaged-\(number)"))
        store.close()
      }
    }

    @Test
    func `A store with any damage is read, or kept aside, or refused as that of another program`()
      throws
    {
      let seed = UInt64.random(in: 0..<1 << 32)
      print("seed \(seed)")
      var random = SeededGenerator(seed: seed)
      try put(Self.contents(40))
      let whole = try Data(contentsOf: URL(filePath: path))
      var keptCount = 0
      for number in 0..<80 {
        var bytes = whole
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let count = Int.random(in: 1...300, using: &random)
        let noise = Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
        switch number % 4 {
        case 0: bytes = bytes.prefix(place)
        case 1: bytes.replaceSubrange(place..<place, with: noise)
        case 2: bytes.replaceSubrange(place..<min(place + count, bytes.count), with: noise)
        default: bytes[place] = UInt8.random(in: 0...255, using: &random)
        }
        let file = folder.path("\(number)/apps.sqlite")
        try FileManager.default.createDirectory(
          atPath: folder.path("\(number)"), withIntermediateDirectories: true)
        try bytes.write(to: URL(filePath: file))
        let store = AppStoreDatabase(path: file)
        do throws(StateFileError) {
          _ = try store.read()
          try store.write(Self.contents(3))
        } catch {
          #expect(error.kind == .refused, "seed \(seed), \(number): \(error)")
        }
        keptCount += store.takeReports().count
        store.close()
      }
      #expect(keptCount > 10, "seed \(seed)")
    }

    @Test func `A store of a later version is kept as it is, and a new one is begun`() throws {
      try put(Self.contents(3))
      try sql("INSERT INTO grdb_migrations VALUES ('99')")
      let before = try Data(contentsOf: URL(filePath: path))
      let store = AppStoreDatabase(path: path)
      #expect(try store.read() == AppStoreContents())
      #expect(store.takeReports().first?.contains("a later version of Ambit") ?? false)
      #expect(try Data(contentsOf: URL(filePath: path + ".later-1")) == before)
      store.close()
    }

    @Test func `A database of another program is refused, and not changed`() throws {
      try put(Self.contents(1))
      try sql("PRAGMA application_id = 1")
      let before = try Data(contentsOf: URL(filePath: path))
      let store = AppStoreDatabase(path: path)
      #expect(throws: StateFileError(.refused, "the file is something else")) { try store.read() }
      #expect(try Data(contentsOf: URL(filePath: path)) == before)
      store.close()
    }

    @Test
    func
      `A store that is damaged, removed or replaced under a manager is written again as a whole`()
      throws
    {
      let store = AppStoreDatabase(path: path)
      _ = try store.read()
      try store.write(Self.contents(3))
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: path + suffix)
      }
      try store.write(Self.contents(4))
      #expect(store.takeReports().first?.contains("was removed") ?? false)
      try Data("text".utf8).write(to: URL(filePath: path), options: .atomic)
      try store.write(Self.contents(5))
      #expect(store.takeReports().first?.contains("has taken the place") ?? false)
      #expect(try Data(contentsOf: URL(filePath: path + ".replaced-1")) == Data("text".utf8))
      store.close()
      let next = AppStoreDatabase(path: path)
      #expect(try next.read() == Self.contents(5))
      next.close()
    }

    @Test func `The file of JSON of earlier versions is taken over once, and kept`() throws {
      let file = folder.path("apps.json")
      try AppStoreFile(path: file).write(Self.contents(3))
      let store = AppStoreDatabase(path: path, importing: file)
      #expect(try store.read() == Self.contents(3))
      #expect(store.takeReports().first?.contains("its 3 apps are in") ?? false)
      try store.write(Self.contents(2))
      store.close()
      #expect(folder.names.contains("apps.json.imported"))
      #expect(!folder.names.contains("apps.json"))

      // As after an end between the two steps, or a run of an earlier version.
      try AppStoreFile(path: file).write(Self.contents(9))
      let next = AppStoreDatabase(path: path, importing: file)
      #expect(try next.read() == Self.contents(2))
      #expect(next.takeReports().first?.contains("isn't read again") ?? false)
      #expect(!folder.names.contains("apps.json"))
      next.close()
    }

    @Test func `A damaged file of JSON is kept aside and reported`() throws {
      let file = folder.path("apps.json")
      try Data("{\"apps\":".utf8).write(to: URL(filePath: file))
      chmod(file, 0o600)
      let store = AppStoreDatabase(path: path, importing: file)
      #expect(try store.read() == AppStoreContents())
      #expect(store.takeReports().first?.contains("it is damaged") ?? false)
      #expect(folder.names.contains("apps.json.imported"))
      store.close()
    }

    @Test func `Contents longer than a manager reads are refused, and the last ones stay`() throws {
      let store = AppStoreDatabase(path: path)
      _ = try store.read()
      try store.write(Self.contents(2))
      var large = Self.contents(2)
      large.managers[0].holdings = [UInt8](repeating: 7, count: 13 << 20)
      let failed = #expect(throws: StateFileError.self) { try store.write(large) }
      #expect(failed?.kind == .unwritable)
      store.close()
      let next = AppStoreDatabase(path: path)
      #expect(try next.read() == Self.contents(2))
      #expect(next.takeReports() == [])
      next.close()
    }

    @Test func `A full disk is an error, after which the same is written again`() throws {
      var store = OpenAppStore(path: path, importedPath: nil)
      _ = try store.read()
      try store.write(Self.contents(1))
      func setPages(_ count: Int) throws {
        try store.queue?.writeWithoutTransaction { database in
          _ = try Int.fetchOne(database, sql: "PRAGMA max_page_count = \(count)")
        }
      }
      try setPages(1)
      let failed = #expect(throws: StateFileError.self) { try store.write(Self.contents(256)) }
      #expect(failed?.kind == .unwritable)
      try setPages(1_000_000)
      try store.write(Self.contents(256))
      #expect(store.takeReports() == [])
      store.close()
      let next = AppStoreDatabase(path: path)
      #expect(try next.read() == Self.contents(256))
      next.close()
    }
  }
#endif
