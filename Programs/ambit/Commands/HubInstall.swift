import ArgumentParser
import BluetoothHost
import BluetoothMachines
import Foundation

/// Writes and starts the units of a hub.
struct HubInstall: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "install",
    abstract: "Install the hub as a service of systemd.",
    discussion: """
      Writes ambit-hub.socket and ambit-hub.service, and starts the socket; the first program that \
      connects starts the hub. The system's hub runs as a user of its own with the one capability that \
      a controller takes, and serves root and the users that its rules allow. A user's hub serves \
      simulated, TCP, UNIX and serial radios. It runs Multicast DNS for programs, too, and takes \
      Internet sockets for it; --no-network leaves both out. Where the files are the same already, a hub \
      that runs goes on; else it is stopped, and what it keeps of programs ends. docs/hub-service.md has \
      the details.

      EXAMPLES:
        ambit hub install --radio hci0 --print
        sudo ambit hub install --radio hci0
        ambit hub install --user --radio uart:/dev/ttyUSB0@1000000,flow
      """)

  @OptionGroup var options: HubServiceOptions

  @Option(
    help: ArgumentHelp(
      "The radio. Default: AMBIT_RADIO, else hci0 for the system's hub.", valueName: "radio"))
  var radio: String?

  @Option(help: ArgumentHelp("This host's address, as for other commands.", valueName: "address"))
  var address: String?

  @Option(help: ArgumentHelp("Accepted pairings, as for other commands.", valueName: "policy"))
  var pair: String?

  @Flag(inversion: .prefixedNo, help: "Multicast DNS for the programs beside the radio.")
  var network = true

  @Flag(help: "Print the files, and change nothing. Takes no root.")
  var print = false

  func run() async throws {
    let units = try units()
    let output = Output(isJSON: false)
    let isInstalled = ProgramReplacement.isInstalled(HubRun.program)
    let hub = ProgramReplacement.path(of: HubRun.program)
    let warning = Self.warning(units.command.prefix(1) + (isInstalled ? [hub] : []), units.scope)
    let place = options.place
    if print {
      if let warning { output.warn(warning) }
      let folder = try place.folder(ProcessInfo.processInfo.environment)
      for file in units.files { output.line("# \(folder.place(of: file.name))\n\(file.text)") }
      return
    }
    // Its package or image brings the program where a prefix is given.
    guard options.prefix != nil || isInstalled else {
      throw CommandFailure(.notFound, "\(Fit.safe(hub)), which the service runs, is not installed")
    }
    try place.checkManager(hub: units.command)
    try place.checkUser("install --radio " + ShellText.command([units.radio.description]))
    if let warning { output.warn(warning) }
    let folder = try place.folder(ProcessInfo.processInfo.environment)
    let use: UnitUse
    do throws(UnitFolderError) {
      let isIncomplete = folder.isMarked
      let written = try folder.write(
        units.files, replacesOthers: options.force, marks: place.isRunning)
      for name in written { output.line("Wrote \(Fit.safe(folder.place(of: name)))") }
      use = UnitUse(place, written: written, isIncomplete: isIncomplete)
    } catch { throw CommandFailure(error) }
    output.line(use.effect)
    try SystemctlRun(isRunning: place.isRunning, show: output.line).run(use.commands)
    if place.isRunning {
      do throws(UnitFolderError) { try folder.unmark() } catch { throw CommandFailure(error) }
    }
    for line in Self.remarks(units) { output.line(line) }
  }

  /// The reason why a service shouldn't run programs, or can't; nil without one.
  private static func warning(_ programs: some Sequence<String>, _ scope: HubUnits.Scope) -> String?
  {
    for program in programs {
      let isChangeable = scope == .system && ServiceProgram.isChangeable(program)
      if let warning = ServiceProgram.warning(program, scope, isChangeable: isChangeable) {
        return warning
      }
    }
    return nil
  }

  /// The units that the options describe.
  private func units() throws -> HubUnits {
    let radio = try namedRadio()
    var configuration = HostConfiguration()
    var more: [String] = []
    if let address {
      do throws(HostAddressError) {
        try configuration.chooseAddress(named: address, on: radio)
      } catch { throw CommandFailure(.usage, error.description.trimmingSuffix(".")) }
      more += ["--address", address]
    }
    if let pair {
      do throws(PairingChoiceError) { try configuration.choosePairing(named: pair) } catch {
        throw CommandFailure(.usage, error.description.trimmingSuffix("."))
      }
      more += ["--pair", pair]
    }
    var device: HubUnits.Device?
    if case .uart(let line) = radio { device = SerialDevice.find(line.path) }
    let executable = try ServiceProgram.path()
    do throws(HubUnitsError) {
      return try HubUnits(
        options.scope, radio: radio, executable: executable, options: more,
        runsNetwork: network, device: device)
    } catch { throw CommandFailure(.usage, error.sentence) }
  }

  /// The radio of the option, or of the environment.
  private func namedRadio() throws(CommandFailure) -> RadioChoice {
    let environment = ProcessInfo.processInfo.environment["AMBIT_RADIO"] ?? ""
    let name = radio ?? (environment.isEmpty ? nil : environment)
    guard let name = name ?? (options.scope == .system ? "hci0" : nil) else {
      throw CommandFailure(
        .usage, "a user's hub has no usual radio: name it, as in --radio uart:/dev/ttyUSB0")
    }
    guard name.prefix(while: { $0 != ":" }) != "bluez" else {
      throw CommandFailure(
        .usage,
        "a hub of the service manager has its radio alone; \"ambit hub run --radio bluez\" serves bluetoothd's"
      )
    }
    do throws(RadioChoiceError) {
      return try RadioChoice(parsing: name)
        .absolute(in: FileManager.default.currentDirectoryPath)
    } catch {
      throw CommandFailure(
        error.isNoRadio ? .noRadio : .usage, error.description.trimmingSuffix("."))
    }
  }

  /// What a user should know about an installed hub.
  static func remarks(_ units: HubUnits) -> [String] {
    switch units.scope {
    case .system:
      var remarks = [
        "Programs of root may use the hub at /run/ambit/hub; rules in /etc/ambit/hub.json admit others."
      ]
      if case .hci = units.radio {
        remarks.append(
          "bluetoothd can't share \(units.radio) with the hub; "
            + "\"systemctl disable --now bluetooth\" ends it.")
      }
      return remarks
    case .user:
      return [
        "Your programs may use the hub at ambit/hub in $XDG_RUNTIME_DIR. It ends with your last session, "
          + "unless \"loginctl enable-linger\" keeps it."
      ]
    }
  }
}

