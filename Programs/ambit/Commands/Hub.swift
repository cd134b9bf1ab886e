import ArgumentParser
import BluetoothHost
import BonjourHost
import EventLoop
import Foundation
import HubHost
import HubMachines
import HubPlaces
import HubWire
import JSONWire

/// The hub of this machine.
struct Hub: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hub",
    abstract: "Share one radio and one port 5353 among the programs of this machine.",
    discussion: """
      The hub opens the radio, and programs use it over a UNIX socket. Over a second one, it runs Multicast DNS \
      for them. Without a subcommand it runs: \
      "ambit hub --radio hci0" is "ambit hub run --radio hci0", and "ambit help hub run" has its options.

      EXAMPLES:
        ambit hub --radio hci0                         until Ctrl-C
        ambit hub --radio sim:floor.json --socket /tmp/hub
        sudo ambit hub install --radio hci0            as a service of systemd
        ambit hub install --radio hci0 --print         its files, without a change
        sudo ambit hub uninstall
        ambit hub status                               its programs and links
        ambit hub agent                                answer pairings for its programs
        ambit hub forget lock                          end what it keeps of a program that ended
      """,
    subcommands: [
      HubRun.self, HubStatusCommand.self, HubAgent.self, HubForget.self, HubInstall.self,
      HubUninstall.self,
    ],
    defaultSubcommand: HubRun.self)
}

