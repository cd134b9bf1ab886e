import ArgumentParser
import BluetoothInterface
import Essentials
import Foundation
import Glibc
import HubWire
import JSONWire

/// Answers the pairings of a hub that no program answers itself.
struct HubAgent: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent",
    abstract: "Answer the pairings that no program of the hub answers itself.",
    discussion: """
      A question of a pairing goes to the program that causes it, if a user of that program can be asked; else to \
      this command, the latest one if there are several; else the hub's --pair decides. This command also reports \
      how all pairings of the hub end. It needs a terminal, and runs until Ctrl-C. The hub allows it to its own \
      user and to root, and to others if its rules do.

      EXAMPLES:
        ambit hub agent
        sudo ambit hub agent                           of the system's hub
        ambit hub agent --socket /tmp/hub
      """)

  @OptionGroup var hub: RunningHubOptions

  @Flag(help: "Report the pairings as JSON objects; docs/json.md lists the keys.")
  var json = false

  func run() async throws {
    guard Terminal.isTerminal(STDIN_FILENO), Terminal.isTerminal(STDERR_FILENO) else {
      throw CommandFailure(.usage, "the questions of pairings need a terminal")
    }
    let output = Output(isJSON: json)
    let paths = try hub.paths(ProcessInfo.processInfo.environment)
    let (path, _) = try await RunningHubOptions.read(paths)
    let host = CommandHost.hub(at: path) { output.warn($0) }
    let result: Result<Void, any Error>
    do {
      try await Self.attend(host, at: path, output)
      result = .success(())
    } catch { result = .failure(error) }
    await host.close()
    try result.get()
  }

  private static func attend(
    _ host: CommandHost, at path: String, _ output: Output
  ) async throws {
    let (results, result) = AsyncStream.makeStream(of: Result<HostReply, HostError>.self)
    let decisions = PairingDecisions()
    let reporter = PairingReporter(
      host.provider, output, decisions, isJSONOnly: false, attendsAll: true)
    let prompter = PairingPrompter(
      host.provider, output, .standardInput, decisions, onAttendance: { result.yield($0) })
    let problem = Guarded<String?>(nil)
    let watcher = host.openSession { event in
      guard case .stateChanged(let state) = event else { return }
      // A hub may be restarted with rules that deny this program.
      guard state != .unauthorized else {
        let text = host.problem ?? "the hub at \(path) denies this program"
        result.yield(.failure(.unauthorized(text)))
        return
      }
      report(host, since: problem, output)
    }
    defer { watcher.close() }
    defer { withExtendedLifetime((reporter, prompter)) {} }
    // After a restart of the hub the sessions ask it again, with a result if it refuses.
    for await result in results {
      switch result {
      case .success: announce(path, output)
      case .failure(let error): throw failure(error, at: path)
      }
    }
  }

  /// Reports a hub that ends or doesn't answer, and its return.
  ///
  /// - Parameter reported: The problem that was reported last; nil after the return.
  private static func report(
    _ host: CommandHost, since reported: Guarded<String?>, _ output: Output
  ) {
    let problem = host.problem?.trimmingSuffix(".")
    let isNew = reported.update { reported in
      defer { reported = problem }
      return reported != problem
    }
    guard isNew else { return }
    output.warn(
      problem.map { "\(Fit.safe($0)); pairings are not answered here until it is back" }
        ?? "the hub is back, and its pairings are answered here again")
    if output.isJSON { output.event(RadioFailure.json(host, problem: problem)) }
  }

  private static func announce(_ path: String, _ output: Output) {
    guard output.isJSON else {
      return output.note("Answering the pairings of the hub at \(Fit.safe(path)).")
    }
    output.event(.object(["event": .string("attending"), "socket": .string(path)]))
  }

  static func failure(_ error: HostError, at path: String) -> CommandFailure {
    switch error {
    case .unauthorized(let text): CommandFailure(.notPermitted, Fit.safe(text.trimmingSuffix(".")))
    case .unsupported:
      CommandFailure(
        .radioUnavailable,
        "the hub at \(path) is of an earlier version, in which every program answers all pairings")
    default: CommandFailure(.radioUnavailable, "the hub at \(path) was lost: \(error)")
    }
  }
}
