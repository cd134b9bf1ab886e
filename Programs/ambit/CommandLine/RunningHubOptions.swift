import ArgumentParser
import BluetoothInterface
import Essentials
import EventLoop
import HubClient
import HubClientMachines
import HubPlaces
import HubWire

/// Where the running hub is that a command is about.
struct RunningHubOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The path of the hub's socket. Default: AMBIT_HUB, else the first of ambit/hub in XDG_RUNTIME_DIR and "
        + "/run/ambit/hub where a hub listens; root's is at the latter.",
      valueName: "path"),
    completion: .file())
  var socket: String?

  /// Where the hub may listen, in the order in which it is looked for.
  func paths(_ environment: [String: String]) throws -> [String] {
    if let socket {
      guard SocketAddress(path: socket) != nil else {
        throw CommandFailure(.usage, "the path of the socket \"\(socket)\" is too long, or empty")
      }
      return [socket]
    }
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    switch value("AMBIT_HUB").map(HubSetting.init) {
    case .path(let path): return [path]
    case .invalid(let reason): throw CommandFailure(.usage, reason.trimmingSuffix("."))
    case .off, nil: break
    }
    return HubPath.all(runtimeFolder: value("XDG_RUNTIME_DIR"))
  }

  /// The state of the first hub that listens.
  static func read(
    _ paths: [String]
  ) async throws -> (path: String, status: HubWire.HubStatus) {
    try await first(of: paths) { path throws(HubFailure) in
      try await HubStatusReader.read(at: path)
    }
  }

  /// The answer of the first hub that listens.
  static func first<Answer>(
    of paths: [String], _ ask: (String) async throws(HubFailure) -> Answer
  ) async throws -> (path: String, Answer) {
    var refusal: CommandFailure?
    for path in paths {
      do throws(HubFailure) { return (path, try await ask(path)) } catch {
        // No hub that programs use listens here; one may elsewhere.
        switch error {
        case .notReached(.transport) where paths.count > 1: continue
        case .notReached(.unauthorized), .notBelieved: refusal = refusal ?? failure(error, at: path)
        default: throw failure(error, at: path)
        }
      }
    }
    throw refusal
      ?? CommandFailure(
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
