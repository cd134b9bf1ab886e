import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Foundation
import Testing

@testable import AmbitCLI

@Suite("Reports of pairings that fail", .timeLimit(.minutes(5)))
struct PairingReportTests {
  private static let safe = #"""
    {"name": "Safe", "services": [{"uuid": "FFF0", "characteristics": [
      {"uuid": "FFF1", "value": {"hex": "2a"}, "readNeedsEncryption": true},
      {"uuid": "FFF2", "value": {"hex": "2b"}, "readNeedsAuthentication": true},
      {"uuid": "FFF3", "value": {"hex": "2c"}}]}]}
    """#

  private static let noTerminal =
    "this host refused: a passkey or a number to compare is needed, and there is no terminal for it."

  private static func objects(_ lines: [String], _ event: String) -> [[String: Any]] {
    lines.compactMap { line in
      let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return object?["event"] as? String == event ? object : nil
    }
  }

  @Test(
    "a command whose own rules forbid the pairing reports them as the reason, in text and JSON",
    arguments: [
      ("never", "FFF1", "this host refused: it pairs with no device (--pair never)."),
      ("authenticated", "FFF1", noTerminal), ("auto", "FFF2", noTerminal),
      (
        "ask", "FFF1",
        "this host refused: pairing needs consent, and there is no terminal for the question."
      ),
    ])
  func ownRules(policy: String, value: String, reason: String) async throws {
    let folder = try TestFolder()
    let radio = "sim:" + (try folder.file("safe.json", Self.safe))
    let json = try await AmbitRun.end(
      "read", "Safe", value, "--radio", radio, "--pair", policy, "--json")
    #expect(json.status == AmbitCLI.ExitStatus.failure.rawValue, "\(json)")
    let failures = Self.objects(json.complaints, "pairingFailed")
    #expect(failures.map { $0["reason"] as? String } == [reason], "\(json)")
    #expect(failures.map { $0["refusedBy"] as? String } == ["host"], "\(json)")
    let text = try await AmbitRun.end("read", "Safe", value, "--radio", radio, "--pair", policy)
    #expect(text.status == AmbitCLI.ExitStatus.failure.rawValue, "\(text)")
    let notes = text.complaints.filter { $0.hasSuffix(" failed: \(reason)") }
    #expect(notes.count == 1, "\(text)")
  }

  @Test("the commands of a session that are read from a file report it, too")
  func session() async throws {
    let folder = try TestFolder()
    let radio = "sim:" + (try folder.file("safe.json", Self.safe))
    let run = try AmbitRun(["shell", "Safe", "--radio", radio, "--pair", "never"])
    try run.write("read FFF1\n")
    run.closeInput()
    let end = await run.end()
    #expect(end.status == AmbitCLI.ExitStatus.failure.rawValue, "\(end)")
    #expect(end.complaints.contains { $0.hasSuffix("(--pair never).") }, "\(end)")
  }

  @Test("an inspection that could not read protected values shows the others, and fails")
  func inspection() async throws {
    let folder = try TestFolder()
    let radio = "sim:" + (try folder.file("safe.json", Self.safe))
    let never = try await AmbitRun.end(
      "inspect", "Safe", "--radio", radio, "--pair", "never", "--json")
    #expect(never.status == AmbitCLI.ExitStatus.failure.rawValue, "\(never)")
    #expect(Self.objects(never.complaints, "pairingFailed").count == 1, "\(never)")
    let sentence = "2 protected values of Safe could not be read without pairing."
    #expect(never.complaints.last?.hasSuffix(sentence) == true, "\(never)")
    let values = Self.objects(never.output, "characteristic").filter {
      ($0["uuid"] as? String)?.hasPrefix("FFF") == true
    }
    #expect(values.map { $0["hex"] as? String } == [nil, nil, "2c"], "\(never)")
    // Nothing is missed where no value is read.
    let tree = try await AmbitRun.end(
      "inspect", "Safe", "--radio", radio, "--pair", "never", "--no-values")
    #expect(tree.status == 0, "\(tree)")
  }

  @Test("a user's refusal is reported as one of this host's user")
  func usersRefusal() async throws {
    let folder = try TestFolder()
    let file = try folder.file("safe.json", Self.safe)
    let run = try AmbitRun(
      ["read", "Safe", "FFF1", "--radio", "sim:\(file)", "--pair", "ask", "--json"],
      onTerminal: true, drawsScreen: false)
    #expect(await run.output.next(containing: "(yes or no)") != nil)
    try run.write("no\n")
    let line = await run.output.next(containing: "pairingFailed")
    #expect(line?.contains("the user of this host refused.") == true, "\(line ?? "")")
    #expect(await run.exitStatus() == AmbitCLI.ExitStatus.failure.rawValue)
  }

  @Test("the reason names the side that refused, and the user only for what the user decided")
  func sides() {
    let peer = DeviceAddress(bits: 1, kind: .public)
    let decisions = PairingDecisions(.ask)
    func report(_ failure: SecurityFailure) -> String {
      let refuser = decisions.refuser(failure, of: peer)?.rawValue ?? "-"
      return "\(refuser): \(decisions.sentence(failure, of: peer))"
    }
    #expect(
      report(.pairingFailed(.unspecifiedReason)) == "host: this host refused: unspecified reason.")
    decisions.asked(peer, PairingPromptID(rawValue: 1))
    decisions.answered(PairingPromptID(rawValue: 1), .accept)
    #expect(report(.pairingFailed(.numericComparisonFailed)).hasPrefix("host: "))
    decisions.answered(PairingPromptID(rawValue: 1), .reject)
    #expect(
      report(.pairingFailed(.numericComparisonFailed))
        == "user: the user of this host refused: the numbers differ.")
    #expect(
      report(.pairingFailed(.dhKeyCheckFailed)) == "host: this host refused: the keys differ.")
    #expect(
      report(.peerFailed(.pairingNotSupported))
        == "peer: the peer refused: it does not support pairing.")
    #expect(report(.timeout) == "-: no answer within 30 s.")
    // Another question is another decision.
    decisions.asked(peer, PairingPromptID(rawValue: 2))
    #expect(report(.pairingFailed(.unspecifiedReason)).hasPrefix("host: "))
    decisions.unanswered(PairingPromptID(rawValue: 2))
    #expect(
      report(.pairingFailed(.unspecifiedReason))
        == "host: this host refused: the input ended before an answer to its question.")
  }
}
