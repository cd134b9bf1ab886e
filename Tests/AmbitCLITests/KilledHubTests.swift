import Glibc
import Testing

@testable import AmbitCLI

/// Programs of the API whose hub is killed, at work with its radio.
@Suite("Programs of a hub that is killed", .serialized, .timeLimit(.minutes(5)))
struct KilledHubTests {
  private static let programs = [
    ["subscribe", "Pulse strap", "2A37", "--json"],
    ["scan", "--json", "--timeout", "600"],
    ["peripheral", "Examples/peripherals/heart-rate.json", "--json"],
    ["beacon", "advertise", "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", "1", "7", "--json"],
  ]

  @Test(arguments: programs)
  func `A program at work ends with the reason, and reports no misuse of the API`(
    _ arguments: [String]
  ) async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim", at: folder.path + "/hub")
    let program = try AmbitRun(arguments, environment: hub.environment)
    #expect(await program.output.next(containing: "{") != nil)
    await hub.kill()
    let end = await program.end()
    #expect(end.status == AmbitCLI.ExitStatus.radioUnavailable.rawValue, "\(end)")
    #expect(end.complaints.contains { $0.contains("The hub closed the connection") }, "\(end)")
    #expect(!end.complaints.contains { $0.contains("MISUSE") }, "\(end)")
  }

  @Test
  func `A shell whose commands wait for the hub ends with the reason, and goes on with none`()
    async throws
  {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim", at: folder.path + "/hub")
    let shell = try AmbitRun(
      ["shell", "Pulse strap", "--json"], environment: hub.environment)
    try shell.write("subscribe 2A37\n")
    #expect(await shell.output.next(containing: "\"value\"") != nil)
    hub.server.send(SIGSTOP)
    for command in ["read 2A38", "read 2A19", "read 2A38"] { try shell.write(command + "\n") }
    await hub.kill()
    let end = await shell.end()
    #expect(end.status == AmbitCLI.ExitStatus.radioUnavailable.rawValue, "\(end)")
    #expect(!end.complaints.contains { $0.contains("MISUSE") }, "\(end)")
  }
}
