package import ArgumentParser
import Foundation
import Logging
import SimulatedRadio

#if SecureConnections
  import SecureConnections
#endif

/// The command `ambit`.
struct Ambit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ambit",
    abstract: "Find and use nearby Bluetooth LE devices and services of the local network.",
    usage: "ambit [--radio <radio>] [<command>]",
    discussion: """
      Without a command: a live view of everything nearby. Without a radio: a simulated one, with \
      a heart-rate strap, a thermostat, a door sensor, a UART echo, a door lock and beacons around it.

      A device is named by its identifier, the start of it or of its last group, its Bluetooth \
      address, its name, or the start of a word in it. A characteristic is named by its UUID (2A37) or \
      its standard name ("battery level"), after SERVICE/ where that is needed.

      EXAMPLES:
        ambit                                 live view
        ambit page                            the same in a browser, and more
        ambit scan --timeout 5                list nearby devices
        ambit inspect strap                   connect and show everything
        ambit read thermostat temperature     read one value
        ambit subscribe strap 2A37            follow a value
        ambit shell strap                     keep the connection; many commands
        ambit peripheral battery.json         be a device
        ambit record strap strap.json         make a file of a device, to be played in tests
        ambit --radio hci0 scan --json        a real controller; JSON for scripts
        ambit status                          features of the radio, links, queues, drops
        ambit bonds                           paired devices
        ambit beacons                         distances of beacons
        ambit monitor UUID -- ./greet         run a command at enter and exit
        ambit browse http                     find services of the local network
        ambit publish Lamp http 8080          be found there
        ambit hub --radio hci0                share the radio among programs
        ambit hub status                      programs that use it, and their links
        ambit linklocal eth0                  a link-local IPv4 address
        ambit message send bob@chat.example   send a message over XMPP
        ambit app open com.example.lock       an app that lives in the background
        ambit push com.example.lock push.json a remote notification for it
        ambit locate --map map.json walk.csv  where a beacon was among receivers
        ambit trace score a.mbd b.mbd         errors of position estimates

      \(ExitStatus.help)
      """,
    version: Main.version,
    subcommands: [
      Watch.self, PageCommand.self, Scan.self, Inspect.self, Read.self, Write.self, Subscribe.self,
      Shell.self,
      Advertise.self, Peripheral.self, Record.self, Channel.self, Radio.self, Capture.self,
      Hub.self,
      Status.self, Bonds.self, Browse.self, Resolve.self, Publish.self, NetworkQuery.self,
      LinkLocal.self, Locate.self, Trace.self, Beacons.self, BeaconGroup.self, Monitor.self,
      AccountCommand.self, MessageCommand.self, ChatCommand.self, AppCommand.self, AppsCommand.self,
      PushCommand.self,
    ],
    defaultSubcommand: Watch.self)
}

