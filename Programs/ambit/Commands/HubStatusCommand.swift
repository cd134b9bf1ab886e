import ArgumentParser
import BluetoothInterface
import Essentials
import EventLoop
import Foundation
import HubClient
import HubClientMachines
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

  @Option(
    help: ArgumentHelp(
      "The path of the hub's socket. Default: AMBIT_HUB, else ambit/hub in XDG_RUNTIME_DIR, else "
        + "/run/ambit/hub.",
      valueName: "path"),
    completion: .file())
  var socket: String?

  @Flag(help: "Write one JSON object; docs/json.md lists the keys.")
  var json = false

  func run() async throws {
    let output = Output(isJSON: json)
    let paths = try Self.paths(socket, ProcessInfo.processInfo.environment)
    let (path, status) = try await Self.read(paths)
    let text = HubStatusText(status, path: path)
    if json { return output.object(text.json(at: Date()), isOfRadio: false) }
    let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
    let columns = isTerminal ? Terminal.size.columns : .max
    for line in text.lines(columns: columns, output.style) { output.line(line) }
  }

  /// Where the hub may listen, in the order in which it is looked for.
  static func paths(_ socket: String?, _ environment: [String: String]) throws -> [String] {
    if let socket {
      guard SocketAddress(path: socket) != nil else {
        throw CommandFailure(.usage, "the path of the socket \"\(socket)\" is too long, or empty")
      }
      return [socket]
    }
    switch environment["AMBIT_HUB"].map(HubSetting.init) {
    case .path(let path): return [path]
    case .invalid(let reason): throw CommandFailure(.usage, reason.trimmingSuffix("."))
    case .off, nil: break
    }
    let folder = environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    return [folder.map { $0 + "/ambit/hub" }, "/run/ambit/hub"].compactMap(\.self)
  }

  /// Asks the first hub that listens.
  private static func read(
    _ paths: [String]
  ) async throws -> (path: String, status: HubWire.HubStatus) {
    for path in paths {
      do throws(HubFailure) { return (path, try await HubStatusReader.read(at: path)) } catch {
        // No hub listens here; another one may elsewhere.
        if case .notReached(.transport) = error, paths.count > 1 { continue }
        throw failure(error, at: path)
      }
    }
    throw CommandFailure(
      .radioUnavailable, "no hub runs: none listens at \(paths.joined(separator: " or "))")
  }

  static func failure(_ failure: HubFailure, at path: String) -> CommandFailure {
    if failure == .silent {
      let limit = HubClientLimits.greetingMax.seconds
      return CommandFailure(
        .timedOut, "the hub at \(path) did not answer within \(Int(limit)) s")
    }
    let isForbidden = if case .unauthorized = failure.hostError { true } else { false }
    return CommandFailure(
      isForbidden ? .notPermitted : .radioUnavailable, failure.sentence.trimmingSuffix("."))
  }
}
