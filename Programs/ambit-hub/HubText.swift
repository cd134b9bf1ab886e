import AmbitCLI
import HubHost
import HubMachines
import HubWire
import JSONWire

/// What a hub prints.
enum HubText {
  /// That it serves, where, and with which radio.
  ///
  /// - Parameters:
  ///   - path: The path of its socket; nil for one of the service manager.
  ///   - runsBonjour: Whether it runs Multicast DNS for programs.
  ///   - bonjour: The path of the socket for that; nil for one of the service manager.
  ///   - session: The session of the command.
  static func serving(
    _ path: String?, runsBonjour: Bool, bonjour: String?, _ session: Session
  ) {
    if session.output.isJSON {
      return session.output.object(
        .object([
          "event": .string("serving"), "socket": path.map { .string($0) },
          "bonjour": bonjour.map { .string($0) }, "runsMulticastDNS": .bool(runsBonjour),
          "radio": .string(session.host.radioText),
          "simulated": .bool(session.host.isSimulated),
        ]))
    }
    let place = path.map { Fit.safe($0) } ?? "the socket of the service manager"
    session.output.line("Hub at \(place), with a radio: \(session.radioTitle)")
    if runsBonjour {
      let place = bonjour.map { Fit.safe($0) } ?? "the socket of the service manager"
      session.output.line("Multicast DNS for programs at \(place)")
    }
    if session.host.isSimulated {
      session.output.line("All devices that programs find through it are simulated.")
    }
  }

  /// That the radio doesn't work, or works again.
  static func problem(_ problem: String?, _ output: Output) {
    if output.isJSON {
      return output.object(
        .object([
          "event": .string("radio"), "works": .bool(problem == nil),
          "reason": problem.map { .string($0) },
        ]))
    }
    if let problem { output.warn(problem) }
  }

  /// That a program came, went or was refused.
  static func report(_ report: HubReport, _ output: Output) {
    if output.isJSON { return output.object(.object(members(of: report))) }
    switch report {
    case .opened(_, let app, let peer):
      output.line("\(Fit.safe(app)) connected, process \(peer.processID), user \(peer.userID)")
    case .closed(_, let app, nil): output.line("\(Fit.safe(app)) disconnected")
    case .closed(_, let app, let refusal?):
      output.line("\(Fit.safe(app)) lost its connection: \(refusal.text)")
    case .refused(let peer, let refusal, let count):
      let others = count > 0 ? " (and \(count) others since the last report)" : ""
      output.line("Process \(peer.processID) was refused\(others): \(refusal.text)")
    case .scanRefused(_, let app):
      output.line("\(Fit.safe(app)) scans beyond its quota, and finds nothing with this scan")
    case .unreachable(let reason): output.warn(reason)
    case .descriptorsExhausted(let reason): output.warn(reason.trimmingSuffix("."))
    case .listensAgain(let path):
      output.line("Hub at \(Fit.safe(path)) again, where its socket was removed or replaced")
    case .unreported(let count):
      output.line("\(count) other programs connected and have disconnected")
    case .forgotten(let count, let peer):
      output.line(
        "\(count) kept \(count == 1 ? "session was" : "sessions were") forgotten for process "
          + "\(peer.processID), user \(peer.userID)")
    }
  }

  private static func members(of report: HubReport) -> KeyValuePairs<String, JSON?> {
    switch report {
    case .opened(let id, let app, let peer):
      [
        "event": .string("programConnected"), "connection": .integer(Int64(clamping: id.rawValue)),
        "app": .string(app),
        "process": .integer(Int64(peer.processID)), "user": .integer(Int64(peer.userID)),
      ]
    case .closed(let id, let app, let refusal):
      [
        "event": .string("programDisconnected"),
        "connection": .integer(Int64(clamping: id.rawValue)), "app": .string(app),
        "reason": refusal.map { .string($0.text) },
      ]
    case .refused(let peer, let refusal, let count):
      [
        "event": .string("programRefused"), "process": .integer(Int64(peer.processID)),
        "user": .integer(Int64(peer.userID)), "reason": .string(refusal.text),
        "unreported": .integer(Int64(count)),
      ]
    case .scanRefused(let id, let app):
      [
        "event": .string("scanRefused"), "connection": .integer(Int64(clamping: id.rawValue)),
        "app": .string(app),
      ]
    case .unreachable(let reason):
      ["event": .string("unreachable"), "reason": .string(reason)]
    case .descriptorsExhausted(let reason):
      ["event": .string("descriptorsExhausted"), "reason": .string(reason)]
    case .listensAgain(let path):
      ["event": .string("listensAgain"), "socket": .string(path)]
    case .unreported(let count):
      ["event": .string("programsUnreported"), "programs": .integer(Int64(count))]
    case .forgotten(let count, let peer):
      [
        "event": .string("sessionsForgotten"), "sessions": .integer(Int64(count)),
        "process": .integer(Int64(peer.processID)), "user": .integer(Int64(peer.userID)),
      ]
    }
  }
}
