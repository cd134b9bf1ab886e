import Foundation
import Testing

/// A program with an app, which no system runs.
private final class AppProgram {
  let process = Process()
  private let output = Pipe()
  private var rest = ""

  init(_ arguments: String..., plist: URL? = nil) throws {
    var environment = ProcessInfo.processInfo.environment
    environment["AMBIT_INFO_PLIST"] = plist?.path
    process.environment = environment
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "app-states")
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    try output.fileHandleForWriting.close()
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  /// The next line; nil when the program has ended.
  func next() async -> String? {
    while true {
      if let end = rest.firstIndex(of: "\n") {
        defer { rest = String(rest[rest.index(after: end)...]) }
        return String(rest[..<end])
      }
      let handle = output.fileHandleForReading
      let data = await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: handle.availableData) }
      }
      if data.isEmpty { return nil }
      rest += String(decoding: data, as: UTF8.self)
    }
  }

  func lines(_ count: Int) async -> [String] {
    var lines: [String] = []
    while lines.count < count, let line = await next() { lines.append(line) }
    return lines
  }
}

@Suite("A program with an app that no system runs", .timeLimit(.minutes(5)))
struct AppProgramTests {
  private static let lines = [
    "made 0", "active true true true", "BGTaskSchedulerErrorDomain 3", "no token 3010",
  ]

  @Test func `The app is launched by its main class, becomes active, and terminates on SIGTERM`()
    async throws
  {
    let program = try AppProgram()
    #expect(await program.lines(4) == Self.lines)
    program.process.terminate()
    #expect(await program.next() == "terminate")
    #expect(await program.next() == nil)
    program.process.waitUntilExit()
    #expect(program.process.terminationReason == .exit && program.process.terminationStatus == 0)
  }

  @Test func `A second signal ends an app that hangs while it terminates`() async throws {
    let program = try AppProgram("--hang")
    #expect(await program.lines(4) == Self.lines)
    program.process.interrupt()
    #expect(await program.next() == "terminate")
    program.process.interrupt()
    #expect(await program.next() == nil)
    program.process.waitUntilExit()
    #expect(program.process.terminationReason == .uncaughtSignal)
  }

  @Test func `SIGTERM that is repeated ends an app that hangs while it terminates`() async throws {
    let program = try AppProgram("--hang")
    #expect(await program.lines(4) == Self.lines)
    program.process.terminate()
    #expect(await program.next() == "terminate")
    // Signals that arrive together are one.
    while program.process.isRunning {
      program.process.terminate()
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(program.process.terminationReason == .uncaughtSignal)
  }

  @Test func `The app's Info plist is the file that the environment names, if it can be used`()
    async throws
  {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).plist")
    defer { try? FileManager.default.removeItem(at: file) }
    let plist: [String: Any] = [
      "UIBackgroundModes": ["fetch"], "BGTaskSchedulerPermittedIdentifiers": ["refresh"],
    ]
    for (list, code) in [(plist, 1), (["UIBackgroundModes": "fetch"], 3)] {
      try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
        .write(to: file)
      let program = try AppProgram(plist: file)
      let lines = await program.lines(4)
      // Permitted, and nothing runs the tasks.
      #expect(lines.contains("BGTaskSchedulerErrorDomain \(code)"), "\(lines)")
    }
  }
}