/// Stops and removes the units of a hub.
struct HubUninstall: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uninstall",
    abstract: "Remove the service that \"ambit hub install\" installed.",
    discussion: """
      Stops the hub, and removes its units. Bonds of the hub are kept.

      EXAMPLES:
        sudo ambit hub uninstall
        ambit hub uninstall --user
      """)

  @OptionGroup var options: HubServiceOptions

  func run() async throws {
    let output = Output(isJSON: false)
    let place = options.place
    let folder = try place.folder(ProcessInfo.processInfo.environment)
    let names = [HubUnits.socketName, HubUnits.serviceName]
    let existing: [String]
    do throws(UnitFolderError) {
      existing = try folder.removable(names, removesOthers: options.force)
    } catch { throw CommandFailure(error) }
    guard !existing.isEmpty else {
      throw CommandFailure(.notFound, "no hub is installed in \(Fit.safe(folder.path))")
    }
    try place.checkUser("uninstall")
    let systemctl = SystemctlRun(isRunning: place.isRunning, show: output.line)
    try systemctl.run([place.arguments(["disable", "--now"] + existing)])
    do throws(UnitFolderError) { try folder.remove(existing) } catch { throw CommandFailure(error) }
    do throws(UnitFolderError) { try folder.unmark() } catch { throw CommandFailure(error) }
    for name in existing { output.line("Removed \(Fit.safe(folder.place(of: name)))") }
    try systemctl.run([place.arguments(["daemon-reload"])])
    if options.scope == .system { output.line("The hub's bonds are kept in /var/lib/ambit.") }
  }
}

/// What `install` and `uninstall` take.
struct HubServiceOptions: ParsableArguments {
  @Flag(exclusivity: .exclusive)
  var scope = HubUnits.Scope.system

  @Flag(help: "Replace or remove files, too, that were changed or written by others.")
  var force = false

  @Option(help: .hidden, completion: .directory)
  var prefix: String?

  var place: ServicePlace { ServicePlace(scope: scope, root: prefix) }
}

extension HubUnits.Scope: EnumerableFlag {
  static func help(for value: HubUnits.Scope) -> ArgumentHelp? {
    switch value {
    case .system: "The system's hub, at /run/ambit/hub."
    case .user: "A hub of your own, at $XDG_RUNTIME_DIR/ambit/hub."
    }
  }
}

extension CommandFailure {
  fileprivate init(_ error: UnitFolderError) { self.init(.cannotCreate, error.sentence) }
}

/// The device file of a serial radio.
private enum SerialDevice {
  /// The device that is at a path now; nil if none is.
  static func find(_ path: String) -> HubUnits.Device? {
    let resolved = URL(filePath: path).resolvingSymlinksInPath().path
    guard let attributes = try? FileManager.default.attributesOfItem(atPath: resolved) else {
      return nil
    }
    var device = HubUnits.Device(path: resolved)
    // A device of root's own group is one of no group that a service could have.
    if let group = attributes[.groupOwnerAccountName] as? String, group != "root" {
      device.group = group
    }
    return device
  }
}
