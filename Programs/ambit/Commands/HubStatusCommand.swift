import ArgumentParser
import Foundation
import HubWire

/// Shows the state of the running hub.
struct HubStatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the running hub: its radio, the programs that use it, and their links.",
    discussion: """
      Shows for each program what it holds and what it waits for, and what was refused and dropped. \
      The hub must be root's or this user's. Without a hub the exit status is 69, and 75 if it does not \
      answer within 5 s.

      EXAMPLES:
        ambit hub status
        ambit hub status --socket /tmp/hub
        ambit hub status --json | jq '.programs[].app'
      """)

  @OptionGroup var hub: RunningHubOptions

  @Flag(help: "Write one JSON object; docs/json.md lists the keys.")
  var json = false

  func run() async throws {
    let output = Output(isJSON: json)
    let paths = try hub.paths(ProcessInfo.processInfo.environment)
    let (path, status) = try await RunningHubOptions.read(paths)
    let text = HubStatusText(status, path: path)
    if json { return output.object(text.json(at: Date()), isOfRadio: false) }
    let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
    let columns = isTerminal ? Terminal.size.columns : .max
    for line in text.lines(columns: columns, output.style) { output.line(line) }
  }
}
