package import ArgumentParser

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

/// The options of `ambit hub run`, which `ambit` checks and `ambit-hub` performs.
package struct HubRunOptions: ParsableArguments {
  @OptionGroup package var global: GlobalOptions

  @Option(
    help: "The path of the socket, instead of the usual one or systemd's.", completion: .file())
  package var socket: String?

  @Option(
    help: ArgumentHelp(
      "The file of the rules about the programs that may use it.",
      discussion: """
        The default is /etc/ambit/hub.json, and ~/.config/ambit/hub.json in a user's session, if it exists; without \
        one, programs of the same user and of root may. It is read once, at the start.
        """), completion: .file(extensions: ["json"]))
  package var rules: String?

  @Flag(inversion: .prefixedNo, help: "Multicast DNS for the programs beside the radio.")
  package var network = true

  @Option(
    help: ArgumentHelp(
      "The path of the socket with metrics, or \"off\". Default: that of the hub's socket, with "
        + "\".metrics\" behind.",
      valueName: "path"), completion: .file())
  package var metrics: String?

  package init() {}

  package func validate() throws {
    if let socket, Self.isAddress(socket) {
      throw ValidationError(
        "--socket takes the path of a UNIX socket, and \"\(Fit.safe(socket))\" is an address of the network."
      )
    }
    if let metrics, Self.isAddress(metrics) {
      throw ValidationError(
        "--metrics takes the path of a UNIX socket, and \"\(Fit.safe(metrics))\" is an address of the network. A relay can "
          + "serve one: socat TCP-LISTEN:9100,bind=127.0.0.1,fork UNIX-CONNECT:/run/ambit/hub.metrics"
      )
    }
  }

  /// Whether a text names a port, as options of other programs do: 127.0.0.1:9100, localhost:9100, [::1]:9100, :9100
  /// or a URL.
  static func isAddress(_ text: String) -> Bool {
    if text.contains("://") { return true }
    guard !text.contains("/"), let colon = text.lastIndex(of: ":") else { return false }
    let port = text[text.index(after: colon)...]
    return !port.isEmpty && port.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }

  package static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Open the radio, and serve it and Multicast DNS to other programs.",
    discussion: """
      The hub opens the radio, or uses bluetoothd's, and programs of the same user, or of root, use it over a UNIX socket: \
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
        ambit hub run --radio bluez                    beside other programs of bluetoothd, without root
        ambit hub run --radio sim:floor.json --socket /tmp/hub
        ambit hub run --radio hci0 --json
      """)
}

/// Serves the radio to the other programs of the machine.
///
/// It is a program of its own, `ambit-hub` in the folder of `ambit`, so that `ambit` is built without the hub's machines.
struct HubRun: ParsableCommand {
  static let configuration = HubRunOptions.configuration

  /// The program.
  static let program = "ambit-hub"

  @OptionGroup var options: HubRunOptions

  /// Replaces this process by `ambit-hub`, with the same options.
  ///
  /// - Throws: `CommandFailure` if it can't be executed.
  func run() throws {
    var words = Main.movingOptions(Array(CommandLine.arguments.dropFirst()))[...].dropFirst()
    // The usual subcommand may be left out.
    if words.first == Self.configuration.commandName { words.removeFirst() }
    try ProgramReplacement.execute(Self.program, words, for: "the hub")
  }
}