/// Serves the radio to the other programs of the machine.
struct HubRun: RadioCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Open the radio, and serve it and Multicast DNS to other programs.",
    discussion: """
      The hub opens the radio, and programs of the same user, or of root, use it over a UNIX socket: \
      "ambit/hub" in $XDG_RUNTIME_DIR, and in /run for root. Apps and commands find it there; AMBIT_HUB \
      names another path. This command has a radio of its own in any case. Runs until SIGTERM, Ctrl-C or --timeout, in \
      the foreground or as a service: it takes the socket that systemd opened, and notifies it when \
      it is ready, and as long as its event loop works.

      Programs publish and browse services of the local network through the hub, too, at the path of its socket \
      with ".bonjour" behind. --no-network leaves the port of Multicast DNS to Avahi, and to each program. Where systemd \
      opened sockets, those whose paths end so are for Multicast DNS.

      Metrics for Prometheus are at the same path with ".metrics" behind, for the hub's user and root: \
      "curl --unix-socket /run/ambit/hub.metrics http://hub/metrics". They name no device and no program.

      EXAMPLES:
        ambit hub run --radio hci0
        ambit hub run --radio hci0 --no-network
        ambit hub run --radio sim:floor.json --socket /tmp/hub
        ambit hub run --radio hci0 --json
      """)

  @OptionGroup var options: GlobalOptions

  @Option(
    help: "The path of the socket, instead of the usual one or systemd's.", completion: .file())
  var socket: String?

  @Option(
    help: ArgumentHelp(
      "The file of the rules about the programs that may use it.",
      discussion: """
        The default is /etc/ambit/hub.json, and ~/.config/ambit/hub.json in a user's session, if it exists; without \
        one, programs of the same user and of root may. It is read once, at the start.
        """), completion: .file(extensions: ["json"]))
  var rules: String?

  @Flag(inversion: .prefixedNo, help: "Multicast DNS for the programs beside the radio.")
  var network = true

  @Option(
    help: ArgumentHelp(
      "The path of the socket with metrics, or \"off\". Default: that of the hub's socket, with "
        + "\".metrics\" behind.",
      valueName: "path"), completion: .file())
  var metrics: String?

  /// Prompts are for the program that pairs.
  var pairingInput: PairingInput { .command }

  /// A reader of its output that takes nothing holds up no program.
  var waitsForReaders: Bool { false }

  /// A hub has a radio of its own, also where another hub runs.
  var usesHub: Bool { false }

  func run(_ session: Session) async throws {
    guard let host = session.host.own else { throw CommandFailure.needsOwnRadio("a hub") }
    // The radio of all programs doesn't depend on a reader of this output.
    Output.outliveReaders()
    // Printing may take long, which must hold up no program.
    let (reports, report) = AsyncStream.makeStream(
      of: HubReport.self, bufferingPolicy: .bufferingOldest(1_024))
    let output = session.output
    let allowed: HubRules
    let server: HubServer
    let sockets: ServiceManager.Sockets
    do throws(HubServerError) {
      allowed = try HubRulesFile.load(rules)
      sockets = try ServiceManager.sockets()
      try checkNetwork(sockets)
      server = try await HubServer.start(
        at: place(sockets), host, rules: allowed, version: Ambit.configuration.version
      ) { report.yield($0) }
    } catch { throw Self.failure(error) }
    let bonjour: BonjourHub?
    switch startBonjour(at: sockets.network, beside: server.path, host.radio, allowed, output) {
    case .success(let running):
      bonjour = running
      if let running {
        await server.setNetwork { [weak running] in
          (await running?.status()).map(HubNetworkStatus.init)
        }
      }
    case .failure(let problem):
      bonjour = nil
      await server.setNetworkProblem(problem.sentence)
      output.warn(problem.sentence.trimmingSuffix("."))
    }
    let metrics = await startMetrics(of: server, output)
    HubText.serving(server.path, runsBonjour: bonjour != nil, bonjour: bonjour?.path, session)
    if let warning = server.warning { output.warn(warning) }
    Task { for await report in reports { HubText.report(report, output) } }
    ServiceManager.notify("READY=1")
    let watchdog = ServiceManager.watch()
    defer { withExtendedLifetime(watchdog) {} }
    let result: Result<Void, any Error>
    do {
      try await session.untilTime {
        for await problem in host.problems() { HubText.problem(problem, output) }
      }
      result = .success(())
    } catch { result = .failure(error) }
    ServiceManager.notify("STOPPING=1")
    await bonjour?.close()
    await metrics?.close()
    await server.close()
    report.finish()
    try result.get()
  }

  private func place(_ sockets: ServiceManager.Sockets) throws(HubServerError) -> HubSocket {
    if let socket { return .path(socket) }
    return sockets.radio.isEmpty ? try .standard() : .open(sockets.radio)
  }

  /// Fails if systemd opened a socket that the options leave out: programs would wait there without an answer.
  private func checkNetwork(_ sockets: ServiceManager.Sockets) throws(HubServerError) {
    if !network, !sockets.network.isEmpty {
      throw HubServerError(
        .failed,
        "The service manager opened a socket for Multicast DNS, which --no-network leaves out: "
          + "\"ambit hub install --no-network\" writes units without it.")
    }
  }

  /// The reason why Multicast DNS is not run for programs, which do without the hub's then.
  private struct MissingNetwork: Error {
    let sentence: String
  }

  /// Runs Multicast DNS for programs; nil if an option leaves it out.
  ///
  /// - Parameters:
  ///   - sockets: Those that the service manager opened for it.
  ///   - path: The path of the hub's socket; nil if the service manager opened it.
  ///   - radio: The hub's radio.
  ///   - rules: Which programs may use the hub.
  ///   - output: Where problems are printed.
  private func startBonjour(
    at sockets: [HubSocket.OpenSocket], beside path: String?, _ radio: RadioChoice,
    _ rules: HubRules, _ output: Output
  ) -> Result<BonjourHub?, MissingNetwork> {
    guard network else { return .success(nil) }
    guard path != nil || !sockets.isEmpty else {
      // A user's service manager sets it.
      let isUsers = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] != nil
      let more = [("--address", options.address), ("--pair", options.pair)].flatMap { name, value in
        value.map { [name, $0] } ?? []
      }
      return .failure(
        MissingNetwork(
          sentence: NetworkProblem.units(isUsers ? .user : .system, radio: radio, more: more)))
    }
    // Printing may take long, which must hold up neither the radio nor the network.
    let (problems, problem) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingOldest(64))
    Task { for await problem in problems { output.warn(problem.trimmingSuffix(".")) } }
    let admits = { @Sendable (descriptor: Int32, socket: String?) -> BonjourAdmission? in
      PeerReader.system.quotas(descriptor, at: socket, rules).map {
        BonjourAdmission(requestCountMax: $0.networkRequestCount)
      }
    }
    guard sockets.isEmpty, let path else {
      let sockets = sockets.map { BonjourSocket(descriptor: $0.descriptor, name: $0.name) }
      return .success(BonjourHub.start(at: sockets, admits: admits, log: { problem.yield($0) }))
    }
    let own = HubPath.bonjour(beside: path)
    do throws(SystemError) {
      return .success(
        try BonjourHub.start(
          at: own, servesOthers: rules.mayAllowOthers, admits: { admits($0, nil) },
          log: { problem.yield($0) }))
    } catch {
      problem.finish()
      return .failure(MissingNetwork(sentence: NetworkProblem.socket(own, error.text)))
    }
  }

  /// Answers requests for metrics; nil if none are wanted. Where that is impossible, the reason is printed.
  private func startMetrics(of server: HubServer, _ output: Output) async -> HubMetricsServer? {
    let usual = server.path.map { HubPath.metrics(beside: $0) }
    guard metrics != "off", let path = metrics ?? usual else { return nil }
    // Printing may take long, which must not hold up the radio.
    let (problems, problem) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingOldest(64))
    Task { for await problem in problems { output.warn(problem.trimmingSuffix(".")) } }
    do throws(SystemError) {
      return try await HubMetricsServer.start(at: path, of: server) { problem.yield($0) }
    } catch {
      problem.finish()
      output.warn("The hub has no metrics at \(Fit.safe(path)): \(error.text)")
      return nil
    }
  }

  private static func failure(_ error: HubServerError) -> CommandFailure {
    let status: ExitStatus =
      switch error.kind {
      case .isTaken: .radioUnavailable
      case .notPermitted: .notPermitted
      case .rulesUnreadable: .noInput
      case .rulesInvalid: .badData
      case .failed: .failure
      }
    // The file's own words may be part of it.
    return CommandFailure(status, Fit.safe(error.description.trimmingSuffix(".")))
  }
}

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
