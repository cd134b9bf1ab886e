import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("The agent for the pairings of a hub", .serialized, .timeLimit(.minutes(5)))
struct HubAgentTests {
  private static let safe = #"""
    {"name": "Safe", "services": [{"uuid": "FFF0", "characteristics": [
      {"uuid": "FFF1", "value": {"hex": "2a"}, "readNeedsEncryption": true}]}]}
    """#

  /// An agent at a terminal, which answers the pairings of a hub when this returns.
  private static func agent(_ hub: ServedHub, _ options: String...) async throws -> AmbitRun {
    let run = try AmbitRun(
      ["hub", "agent", "--socket", hub.path] + options, onTerminal: true, drawsScreen: false)
    #expect(await run.output.next(containing: "Answering the pairings of the hub at") != nil)
    return run
  }

  @Test(
    "the pairing of a command without a terminal is answered by the agent, not by another command")
  func pairing() async throws {
    let folder = try TestFolder()
    let file = try folder.file("safe.json", Self.safe)
    let hub = try await ServedHub("sim:\(file)", at: folder.path + "/hub", "--pair", "ask")
    let agent = try await Self.agent(hub)
    // Later than the agent, and with a user at a terminal.
    let other = try AmbitRun(
      ["scan", "--json", "--timeout", "100"], environment: hub.environment, onTerminal: true,
      drawsScreen: false)
    #expect(await other.output.next(containing: "Safe") != nil)
    let read = try AmbitRun(["read", "Safe", "FFF1", "--json"], environment: hub.environment)
    let question = await agent.output.next(containing: "(yes or no)")
    #expect(question?.contains("pair with Safe (") == true, "\(question ?? "")")
    #expect(question?.contains("A program needs a protected value of it.") == true)
    try agent.write("yes\n")
    let end = await read.end()
    #expect(end.status == 0 && end.output.contains { $0.contains("\"hex\":\"2a\"") }, "\(end)")
    #expect(await agent.output.next(containing: "Paired with") != nil)
  }

  @Test("the agent reports a pairing that it was not asked about, and another command does not")
  func reports() async throws {
    let folder = try TestFolder()
    let file = try folder.file("safe.json", Self.safe)
    let hub = try await ServedHub("sim:\(file)", at: folder.path + "/hub", "--pair", "never")
    let agent = try await Self.agent(hub)
    let other = try AmbitRun(
      ["scan", "--json", "--timeout", "100"], environment: hub.environment)
    #expect(await other.output.next(containing: "Safe") != nil)
    let read = try await AmbitRun.end("read", "Safe", "FFF1", environment: hub.environment)
    #expect(read.status == AmbitCLI.ExitStatus.failure.rawValue, "\(read)")
    #expect(await agent.output.next(containing: "Pairing with") != nil)
    other.terminate()
    let end = await other.end()
    #expect(!(end.output + end.complaints).contains { $0.contains("pairingFailed") }, "\(end)")
  }

  /// The file of a hub's only rule about this user.
  private static func rules(_ rule: String, in folder: borrowing TestFolder) throws -> String {
    let file = try folder.file("rules.json", "{\"rules\": [{\"user\": \(geteuid()), \(rule)}]}")
    // With any umask of this process.
    #expect(chmod(folder.path, 0o700) == 0 && chmod(file, 0o600) == 0)
    return file
  }

  @Test(
    "an agent ends with a sentence and a status when a restarted hub denies it what it does",
    arguments: [
      (
        "\"access\": \"allow\", \"pairings\": false",
        "The hub's rules don't let this program answer the pairings of others."
      ),
      ("\"access\": \"deny\"", "The hub refused this app: "),
    ])
  func restart(_ rule: String, _ sentence: String) async throws {
    let folder = try TestFolder()
    let rules = try Self.rules(rule, in: folder)
    let path = folder.path + "/hub"
    let hub = try await ServedHub("sim:empty", at: path)
    let agent = try await Self.agent(hub)
    await hub.kill()
    let other = try await ServedHub("sim:empty", at: path, "--rules", rules)
    #expect(await agent.output.next(containing: sentence) != nil)
    #expect(await agent.exitStatus() == AmbitCLI.ExitStatus.notPermitted.rawValue)
    withExtendedLifetime(other) {}
  }

  @Test("an agent reports a hub that is stopped, one that is killed, and the return of each")
  func faults() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let hub = try await ServedHub("sim:empty", at: path)
    let agent = try await Self.agent(hub)
    hub.server.send(SIGSTOP)
    #expect(await agent.output.next(containing: "did not answer in time; pairings are not") != nil)
    hub.server.send(SIGCONT)
    #expect(await agent.output.next(containing: "the hub is back") != nil)
    await hub.kill()
    #expect(await agent.output.next(containing: "closed the connection; pairings are not") != nil)
    let other = try await ServedHub("sim:empty", at: path)
    #expect(await agent.output.next(containing: "the hub is back") != nil)
    agent.interrupt()
    _ = await agent.end()
    withExtendedLifetime(other) {}
  }

  @Test("an agent that the hub's rules forbid ends with a sentence and a status")
  func rules() async throws {
    let folder = try TestFolder()
    let rules = try Self.rules("\"access\": \"allow\", \"pairings\": false", in: folder)
    let hub = try await ServedHub("sim:empty", at: folder.path + "/hub", "--rules", rules)
    let run = try AmbitRun(
      ["hub", "agent", "--socket", hub.path], onTerminal: true, drawsScreen: false)
    let sentence = "The hub's rules don't let this program answer the pairings of others."
    #expect(await run.output.next(containing: sentence) != nil)
    #expect(await run.exitStatus() == AmbitCLI.ExitStatus.notPermitted.rawValue)
  }

  @Test("an agent without a terminal is refused")
  func terminal() async throws {
    let end = try await AmbitRun.end("hub", "agent", "--socket", "/nonexistent/hub")
    #expect(end.status == AmbitCLI.ExitStatus.usage.rawValue)
    #expect(end.complaints == ["ambit: the questions of pairings need a terminal."], "\(end)")
  }
}
