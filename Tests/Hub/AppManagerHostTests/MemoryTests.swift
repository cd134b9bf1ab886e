import AppMachines
import AppSessions
import Essentials
import Foundation
import Glibc
import Testing

@testable import AppManagerHost

/// Apps on a machine whose memory is short.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct MemoryTests {
  private static let lock = "com.example.lock"

  /// Files as the kernel's, which a test writes.
  private struct Kernel {
    let folder: String
    var files: MemoryFiles {
      var files = MemoryFiles()
      files.pressure = folder + "/pressure"
      files.statistics = folder + "/vmstat"
      files.interval = .milliseconds(20)
      return files
    }

    init() throws {
      folder = try TestManager.makeFolder()
      try write(stall: 0, endedCount: 5)
    }

    func write(stall: UInt64, endedCount: UInt64) throws {
      let line = "avg10=0.00 avg60=0.00 avg300=0.00 total=\(stall)\n"
      // As a whole, so that no half of it is read.
      try "some \(line)full \(line)".write(
        toFile: folder + "/pressure", atomically: true, encoding: .utf8)
      try "nr_free_pages 1\noom_kill \(endedCount)\n".write(
        toFile: folder + "/vmstat", atomically: true, encoding: .utf8)
    }
  }

  private static func suspended(
    _ manager: TestManager
  ) async throws -> AppManagerStatus.App {
    try await manager.perform(.install(folder: manager.makeDoorLock()))
    try await manager.perform(.open(lock, attaches: false))
    try await manager.until(lock) { $0.connectionCount == 1 }
    try await manager.perform(.background(lock))
    return try await manager.until(lock) { $0.state == .suspended }
  }

  @Test func `A suspended app is ended when processes wait for memory, and launched again later`()
    async throws
  {
    let kernel = try Kernel()
    let manager = try await TestManager.start(memory: kernel.files)
    _ = try await Self.suspended(manager)
    try kernel.write(stall: 1_000_000, endedCount: 5)
    let app = try await manager.until(Self.lock) { $0.state == .notRunning }
    #expect(app.counts.crashCount == 0 && app.connectionCount == 1)
    manager.radio.moveOutOfRange()
    let again = try await manager.until(Self.lock) { $0.counts.launchCount == 2 }
    #expect(!again.isForceQuit)
    await manager.close()
    try FileManager.default.removeItem(atPath: kernel.folder)
  }

  @Test func `The kernel ends suspended apps first, and that is no crash`() async throws {
    let kernel = try Kernel()
    let manager = try await TestManager.start(memory: kernel.files)
    let before = try String(contentsOfFile: "/proc/self/oom_score_adj", encoding: .utf8)
    let suspended = try await Self.suspended(manager)
    let processID = try #require(suspended.processID)
    func adjustment() throws -> String {
      try String(contentsOfFile: "/proc/\(processID)/oom_score_adj", encoding: .utf8)
    }
    // A process that the kernel would end before others anyway stays as it is.
    let own = Int(before.dropLast()) ?? 0
    #expect(try adjustment() == "\(max(own, 800))\n")
    try await manager.perform(.open(Self.lock, attaches: false))
    #expect(try adjustment() == before)
    try await manager.perform(.background(Self.lock))
    try await manager.until(Self.lock) { $0.state == .suspended }

    try kernel.write(stall: 0, endedCount: 6)
    kill(processID, SIGKILL)
    let ended = try await manager.until(Self.lock) { $0.state == .notRunning }
    #expect(ended.counts.crashCount == 0 && ended.pause == nil)
    await manager.close()
    try FileManager.default.removeItem(atPath: kernel.folder)
  }

  @Test func `A process that another program has killed has crashed`() async throws {
    let kernel = try Kernel()
    let manager = try await TestManager.start(memory: kernel.files)
    let suspended = try await Self.suspended(manager)
    kill(try #require(suspended.processID), SIGKILL)
    try await manager.until(Self.lock) { $0.counts.crashCount == 1 }
    await manager.close()
    try FileManager.default.removeItem(atPath: kernel.folder)
  }

  @Test func `A helper that has left its app is reaped while the app runs`() async throws {
    let manager = try await TestManager.start()
    let folder = try manager.makeApp(
      "com.example.a",
      script: "sh -c 'setsid sh -c \"echo \\$\\$; exec sleep 0.1\" & :'\nexec sleep 1000")
    try await manager.perform(.install(folder: folder))
    try await manager.perform(.open("com.example.a", attaches: false))
    let lines = try await manager.untilLines(of: "com.example.a") { !$0.isEmpty }
    let helper = try #require(lines.first.flatMap { Int32($0) })
    while processState(helper) != nil { try await Task.sleep(for: .milliseconds(20)) }
    #expect(try await manager.app("com.example.a").processID != nil)
    await manager.close()
  }
}
