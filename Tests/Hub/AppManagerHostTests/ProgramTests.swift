import AppMachines
import AppSessions
import Foundation
import Glibc
import Testing

@testable import AppManagerHost

/// The program `ambit-apps` at work.
struct ProgramRun: ManagerCommands {
  let folder: String
  /// The socket of the hub whose radio the manager uses; nil without one.
  var hub: String?
  var path: String { folder + "/ambit/apps" }

  func makeProcess(_ words: [String], program: String = "ambit-apps") -> Process {
    let process = Process()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: program)
    process.arguments = words
    var environment = ProcessInfo.processInfo.environment
    for name in ["AMBIT_HUB", "AMBIT_RADIO", "AMBIT_APPS"] { environment[name] = nil }
    environment["AMBIT_HUB"] = hub
    environment["XDG_RUNTIME_DIR"] = folder
    environment["XDG_STATE_HOME"] = folder
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    return process
  }

  /// Starts the manager, or another program, and waits until it serves.
  func start(
    _ words: [String], program: String = "ambit-apps"
  ) async throws -> Process {
    let process = makeProcess(words, program: program)
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let handle = output.fileHandleForReading
    let data = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: handle.availableData) }
    }
    let line = String(decoding: data, as: UTF8.self)
    #expect(line.contains("\"event\":\"serving\"") && line.contains("\"radio\":"), "\(line)")
    // What it reports later is read, so that it never waits.
    handle.readabilityHandler = { handle in
      // At its end it is readable without end.
      if handle.availableData.isEmpty { handle.readabilityHandler = nil }
    }
    return process
  }

  /// Runs a command. Returns its output and its status.
  func run(
    _ words: String..., environment: [String: String] = [:]
  ) async throws -> (output: String, status: Int32) {
    let process = makeProcess(words)
    process.environment?.merge(environment) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    try output.fileHandleForWriting.close()
    let handle = output.fileHandleForReading
    let data = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: handle.readDataToEndOfFile()) }
    }
    process.waitUntilExit()
    return (String(decoding: data, as: UTF8.self), process.terminationStatus)
  }
}

@Suite(.timeLimit(.minutes(5)), .serialized)
struct ProgramTests {
  private static let lock = "com.example.lock"

  @Test func `The program runs the door lock, and its commands show what the app does`()
    async throws
  {
    let folder = try TestManager.makeFolder()
    let radio = try await LockRadio(in: folder)
    let program = ProgramRun(folder: folder)
    let relative = try await program.run("app", "list", environment: ["AMBIT_APPS": "apps"])
    #expect(relative.status == 64 && relative.output.contains("\"apps\" is not the path"))
    let none = try await program.run("app", "list")
    #expect(none.status == 1 && none.output.contains("start it with \"ambit apps\""))

    let manager = try await program.start(
      [
        "apps", "run", "--json", "--freezer", "signals", "--no-memory-pressure", "--radio",
        "unix:" + radio.path,
      ])
    let place = try TestManager.makeDoorLock(in: folder)
    #expect(try await program.run("app", "install", place).output == "Installed \(Self.lock).\n")
    #expect(try await program.run("app", "open", "com.example.none").status == 68)
    #expect(try await program.run("app", "foreground", Self.lock).status == 0)
    try await program.until(Self.lock) { $0.connectionCount == 1 }
    #expect(try await program.run("app", "terminate", Self.lock).status == 1)
    #expect(try await program.run("app", "background", Self.lock).status == 0)
    try await program.until(Self.lock) { $0.state == .suspended }
    let list = try await program.run("app", "list", "--json").output
    #expect(list.contains("\"state\":\"suspended\""))

    radio.moveOutOfRange()
    try await program.until(Self.lock) { $0.state == .suspended && $0.pendingConnectionCount == 1 }
    #expect(try await program.run("app", "terminate", Self.lock).status == 0)
    try await program.until(Self.lock) { $0.state == .notRunning }
    radio.moveIntoRange()
    var openings = radio.openings.makeAsyncIterator()
    #expect(await openings.next() == 1)
    try await program.until(Self.lock) { $0.state == .suspended }
    let status = try await program.run("apps", "status").output
    #expect(status.contains("2 launches, ") && status.contains(" bluetoothCentral"))
    #expect(try await program.run("app", "log", Self.lock).output.contains("launched for lock\n"))

    let payload = folder + "/payload.json"
    try #"{"aps":{"content-available":1}}"#.write(
      toFile: payload, atomically: true, encoding: .utf8)
    let push = try await program.run("push", Self.lock, payload, "--json")
    #expect(push.output.contains(#""result":"waitsForForeground""#))
    #expect(try await program.run("push", Self.lock, payload, "--type", "alert").status == 65)
    #expect(try await program.run("push", Self.lock, folder + "/none").status == 66)
    let both = try await program.run("push", Self.lock, payload, "--now", "--expires", "1h")
    #expect(both.status == 64 && both.output.contains("leave out --expires"))
    #expect(try await program.run("push", "com.example.none", payload).status == 68)

