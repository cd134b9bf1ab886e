package import AmbitCLI
package import ArgumentParser
import BluetoothHost
import BonjourHost
import Essentials
import EventLoop
import Foundation
import HubHost
import HubMachines
import HubPlaces

/// The program `ambit-hub`, which serves the radio and Multicast DNS for `ambit hub run`.
package struct AmbitHub: RadioCommand {
  package static let configuration = {
    var configuration = HubRunOptions.configuration
    configuration.commandName = "ambit hub run"
    return configuration
  }()

  @OptionGroup package var hub: HubRunOptions

  package var options: GlobalOptions { hub.global }

  /// Prompts are for the program that pairs.
  package var pairingInput: PairingInput { .command }

  /// A reader of its output that takes nothing holds up no program.
  package var waitsForReaders: Bool { false }

  /// A hub has a radio of its own, also where another hub runs.
  package var usesHub: Bool { false }

  package init() {}

  package func run(_ session: Session) async throws {
    guard let radio = session.host.provider as? any HubRadio else {
      throw CommandFailure.needsOwnRadio("a hub")
    }
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
      allowed = try HubRulesFile.load(hub.rules)
      sockets = try ServiceManager.sockets()
      try checkNetwork(sockets)
      server = try await HubServer.start(
        at: place(sockets), radio, rules: allowed, version: Main.version
      ) { report.yield($0) }
    } catch { throw Self.failure(error) }
    let bonjour: BonjourHub?
    switch startBonjour(
      at: sockets.network, beside: server.path, radio.radioName, allowed, output)
    {
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
        for await problem in radio.problems() { HubText.problem(problem, output) }
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
    if let socket = hub.socket { return .path(socket) }
    return sockets.radio.isEmpty ? try .standard() : .open(sockets.radio)
  }

  /// Fails if systemd opened a socket that the options leave out: programs would wait there without an answer.
  private func checkNetwork(_ sockets: ServiceManager.Sockets) throws(HubServerError) {
    if !hub.network, !sockets.network.isEmpty {
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
  ///   - radio: The hub's radio, as `--radio` takes it.
  ///   - rules: Which programs may use the hub.
  ///   - output: Where problems are printed.
  private func startBonjour(
    at sockets: [HubSocket.OpenSocket], beside path: String?, _ radio: String,
    _ rules: HubRules, _ output: Output
  ) -> Result<BonjourHub?, MissingNetwork> {
    guard hub.network else { return .success(nil) }
    guard path != nil || !sockets.isEmpty else {
      // A user's service manager sets it.
      let isUsers = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] != nil
      let more = [("--address", options.address), ("--pair", options.pair)].flatMap { name, value in
        value.map { [name, $0] } ?? []
      }
      return .failure(
        MissingNetwork(
          sentence: NetworkProblem.units(ofUser: isUsers, radio: radio, more: more)))
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
    guard hub.metrics != "off", let path = hub.metrics ?? usual else { return nil }
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
