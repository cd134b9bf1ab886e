import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("What a hub refuses or can't write", .serialized, .timeLimit(.minutes(5)))
struct HubRefusalTests {
  private static let lamp =
    #"{"name": "Lamp", "services": [{"uuid": "180F", "characteristics": [{"uuid": "2A19", "value": {"uint8": 80}}]}]}"#

  private static func run(_ arguments: String..., on hub: ServedHub) async throws -> AmbitRun.End {
    let run = try AmbitRun(arguments, environment: hub.environment)
    run.closeInput()
    return await run.end()
  }

  /// A hub that gives this user's programs these quotas.
  private static func hub(_ quotas: String, in folder: borrowing TestFolder) async throws
    -> ServedHub
  {
    let rules = try folder.file(
      "rules.json",
      "{\"rules\": [{\"access\": \"allow\", \"user\": \(geteuid()), \"quotas\": {\(quotas)}}]}")
    try #require(chmod(folder.path, 0o700) == 0 && chmod(rules, 0o600) == 0)
    return try await ServedHub("sim", at: folder.path + "/hub", "--rules", rules)
  }

  private static func end(_ hub: ServedHub) async {
    hub.server.terminate()
    _ = await hub.server.end()
  }

  // MARK: Quotas

  @Test func `A timer that was never started may be released`() async {
    await #expect(processExitsWith: .success) {
      let set = WakeTimer()
      set.set(after: .seconds(3_600))
      _ = WakeTimer()
      let stopped = WakeTimer()
      stopped.stop()
      withExtendedLifetime((set, stopped)) {}
    }
  }

  @Test func `A timer takes each delay, and fires after it was set anew`() async {
    let timer = WakeTimer()
    let (fires, fire) = AsyncStream<Void>.makeStream()
    timer.set(after: .seconds(Int64.max))
    timer.start { fire.yield() }
    timer.set(after: .zero)
    for await _ in fires { break }
    timer.stop()
  }

  @Test(arguments: ["\"advertisements\":0", "\"services\":0", "\"serviceBytes\":10"])
  func `A peripheral that a hub refuses ends with a sentence`(quota: String) async throws {
    let folder = try TestFolder()
    let hub = try await Self.hub(quota, in: folder)
    let file = try folder.file("lamp.json", Self.lamp)
    let end = try await Self.run("peripheral", file, on: hub)
    #expect(!end.isSignalled && end.status == AmbitCLI.ExitStatus.failure.rawValue, "\(end)")
    #expect(end.output.isEmpty, "\(end)")
    #expect(end.complaints.last?.contains("a limit is reached (") == true, "\(end)")
    await Self.end(hub)
  }

  @Test(arguments: [["scan"], ["scan", "--timeout", "1", "--json"], ["read", "strap", "2A19"]])
  func `A scan that a hub refuses ends the command with a sentence`(command: [String]) async throws
  {
    let folder = try TestFolder()
    let hub = try await Self.hub("\"scans\":0", in: folder)
    let run = try AmbitRun(command, environment: hub.environment)
    run.closeInput()
    let end = await run.end()
    #expect(end.status == AmbitCLI.ExitStatus.notPermitted.rawValue, "\(end)")
    #expect(end.complaints.last?.contains("allow no more scans") == true, "\(end)")
    await Self.end(hub)
  }

  @Test func `A command finds no devices while the hub refuses another program's requests`()
    async throws
  {
    let folder = try TestFolder()
    let hub = try await Self.hub("\"advertisements\":0", in: folder)
    let refused = try await Self.run("advertise", "--name", "Lamp", on: hub)
    #expect(refused.status == AmbitCLI.ExitStatus.failure.rawValue, "\(refused)")
    let end = try await Self.run("scan", "--service", "FEED", "--timeout", "1", on: hub)
    #expect(end.status == 0 && end.complaints.last == "No devices.", "\(end)")
    await Self.end(hub)
  }

  // MARK: Bonds that can't be written

  @Test
  func `Bonds that a hub could not write are no missing ones, and are forgotten once it could`()
    async throws
  {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    // A file can't grow, as on a full disk.
    let server = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim", "--socket", path, "--json"],
      environment: ["AMBIT_BONDS": folder.path + "/bonds"],
      shell: "trap '' XFSZ; ulimit -S -f 0")
    #expect(await server.output.next(containing: "\"serving\"") != nil)
    func end(_ arguments: String...) async throws -> AmbitRun.End {
      let run = try AmbitRun(arguments, environment: ServedHub.environment(path))
      run.closeInput()
      return await run.end()
    }
    let value = try await end(
      "read", "thermostat", "7C3B0003-92F1-4E0B-8B1E-5D0A4C1F2E6D", "--json")
    #expect(value.status == 0, "\(value)")
    #expect(value.complaints.contains { $0.contains("the hub keeps the bond only") }, "\(value)")
    #expect(await server.complaints.next(containing: "cannot be written") != nil)
    let failed = AmbitCLI.ExitStatus.cannotCreate.rawValue
    let address = "E8:38:07:F2:A8:29"
    for command in [["list"], ["list", "--json"], ["export"], ["forget", address]] {
      let run = try AmbitRun(["bonds"] + command, environment: ServedHub.environment(path))
      run.closeInput()
      let refused = await run.end()
      #expect(refused.status == failed && refused.output.isEmpty, "\(command): \(refused)")
      #expect(refused.complaints.last?.contains("cannot be written") == true, "\(refused)")
    }
    let process = try Process.run(
      URL(filePath: "/usr/bin/prlimit"),
      arguments: ["--pid", "\(server.processID)", "--fsize=unlimited:"])
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
    // The test's time limit ends the attempts.
    while try await end("bonds").status != 0 {}
    let forgotten = try await end("bonds", "forget", address)
    #expect(forgotten.status == 0, "\(forgotten)")
    #expect(try await end("bonds").output == ["No bonds."])
    let none = try await end("bonds", "forget", address)
    #expect(none.status == AmbitCLI.ExitStatus.notFound.rawValue, "\(none)")
    server.terminate()
    _ = await server.end()
  }
}