    let app = try await program.app(Self.lock)
    manager.terminate()
    manager.waitUntilExit()
    #expect(manager.terminationReason == .uncaughtSignal && manager.terminationStatus == SIGTERM)
    #expect(processState(try #require(app.processID)) == nil)
    await radio.close()
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `A manager that was killed is followed by one that has the same processes`()
    async throws
  {
    let folder = try TestManager.makeFolder()
    let radio = try await LockRadio(in: folder)
    let program = ProgramRun(folder: folder)
    let words = [
      "apps", "run", "--json", "--freezer", "signals", "--no-memory-pressure", "--radio",
      "unix:" + radio.path,
    ]
    let first = try await program.start(words)
    let place = try TestManager.makeDoorLock(in: folder)
    try await program.perform(.install(folder: place))
    try await program.perform(.open(Self.lock, attaches: false))
    try await program.until(Self.lock) { $0.connectionCount == 1 }
    try await program.perform(.background(Self.lock))
    radio.moveOutOfRange()
    let app = try await program.until(Self.lock) {
      $0.state == .suspended && $0.pendingConnectionCount == 1
    }
    let process = try #require(app.processID)
    try await program.untilWritten()
    kill(first.processIdentifier, SIGKILL)
    first.waitUntilExit()
    #expect(ProcessTable.isStopped(process))

    let second = try await program.start(words)
    let taken = try await program.app(Self.lock)
    #expect(taken.state == .suspended && taken.processID == process)
    radio.moveIntoRange()
    var openings = radio.openings.makeAsyncIterator()
    #expect(await openings.next() == 1)
    let woken = try await program.until(Self.lock) { $0.state == .suspended }
    #expect(woken.processID == process && woken.counts.launchCount == 0)
    second.terminate()
    second.waitUntilExit()
    #expect(processState(process) == nil || processState(process) == "Z")
    await radio.close()
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test func `The manager reports a radio that is not there, and goes on`() async throws {
    let folder = try TestManager.makeFolder()
    let program = ProgramRun(folder: folder)
    let process = program.makeProcess([
      "apps", "run", "--json", "--freezer", "signals", "--radio", "unix:\(folder)/none",
    ])
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let handle = output.fileHandleForReading
    let text = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        var text = ""
        while !text.contains("\"works\":false"), case let data = handle.availableData, !data.isEmpty
        {
          text += String(decoding: data, as: UTF8.self)
        }
        continuation.resume(returning: text)
      }
    }
    #expect(text.contains("\"event\":\"serving\"") && text.contains("\"works\":false"), "\(text)")
    #expect(try await program.run("app", "list").status == 0)
    process.terminate()
    process.waitUntilExit()
    try FileManager.default.removeItem(atPath: folder)
  }
}
