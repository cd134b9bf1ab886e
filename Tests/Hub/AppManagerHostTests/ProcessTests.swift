import AppMachines
import AppSessions
import Essentials
import Foundation
import Glibc
import Testing

@testable import AppManagerHost

/// Programs that are no good apps.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct ProcessTests {
  private static let id = "com.example.a"

  @Test
  func `A force-quit ends an app that ignores SIGTERM, and the processes that it started`()
    async throws
  {
    let manager = try await TestManager.start()
    let folder = try manager.makeApp(
      Self.id, script: "trap '' TERM\nsetsid sleep 1000 &\necho $!\nwhile :; do sleep 1000; done")
    try await manager.perform(.install(folder: folder))
    try await manager.perform(.open(Self.id, attaches: false))
    let running = try await manager.until(Self.id) { $0.processID != nil }
    var line: String?
    while line == nil { line = try await manager.lines(of: Self.id).first }
    let child = try #require(line.flatMap { Int32($0) })
    try await manager.perform(.forceQuit(Self.id))
    try await manager.until(Self.id) { $0.state == .notRunning }
    #expect(processState(try #require(running.processID)) == nil)
    #expect(processState(child) == nil)
    await manager.close()
  }

  @Test func `A process that an app leaves behind is ended before the app is started again`()
    async throws
  {
    let manager = try await TestManager.start()
    let folder = try manager.makeApp(Self.id, script: "setsid sleep 1000 &\necho $!")
    try await manager.perform(.install(folder: folder))
    try await manager.perform(.open(Self.id, attaches: false))
    try await manager.until(Self.id) { $0.counts.crashCount == 1 }
    let lines = try await manager.lines(of: Self.id)
    let child = try #require(lines.first.flatMap { Int32($0) })
    #expect(processState(child) == nil || processState(child) == "Z")
    #expect(try await manager.app(Self.id).state == .notRunning)
    await manager.close()
  }

  /// Each has cleared its environment, and left the session and the process group of its app. Its parent ends at once.
  @Test(arguments: [
    "setsid env -i sleep 1000", "cd / && setsid env -i sleep 1000",
    "setsid env -i sleep 1000 >/dev/null 2>&1",
  ])
  func `A process that has left its app's session with an empty environment ends with the app`(
    command: String
  ) async throws {
    let manager = try await TestManager.start()
    let folder = try manager.makeApp(
      Self.id,
      script: "(\(command) & echo $! >child) &\nwait\necho ready\nwhile :; do sleep 1000; done")
    try await manager.perform(.install(folder: folder))
    try await manager.perform(.open(Self.id, attaches: false))
    while try await manager.lines(of: Self.id).isEmpty {}
    let text = try String(contentsOfFile: folder + "/child", encoding: .utf8)
    let child = try #require(Int32(text.split(separator: "\n").joined()))
    while ProcessTable.entry(of: child)?.sessionID != child {}
    try await manager.perform(.forceQuit(Self.id))
    try await manager.until(Self.id) { $0.state == .notRunning }
    #expect(processState(child) == nil || processState(child) == "Z")
    await manager.close()
  }

  @Test func `The output and the end of an app are shown where it was opened`() async throws {
    let manager = try await TestManager.start()
    let folder = try manager.makeApp(Self.id, script: "echo one\nprintf two\nexit 3")
    try await manager.perform(.install(folder: folder))
    var replies: [AppCommandReply] = []
    for try await reply in AppCommandClient.replies(
      to: .open(Self.id, attaches: true), at: manager.server.path)
    { replies.append(reply) }
    #expect(replies == [.opened, .output("one"), .output("two"), .ended(.status(3))])
    await manager.close()
  }

  @Test func `An app that never finishes launching is ended`() async throws {
    var limits = TestManager.limits
    limits.launchTime = .milliseconds(200)
    let manager = try await TestManager.start(limits: limits)
    let folder = try manager.makeApp(Self.id)
    try await manager.perform(.install(folder: folder))
    try await manager.perform(.open(Self.id, attaches: false))
    let app = try await manager.until(Self.id) { $0.counts.crashCount == 1 }
    #expect(app.state == .notRunning)
    await manager.close()
  }

  @Test func `The end of the manager is the end of its apps`() async throws {
    let manager = try await TestManager.start()
    let folder = try manager.makeApp(
      Self.id, script: "setsid sleep 1000 &\necho $!\nexec sleep 1000")
    try await manager.perform(.install(folder: folder))
    try await manager.perform(.open(Self.id, attaches: false))
    let app = try await manager.until(Self.id) { $0.processID != nil }
    var line: String?
    while line == nil { line = try await manager.lines(of: Self.id).first }
    let child = try #require(line.flatMap { Int32($0) })
    await manager.close()
    #expect(processState(try #require(app.processID)) == nil)
    #expect(processState(child) == nil)
  }

  @Test func `What a killed manager has left is ended by the next one`() async throws {
    let ended = Process()
    ended.executableURL = URL(filePath: "/bin/true")
    try ended.run()
    ended.waitUntilExit()
    let own = ManagerMark.current
    let left = Process()
    left.executableURL = URL(filePath: "/bin/sleep")
    left.arguments = ["1000"]
    left.environment = [
      "AMBIT_APP_PROCESS": "\(own.namespace).\(ended.processIdentifier).\(own.startTime).1"
    ]
    try left.run()
    let manager = try await TestManager.start()
    left.waitUntilExit()
    #expect(left.terminationReason == .uncaughtSignal)
    await manager.close()
  }

  @Test
  func `A manager of another namespace, or one that runs, is not taken for one that has ended`()
    throws
  {
    let own = ManagerMark.current
    #expect(!own.hasEnded)
    let reused = try #require(
      ManagerMark("\(own.namespace).\(own.processID).\(own.startTime - 1).1"))
    #expect(reused.hasEnded)
    let other = try #require(ManagerMark("\(own.namespace + 1).1.1.1"))
    #expect(!other.hasEnded)
    #expect(ManagerMark("7.1") == nil)
  }

  @Test(.enabled(if: TestGroup.isAvailable, "no control group can be made here"))
  func `A control group freezes an app with all processes that it has started, and ends them`()
    async throws
  {
    let group = try #require(TestGroup.make("process"))
    defer { rmdir(group) }
    let manager = try await TestManager.start(freezer: .controlGroups(folder: group))
    try await manager.perform(.install(folder: manager.makeDoorLock()))
    let lock = "com.example.lock"
    try await manager.perform(.open(lock, attaches: false))
    try await manager.until(lock) { $0.connectionCount == 1 }
    try await manager.perform(.background(lock))
    let app = try await manager.until(lock) { $0.state == .suspended }
    let processes = try String(
      contentsOfFile: "\(group)/app-\(ManagerMark.current).1/cgroup.procs", encoding: .utf8)
    #expect(processes.split(separator: "\n").map(String.init) == ["\(try #require(app.processID))"])
    let isFrozen = try String(
      contentsOfFile: "\(group)/app-\(ManagerMark.current).1/cgroup.freeze", encoding: .utf8)
    #expect(isFrozen == "1\n")
    try await manager.perform(.terminate(lock))
    try await manager.until(lock) { $0.state == .notRunning }
    #expect(!FileManager.default.fileExists(atPath: "\(group)/app-\(ManagerMark.current).1"))
    await manager.close()
  }

  @Test func `An app that is updated while it is suspended keeps its process until that ends`()
    async throws
  {
    let manager = try await TestManager.start()
    let lock = "com.example.lock"
    let folder = try manager.makeDoorLock()
    try await manager.perform(.install(folder: folder))
    try await manager.perform(.open(lock, attaches: false))
    try await manager.until(lock) { $0.connectionCount == 1 }
    try await manager.perform(.background(lock))
    let process = try #require(try await manager.until(lock) { $0.state == .suspended }.processID)

    try "#!/bin/sh\necho updated\nexec sleep 1000\n".write(
      toFile: folder + "/new", atomically: true, encoding: .utf8)
    chmod(folder + "/new", 0o755)
    try TestManager.writePlist(
      ["CFBundleIdentifier": lock, "CFBundleExecutable": "new"], in: folder)
    #expect(try await manager.perform(.install(folder: folder)) == .installed(lock, isNew: false))
    let updated = try await manager.app(lock)
    #expect(updated.state == .suspended && updated.processID == process)
    #expect(ProcessTable.isStopped(process))
    try await manager.perform(.terminate(lock))
    try await manager.until(lock) { $0.state == .notRunning }
    try await manager.perform(.open(lock, attaches: false))
    try await manager.untilLines(of: lock) { $0.contains("updated") }
    await manager.close()
  }

  @Test func `A program that the manager has not started is refused`() async throws {
    let manager = try await TestManager.start()
    #expect(throws: AppManagerError.refused("The manager of apps has not started this process.")) {
      try AppManagerSystem.session(at: manager.server.path)
    }
    await manager.close()
  }
}
