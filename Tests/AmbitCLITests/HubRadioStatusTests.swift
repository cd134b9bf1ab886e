import CoreBluetoothAsync
import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("The state of a hub's radio", .serialized, .timeLimit(.minutes(5)))
struct HubRadioStatusTests {
  private static func object(_ line: String?) throws -> [String: Any] {
    let line = try #require(line)
    return try #require(
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  @Test("status names the hub, and the state and kind of its radio, in text and JSON")
  func status() async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim:empty", at: folder.path + "/hub")
    let text = await (try AmbitRun(["status"], environment: hub.environment)).end()
    #expect(text.status == 0, "\(text)")
    #expect(
      text.output == [
        "radio       simulated radio of the hub at \(hub.path)", "hub         \(hub.path)",
        "state       powered on", "simulated   yes", "links       none",
      ])
    let json = await (try AmbitRun(["status", "--json"], environment: hub.environment)).end()
    let status = try Self.object(json.output.first)
    #expect(json.status == 0 && json.output.count == 1, "\(json)")
    #expect(status["hub"] as? String == hub.path && status["radio"] as? String == "hub:\(hub.path)")
    #expect((status["controller"] as? [String: Any])?["state"] as? String == "poweredOn")
    #expect(status["simulated"] as? Bool == true && status["problem"] == nil)
  }

  @Test("a radio of a hub that is not simulated is reported as such")
  func real() async throws {
    let folder = try TestFolder()
    let radio = try await ServedRadio("sim:empty")
    let hub = try await ServedHub(radio.name, at: folder.path + "/hub")
    let text = await (try AmbitRun(["status"], environment: hub.environment)).end()
    #expect(text.status == 0 && text.complaints.isEmpty, "\(text)")
    #expect(text.output.contains("simulated   no"), "\(text)")
    let json = await (try AmbitRun(["status", "--json"], environment: hub.environment)).end()
    #expect(try Self.object(json.output.first)["simulated"] as? Bool == false)
    // Without its radio, the hub is there, and its radio is off.
    _ = await radio.vanish()
    #expect(await hub.server.output.next(containing: "\"works\":false") != nil)
    let off = await (try AmbitRun(["status"], environment: hub.environment)).end()
    #expect(off.status == AmbitCLI.ExitStatus.radioUnavailable.rawValue, "\(off)")
    #expect(off.output.contains("state       off or unplugged"), "\(off)")
    #expect(off.complaints.last?.contains("the radio of the hub at \(hub.path) is off") == true)
  }

  @Test("status within a session through a hub has the link, that of other programs less of it")
  func session() async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim", at: folder.path + "/hub")
    let shell = try AmbitRun(["shell", "strap", "--json"], environment: hub.environment)
    try shell.write("read 2A38\n")
    #expect(await shell.output.next(containing: "2A38") != nil)
    let other = try await AmbitRun.end("status", "--json", environment: hub.environment)
    let seen = try Self.object(other.output.first)["links"] as? [[String: Any]]
    #expect(seen?.first?["role"] as? String == "central", "\(other)")
    #expect(seen?.first?["mtu"] == nil && seen?.first?["isEncrypted"] == nil, "\(other)")
    try shell.write("status\n")
    shell.closeInput()
    let end = await shell.end()
    #expect(end.status == 0, "\(end)")
    let status = try Self.object(end.output.first { $0.contains("\"event\":\"status\"") })
    let links = try #require(status["links"] as? [[String: Any]])
    #expect(links.map { $0["role"] as? String } == ["central"], "\(end)")
    #expect(links.map { $0["isEncrypted"] as? Bool } == [false])
  }

  @Test("status says why it has no state of a hub that answers nothing, in text and JSON")
  func silentHub() async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim:empty", at: folder.path + "/hub")
    hub.server.send(SIGSTOP)
    let reason = "The hub did not answer in time."
    async let json = try AmbitRun(["status", "--json"], environment: hub.environment).end()
    let text = await (try AmbitRun(["status"], environment: hub.environment)).end()
    #expect(text.output.contains("hub's state \(reason)"), "\(text)")
    let status = try Self.object(await json.output.last { $0.contains("\"status\"") })
    #expect(status["hubProblem"] as? String == reason, "\(status)")
    await hub.kill()
  }

  @Test("a hub that is absent is a radio that is off, with the reason and the status of one")
  func absent() async throws {
    let folder = try TestFolder()
    let environment = ServedHub.environment(folder.path + "/hub")
    let reason = "There is no hub at \(folder.path)/hub"
    for command in [["scan"], ["advertise", "--name", "A"], ["shell", "strap"], ["status"]] {
      let run = try AmbitRun(command + ["--json"], environment: environment)
      let end = await run.end()
      #expect(end.status == AmbitCLI.ExitStatus.radioUnavailable.rawValue, "\(end)")
      #expect(end.complaints.last?.contains(reason) == true, "\(end)")
      let radio = try Self.object(end.output.last)
      #expect(radio["event"] as? String == "radio" && radio["works"] as? Bool == false, "\(end)")
      #expect(radio["problem"] as? String == reason, "\(end)")
      #expect(command[0] == "status" || end.output.count == 1, "\(end)")
    }
    let text = await (try AmbitRun(["status"], environment: environment)).end()
    #expect(text.output.contains("problem     \(reason)"), "\(text)")
    #expect(text.output.contains("hub's state \(reason)."), "\(text)")
    #expect(text.output.contains { $0.hasPrefix("state       off") }, "\(text)")
    #expect(!text.output.contains { $0.hasPrefix("simulated") }, "\(text)")
  }

  @Test(
    "a command whose hub ends while it works ends with 69 and the reason",
    arguments: [
      ["scan"], ["subscribe", "strap", "2A37"], ["advertise", "--name", "Lamp"],
      ["beacon", "advertise", "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0", "1", "1"],
      ["channel", "--listen"], ["beacons"],
    ])
  func lost(command: [String]) async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim", at: folder.path + "/hub")
    let isJSON = command[0] != "channel"
    let run = try AmbitRun(
      command + (isJSON ? ["--json"] : []), environment: hub.environment)
    if isJSON {
      #expect(await run.output.next(containing: "\"event\"") != nil)
    } else {
      #expect(await run.complaints.next(containing: "Listening on") != nil)
    }
    await hub.kill()
    let end = await run.end()
    #expect(end.status == AmbitCLI.ExitStatus.radioUnavailable.rawValue, "\(end)")
    // A busy machine reads the reason after the next attempt to connect.
    let reasons = ["The hub closed the connection", "No hub listens at"]
    #expect(reasons.contains { end.complaints.last?.contains($0) == true }, "\(end)")
  }

  @Test("a device that a lost radio disconnected isn't the reason for which a command ends")
  func lostWithItsLinks() async throws {
    let folder = try TestFolder()
    let host = CommandHost.hub(at: folder.path + "/hub") { _ in }
    let session = Session(host: host, timeout: nil, output: Output(isJSON: true))
    let central = Central(host: host.provider)
    // Which of the two tasks is first is left to chance.
    for _ in 0..<200 {
      let failure = await #expect(throws: CommandFailure.self) {
        try await session.whileRadioWorks(central) { () async throws -> Void in
          throw CommandFailure(.failure, "the strap disconnected")
        }
      }
      #expect(failure?.status == .radioUnavailable)
    }
  }

  @Test(
    "a command that outlives its hub ends with 77 where the next one denies it the radio",
    arguments: [
      ["watch", "--no-network", "--json"],
      ["monitor", "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/1", "--json", "--", "true"],
    ])
  func denied(command: [String]) async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let rules = try folder.file("rules.json", #"{"rules": [{"access": "deny"}]}"#)
    // With any umask of this process.
    #expect(chmod(folder.path, 0o700) == 0 && chmod(rules, 0o600) == 0)
    let hub = try await ServedHub("sim", at: path)
    let run = try AmbitRun(
      command, environment: hub.environment.merging(["XDG_STATE_HOME": folder.path]) { $1 })
    #expect(await run.output.next(containing: "\"event\"") != nil)
    await hub.kill()
    let next = try await ServedHub("sim", at: path, "--rules", rules)
    let end = await run.end()
    #expect(end.status == AmbitCLI.ExitStatus.notPermitted.rawValue, "\(end)")
    #expect(end.complaints.last?.contains("The hub's rules deny it") == true, "\(end)")
    #expect(!end.complaints.contains { $0.contains("deny it") && $0.contains("waiting") }, "\(end)")
    withExtendedLifetime(next) {}
  }

  @Test("a view that outlives its hub reports that the radio went, and goes on with the next hub")
  func restart() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let hub = try await ServedHub("sim", at: path)
    let run = try AmbitRun(["watch", "--json", "--no-network"], environment: hub.environment)
    #expect(await run.output.next(containing: "\"discovered\"") != nil)
    await hub.kill()
    let off = try Self.object(await run.output.next(containing: "\"works\":false"))
    // A busy machine reads the reason after the next attempt to connect.
    let problem = try #require(off["problem"] as? String)
    #expect(["The hub closed the connection", "No hub listens at \(path)"].contains(problem))
    #expect(off["radio"] as? String == "hub:\(path)")
    let next = try await ServedHub("sim", at: path)
    #expect(await run.output.next(containing: "\"works\":true") != nil)
    #expect(await run.output.next(containing: "\"discovered\"") != nil)
    run.interrupt()
    #expect(await run.end().status == AmbitCLI.ExitStatus.interrupted.rawValue)
    withExtendedLifetime(next) {}
  }
}
