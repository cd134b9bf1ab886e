#if AppDatabase
  import AppDatabase
  import AppManagerHost
  import Essentials
  import Foundation
  import Glibc
  import Testing

  @Suite(.timeLimit(.minutes(5)))
  struct AppStoreKillTests {
    private static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "app-store-program")

    private static func start(
      _ path: String, count: Int, byteCountMax: Int
    ) throws -> (process: Process, output: FileHandle) {
      let process = Process()
      process.executableURL = program
      process.arguments = [path, "\(count)", "\(byteCountMax)"]
      let output = Pipe()
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      return (process, output.fileHandleForReading)
    }

    /// All rows are of the last write, or of the one that was being made.
    private static func check(_ path: String, after last: Int, _ label: String) throws -> Int {
      let store = AppStoreDatabase(path: path, importing: path + ".json")
      defer { store.close() }
      let contents = try store.read()
      #expect(store.takeReports() == [], "\(label)")
      let number = contents.managers.first.flatMap { Int($0.manager) } ?? 0
      #expect(number == last || number == last + 1, "\(label): \(number) after \(last)")
      let count = number == 0 ? 0 : 1 + number % 5
      #expect(
        contents.apps.map(\.folder) == Array(repeating: "/\(number)", count: count), "\(label)")
      #expect(
        contents.managers.map(\.manager) == Array(repeating: "\(number)", count: count), "\(label)")
      return number
    }

    @Test
    func `A manager that ends in any write to the log leaves what one of its calls has written`()
      throws
    {
      var killedCount = 0
      var numbers: Set<Int> = []
      // A frame of the log is written in two parts, of 24 and 4,096 bytes, after a header of 32.
      // Each of these processes ends within one of them.
      for frame in 0..<64 {
        let byteCountMax = 32 + 4_120 * frame + (frame % 2 == 0 ? 10 : 2_000)
        let folder = try TestFolder()
        let path = folder.path("apps.sqlite")
        let (process, output) = try Self.start(path, count: 30, byteCountMax: byteCountMax)
        let text = try output.readToEnd().map { String(decoding: $0, as: UTF8.self) } ?? ""
        process.waitUntilExit()
        if process.terminationReason == .uncaughtSignal { killedCount += 1 }
        let last = text.split(separator: "\n").compactMap { Int($0) }.last ?? 0
        numbers.insert(try Self.check(path, after: last, "\(byteCountMax) bytes"))
      }
      #expect(killedCount > 25, "only \(killedCount) processes were ended by a write")
      #expect(numbers.count > 4, "all ended at the same writes: \(numbers.sorted())")
    }

    @Test func `A manager that is killed at a seeded instant leaves its last write and its lock`()
      throws
    {
      let seed = UInt64.random(in: 0..<1 << 32)
      print("seed \(seed)")
      var random = SeededGenerator(seed: seed)
      let folder = try TestFolder()
      let path = folder.path("apps.sqlite")
      var last = 0
      for round in 0..<12 {
        let (process, output) = try Self.start(path, count: 1_000_000, byteCountMax: 0)
        var text = ""
        // Writes are counted, so that the test depends on no time.
        let count = Int.random(in: 1...40, using: &random)
        while text.count(where: { $0 == "\n" }) < count {
          let data = output.availableData
          try #require(!data.isEmpty, "the program ended after \"\(text.suffix(200))\"")
          text += String(decoding: data, as: UTF8.self)
        }
        let other = AppStoreDatabase(path: path)
        #expect(throws: (any Error).self, "seed \(seed)") { try other.read() }
        Glibc.kill(process.processIdentifier, SIGKILL)
        text += String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        let printed = text.split(separator: "\n").compactMap { Int($0) }.last ?? last
        last = try Self.check(path, after: printed, "seed \(seed), round \(round)")
      }
    }

    @Test
    func `A manager that ends while it takes over a file of JSON takes it over at its next start`()
      throws
    {
      for byteCountMax in stride(from: 1_000, through: 61_000, by: 2_000) {
        let folder = try TestFolder()
        let path = folder.path("apps.sqlite")
        let old = AppStoreContents(
          apps: [], managers: [PreservedManagerRecord(app: "a", manager: "7", holdings: [1])])
        try AppStoreFile(path: path + ".json").write(old)
        let (process, output) = try Self.start(path, count: 1, byteCountMax: byteCountMax)
        let text = try output.readToEnd().map { String(decoding: $0, as: UTF8.self) } ?? ""
        process.waitUntilExit()
        let store = AppStoreDatabase(path: path, importing: path + ".json")
        let number = try store.read().managers.first?.manager
        #expect(
          number == "8" || (number == "7" && !text.contains("8")), "\(byteCountMax) bytes: \(text)")
        store.close()
      }
    }
  }
#endif
