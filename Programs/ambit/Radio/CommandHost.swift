package import BluetoothHost
package import BluetoothInterface
package import HubClient
import Logging

/// The Bluetooth host that a command uses: one of its own, or that of the machine's hub, or bluetoothd.
package enum CommandHost: Sendable {
  /// A host in this process, which has opened the radio.
  case own(BluetoothHost)
  /// The host of the hub that listens at a path.
  case hub(HubSessionProvider, path: String)
  /// A host over bluetoothd.
  case bluez(BlueZCommandHost)

  /// The host of the hub at a path. Connects when it is first used.
  ///
  /// - Parameters:
  ///   - path: Where the hub listens.
  ///   - onWarning: Called with a sentence about each request that the hub refuses. The reason why the hub can't
  ///     be used is in `problem` instead, because the command fails with it.
  static func hub(
    at path: String, onWarning: @escaping @Sendable (String) -> Void
  ) -> CommandHost {
    let problem = Guarded<(@Sendable () -> String?)?>(nil)
    let logger = Logger(label: "ambit.hub") { _ in
      var log = SentenceLog { sentence, _ in
        if problem.value?() != sentence { onWarning(sentence) }
      }
      log.logLevel = .warning
      return log
    }
    let hub = HubSessionProvider(path: path, reportsSilence: true, logger: logger)
    problem.update { $0 = { [weak hub] in hub?.problem } }
    return .hub(hub, path: path)
  }

  /// The provider of sessions with the host.
  package var provider: any HostSessionProvider {
    switch self {
    case .own(let host): host
    case .hub(let hub, _): hub
    case .bluez(let bluez): bluez.provider
    }
  }

  /// The host, if it is in this process.
  package var own: BluetoothHost? {
    switch self {
    case .own(let host): host
    case .hub, .bluez: nil
    }
  }

  /// The path of the hub; nil for another host.
  var hubPath: String? {
    switch self {
    case .own, .bluez: nil
    case .hub(_, let path): path
    }
  }

  /// The reason why the radio can't be used, in one sentence; nil if none is known.
  var problem: String? {
    switch self {
    case .own(let host): host.problem
    case .hub(let hub, _): hub.problem
    case .bluez(let bluez): bluez.problem()
    }
  }

  /// Whether the radio is simulated. A hub that has not answered yet is waited for, up to half a second.
  package var isSimulated: Bool { provider.isSimulated }

  /// The radio as `--radio` takes it, or `hub:` and the path of the hub.
  package var radioText: String {
    switch self {
    case .own(let host): host.radio.description
    case .hub(_, let path): "hub:" + path
    case .bluez(let bluez): bluez.name
    }
  }

  /// The subject of a sentence about the radio.
  var subject: String {
    switch self {
    case .own(let host): "the radio \(host.radio)"
    case .hub(_, let path): "the radio of the hub at \(path)"
    case .bluez(let bluez): "the radio \(bluez.name)"
    }
  }

  /// The radio's title on a screen. To be called after the command has waited for the radio.
  var title: String {
    switch self {
    case .own(let host): RadioText.title(host.radio)
    case .hub(let hub, let path):
      hub.isSimulated ? "simulated radio of the hub at \(path)" : "radio of the hub at \(path)"
    case .bluez(let bluez): bluez.title
    }
  }

  /// Opens a session that gets one event per call, on the host's loop.
  package func openSession(
    onEvent: @escaping @Sendable (HostEvent) -> Void
  ) -> any HostSession {
    provider.openSession(onEvent: onEvent)
  }

  /// Returns when the host knows that the radio does not work, or the task is cancelled.
  func waitForProblem() async {
    switch self {
    case .own(let host):
      for await problem in host.problems() where problem != nil { return }
    case .hub, .bluez:
      let (problems, problem) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      let session = openSession { event in
        switch event {
        case .stateChanged(.poweredOff), .stateChanged(.unsupported), .stateChanged(.unauthorized):
          problem.yield()
        default: break
        }
      }
      defer { session.close() }
      for await _ in problems { return }
    }
  }

  /// Reports once that a hub's radio is simulated, which the user of a hub may not know. To be called after the
  /// command has waited for the radio.
  func reportSimulation(_ output: Output) {
    guard case .hub(let hub, let path) = self, hub.isSimulated else { return }
    let isKnown = Output.isSimulated.update { isSimulated in
      defer { isSimulated = true }
      return isSimulated
    }
    guard !isKnown else { return }
    output.warn("all devices are simulated: the hub at \(path) has a simulated radio")
  }

  /// Ends all sessions; a host in this process leaves its radio, and its files are complete then.
  func close() async {
    switch self {
    case .own(let host): await host.close()
    case .hub(let hub, _): await hub.close()
    case .bluez(let bluez): await bluez.close()
    }
  }
}

extension CommandFailure {
  /// The refusal of an option or a command that a program of a hub can't have.
  package static func needsOwnRadio(_ what: String) -> CommandFailure {
    CommandFailure(
      .usage,
      "\(what) needs a radio of the command's own: name one with --radio, or set AMBIT_HUB=off")
  }
}
