#if Messaging
  import Foundation
  import Glibc
  import Testing
  import XMPPMachines

  @testable import MessagingHost

  @Suite("The store of a killed process")
  struct StoreKillTests {
    private static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "store-program")

    /// Runs the program. Returns the last number that it printed.
    private static func run(_ path: String, count: Int, byteCountMax: Int) throws -> (
      last: Int64, status: Process.TerminationReason
    ) {
      let process = Process()
      process.executableURL = program
      process.arguments = [path, "\(count)", "\(byteCountMax)"]
      let output = Pipe()
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      let text = try output.fileHandleForReading.readToEnd().map {
        String(decoding: $0, as: UTF8.self)
      }
      process.waitUntilExit()
      let numbers = (text ?? "").split(separator: "\n").compactMap { Int64($0) }
      return (numbers.last ?? 0, process.terminationReason)
    }

    /// Everything that the store has is of one number: the state is a prefix of the commits.
    private static func check(_ path: String, atLeast last: Int64, _ label: String) throws -> Int64
    {
      let store = try MessageStore(path: path)
      defer { store.close() }
      let stored = try store.load()
      let number = stored.lastOutgoing
      #expect(number == last || number == last + 1, "\(label): \(number) after \(last)")
      #expect(stored.outgoing.map(\.id.rawValue) == Array(1..<number + 1), "\(label)")
      #expect(stored.lastIncoming == number && stored.lastSequence == number, "\(label)")
      #expect(stored.archiveMarks.map(\.id) == (number == 0 ? [] : ["\(number)"]), "\(label)")
      #expect(stored.session?.inboundCount ?? 0 == UInt64(number), "\(label)")
      #expect(stored.outgoingStreams.first?.next ?? 1 == UInt64(number) + 1, "\(label)")
      #expect(try store.inbox(after: 0, limit: 1_000).count == Int(number), "\(label)")
      return number
    }

    @Test(
      "a process that ends in any write leaves a prefix of its commits", .timeLimit(.minutes(5)))
    func kill() throws {
      var killedCount = 0
      var numbers: Set<Int64> = []
      // A frame of the log is written in two parts, of 24 and 4,096 bytes, after a header of 32.
      // Each of these processes ends within one of them: of the migrations, and of the commits.
      let frames = stride(from: 0, to: 96, by: 2).map { (number: $0, isNew: true) }
      for frame in frames + (0..<48).map({ (number: $0, isNew: false) }) {
        let byteCountMax = 32 + 4_120 * frame.number + (frame.number % 4 == 0 ? 10 : 2_000)
        let folder = try TestFolder()
        let path = folder.path("messages")
        if !frame.isNew { _ = try Self.run(path, count: 0, byteCountMax: 0) }
        let (last, reason) = try Self.run(path, count: 8, byteCountMax: byteCountMax)
        if reason == .uncaughtSignal { killedCount += 1 }
        numbers.insert(try Self.check(path, atLeast: last, "\(frame) \(byteCountMax) bytes"))
      }
      #expect(killedCount > 50, "only \(killedCount) processes were ended by a write")
      #expect(numbers.count > 2, "all ended at the same commits: \(numbers.sorted())")
    }

    @Test("a process that is killed at any time leaves a prefix of its commits, and its lock")
    func killAtAnyTime() throws {
      let folder = try TestFolder()
      let path = folder.path("messages")
      var last: Int64 = 0
      for round in 0..<10 {
        let process = Process()
        process.executableURL = Self.program
        process.arguments = [path, "100000", "0"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var text = ""
        // The commits are counted, so that the test depends on no time.
        while text.count(where: { $0 == "\n" }) < 3 + 7 * round {
          let data = output.fileHandleForReading.availableData
          try #require(!data.isEmpty, "the program ended after \"\(text.suffix(200))\"")
          text += String(decoding: data, as: UTF8.self)
        }
        #expect(throws: StoreError.inUse(processID: process.processIdentifier)) {
          try MessageStore(path: path)
        }
        Glibc.kill(process.processIdentifier, SIGKILL)
        let rest = try output.fileHandleForReading.readToEnd() ?? Data()
        text += String(decoding: rest, as: UTF8.self)
        process.waitUntilExit()
        let printed = text.split(separator: "\n").compactMap { Int64($0) }.last ?? last
        last = try Self.check(path, atLeast: printed, "round \(round)")
      }
      #expect(last > 100)
    }
  }
#endif