/// The programs `ambit`, `ambit-hub` and `ambit-page`.
package enum Main {
  /// The version of Ambit.
  package static let version = "0.1.0"

  /// Runs the command that the arguments name, and ends the process with its exit status.
  package static func main() async { await main(Ambit.self) }

  /// Runs `root`, or the subcommand of it that the arguments name, and ends the process with its exit
  /// status.
  package static func main(_ root: any (ParsableCommand & SendableMetatype).Type) async {
    OpenFiles.openStandard()
    _ = Interrupts.inheritedIgnored
    signal(SIGPIPE, SIG_IGN)
    // Where a parent ignored it, the system would keep no status of this program's children, and give their
    // numbers to other processes at once.
    signal(SIGCHLD, SIG_DFL)
    do throws(CommandFailure) {
      try OpenFiles.check()
      try LogLevel.check()
    } catch {
      finish(.failure(error), root)
    }
    // What the libraries log, such as the display of a simulated device: one sentence each.
    LoggingSystem.bootstrap { _ in
      SentenceLog { sentence, _ in Output(isJSON: false).warn(sentence) }
    }
    let arguments = Array(CommandLine.arguments.dropFirst())
    // Help, a mistake, or the page, which replaces this process: a signal has nothing to clean up.
    do {
      try showHelpOfProgram(arguments, root)
      var command = try parse(arguments, root)
      if !(command is any AsyncParsableCommand) { finish(Result { try command.run() }, root) }
    } catch {
      finish(.failure(error), root)
    }
    SimulatedRadio.install()
    #if SecureConnections
      SecureConnections.install()
    #endif
    Interrupts.shared.watch()
    let task = Task { try await run(arguments, root) }
    Interrupts.shared.cancels(task)
    let result = await task.result
    Terminal.restore()
    finish(result, root)
  }

  private static func parse(
    _ arguments: [String], _ root: any ParsableCommand.Type
  ) throws -> any ParsableCommand {
    let arguments = movingOptions(arguments, of: root)
    try checkCommand(arguments, of: root)
    do { return try root.parseAsRoot(arguments) } catch {
      throw unknownSubcommand(arguments, of: root, root.message(for: error)) ?? error
    }
  }

  /// Replaces this process by the program that has the help of a command.
  private static func showHelpOfProgram(
    _ arguments: [String], _ root: any ParsableCommand.Type
  ) throws {
    guard arguments.first == "help" else { return }
    var command = root
    for word in arguments.dropFirst() where !word.hasPrefix("-") {
      guard let next = command.configuration.subcommands.first(where: { name(of: $0) == word })
      else { return }
      if let other = next as? any ProgramCommand.Type {
        guard ProgramReplacement.isInstalled(other.program) else { return }
        try ProgramReplacement.execute(other.program, arguments, for: other.purpose)
      }
      command = next
    }
  }

  /// The mistake of `ambit hub nosuch`, which is otherwise one in the arguments of the command that may be left out; nil
  /// for another mistake.
  static func unknownSubcommand(
    _ arguments: [String], of root: any ParsableCommand.Type, _ message: String
  ) -> CommandFailure? {
    var command = root
    for word in arguments where !word.hasPrefix("-") {
      guard let next = command.configuration.subcommands.first(where: { name(of: $0) == word })
      else {
        let isMeant = message.hasPrefix("Unexpected argument '\(word)'")
        return isMeant && !command.configuration.subcommands.isEmpty
          ? unknown(word, of: command) : nil
      }
      command = next
    }
    return nil
  }

  private static func run(
    _ arguments: [String], _ root: any ParsableCommand.Type
  ) async throws {
    guard var command = try parse(arguments, root) as? any AsyncParsableCommand else { return }
    try await command.run()
  }

  private static func finish(
    _ result: Result<Void, any Error>, _ root: any ParsableCommand.Type
  ) -> Never {
    let output = Output(isJSON: false)
    output.clearProgress()
    if let signal = Interrupts.shared.received {
      if case .failure(let failure as CommandFailure) = result { output.warn(failure.sentence) }
      Output.finishBacklogs()
      Interrupts.endProcess(by: signal)
    }
    switch result {
    case .success:
      Output.finishBacklogs()
      guard Output.hasLostText else { exit(ExitStatus.success.rawValue) }
      output.warn("a part of the output was not read, and is lost")
      end(.timedOut)
    case .failure(let failure as CommandFailure):
      output.warn(failure.sentence)
      end(failure.status)
    case .failure(let error): finish(error, root, output)
    }
  }

  private static func end(_ status: ExitStatus) -> Never {
    Output.finishBacklogs()
    exit(status.rawValue)
  }

  /// Prints the help or the error of `ArgumentParser`, and ends the program.
  private static func finish(
    _ error: any Error, _ root: any ParsableCommand.Type, _ output: Output
  ) -> Never {
    let (status, text) = (root.exitCode(for: error), root.fullMessage(for: error))
    if status == .success {
      Output.write(text + "\n", to: STDOUT_FILENO)
    } else {
      let prefix = "Error: "
      let sentence = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
      output.note("\(output.errorStyle.red("ambit:")) \(sentence)")
    }
    Output.finishBacklogs()
    exit(status.rawValue)
  }

  /// A first word that is no command is reported as such, instead of being taken for an argument of `watch`.
  static func checkCommand(
    _ arguments: [String], of root: any ParsableCommand.Type = Ambit.self
  ) throws {
    guard let first = arguments.first, !first.hasPrefix("-") else { return }
    let commands = root.configuration.subcommands.map(name)
    guard !commands.isEmpty, !commands.contains(first) else { return }
    guard first != "help" else { return try checkHelp(arguments.dropFirst(), of: root) }
    throw unknown(first, of: root)
  }

  /// `help nosuch` would print the help of all.
  private static func checkHelp(
    _ words: ArraySlice<String>, of root: any ParsableCommand.Type
  ) throws {
    var command = root
    for word in words where !word.hasPrefix("-") {
      let commands = command.configuration.subcommands
      guard let next = commands.first(where: { name(of: $0) == word }) else {
        throw unknown(word, of: command)
      }
      // The words after it are those of its program.
      if next is any ProgramCommand.Type { return }
      command = next
    }
  }

  /// The mistake of a word that is no subcommand of a command.
  static func unknown(_ word: String, of command: any ParsableCommand.Type) -> CommandFailure {
    let commands = command.configuration.subcommands.filter { $0.configuration.shouldDisplay }
      .map(name)
    guard !commands.isEmpty else {
      return CommandFailure(
        .usage, "unknown command \"\(word)\"; the command before it has none")
    }
    return CommandFailure(
      .usage, "unknown command \"\(word)\"; the commands are \(commands.joined(separator: ", "))")
  }

  /// Options that may precede their command, or the command within it.
  private static let valueOptions: Set = [
    "--radio", "--address", "--timeout", "--interface", "--pair", "--oob", "--bonds",
  ]
  private static let flags: Set = ["--json", "--network", "--no-network"]

  /// Moves general options behind the command: `ambit --json scan`, `ambit radio --json list`.
  static func movingOptions(
    _ arguments: [String], of root: any ParsableCommand.Type = Ambit.self
  ) -> [String] {
    var commands: [String] = []
    var options: [String] = []
    var rest = arguments[...]
    var known = root.configuration.subcommands
    while let first = rest.first {
      if flags.contains(first) || valueOptions.contains(where: { first.hasPrefix($0 + "=") }) {
        options.append(rest.removeFirst())
      } else if valueOptions.contains(first), rest.count > 1 {
        options += rest.prefix(2)
        rest = rest.dropFirst(2)
      } else if let command = known.first(where: { name(of: $0) == first }) {
        commands.append(rest.removeFirst())
        known = command.configuration.subcommands
        if known.isEmpty { break }
      } else {
        break
      }
    }
    let end = rest.firstIndex(of: "--") ?? rest.endIndex
    // Two lists of arguments are more than a command can have: the second is an option.
    let isMonitor = commands.last == name(of: Monitor.self) && end != rest.endIndex
    let tail = isMonitor ? ["--run"] + rest[end...].dropFirst() : Array(rest[end...])
    return commands + rest[..<end] + options + tail
  }

  private static func name(of command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? "\(command)".lowercased()
  }
}
