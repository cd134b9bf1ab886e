import ArgumentParser
import Foundation

/// Writes and starts the unit of the manager of apps.
struct AppsInstall: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "install",
    abstract: "Install the manager of apps as a service of your own in systemd.",
    discussion: """
      Writes ambit-apps.service for "systemctl --user", and starts it. Its control group is delegated to it \
      (Delegate=yes), so that suspended apps are frozen. It starts with your first session, and ends with the last \
      one, unless "loginctl enable-linger" keeps it. If it runs already and the unit has changed, it is started \
      again, and the apps that run end.

      EXAMPLES:
        ambit apps install --print
        ambit apps install
        ambit apps install --radio uart:/dev/ttyUSB0@1000000,flow
      """)

  @OptionGroup var options: AppsServiceOptions

  @Option(
    help: ArgumentHelp("The radio. Default: that of the hub.", valueName: "radio"))
  var radio: String?

  @Flag(help: "Print the file, and change nothing.")
  var print = false

  func run() async throws {
    let output = Output(isJSON: false)
    let executable = try ServiceProgram.path()
    guard let unit = AppsUnit(executable: executable, radio: radio) else {
      throw CommandFailure(.usage, "systemd runs no program at \(Fit.safe(executable))")
    }
    let place = options.place
    let folder = try place.folder(ProcessInfo.processInfo.environment)
    let file = unit.file
    if print {
      output.line("# \(folder.place(of: file.name))\n\(file.text)")
      return
    }
    try place.checkManager(hub: unit.command)
    guard options.prefix != nil || ProgramReplacement.isInstalled("ambit-apps") else {
      throw CommandFailure(
        .notFound,
        "ambit-apps, which the service runs, isn't beside \(Fit.safe(executable)); install it with --apps"
      )
    }
    let written: [String]
    do throws(UnitFolderError) {
      written = try folder.write([file], replacesOthers: options.force)
    } catch { throw CommandFailure(.cannotCreate, error.sentence(of: .apps)) }
    for name in written { output.line("Wrote \(Fit.safe(folder.place(of: name)))") }
    if written.isEmpty {
      output.line("The unit is installed already, and unchanged: a manager that runs goes on.")
    }
    let systemctl = SystemctlRun(isRunning: place.isRunning, show: output.line)
    let restart = written.isEmpty ? [] : [place.arguments(["try-restart", AppsUnit.name])]
    try systemctl.run(
      [place.arguments(["daemon-reload"])] + restart
        + [place.arguments(["enable", "--now", AppsUnit.name])])
  }
}

/// Stops and removes the unit.
struct AppsUninstall: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uninstall",
    abstract: "Remove the service that \"ambit apps install\" installed.",
    discussion:
      "Stops the manager, which ends the apps, and removes its unit. The list of apps is kept.")

  @OptionGroup var options: AppsServiceOptions

  func run() async throws {
    let output = Output(isJSON: false)
    let place = options.place
    let folder = try place.folder(ProcessInfo.processInfo.environment)
    let existing: [String]
    do throws(UnitFolderError) {
      existing = try folder.removable([AppsUnit.name], removesOthers: options.force)
    } catch { throw CommandFailure(.cannotCreate, error.sentence(of: .apps)) }
    guard !existing.isEmpty else {
      throw CommandFailure(
        .notFound, "no manager of apps is installed in \(Fit.safe(folder.path))")
    }
    let systemctl = SystemctlRun(isRunning: place.isRunning, show: output.line)
    try systemctl.run([place.arguments(["disable", "--now", AppsUnit.name])])
    do throws(UnitFolderError) { try folder.remove([AppsUnit.name]) } catch {
      throw CommandFailure(.cannotCreate, error.sentence(of: .apps))
    }
    output.line("Removed \(Fit.safe(folder.place(of: AppsUnit.name)))")
    try systemctl.run([place.arguments(["daemon-reload"])])
  }
}

/// What `install` and `uninstall` take.
struct AppsServiceOptions: ParsableArguments {
  @Flag(help: "Replace or remove a file, too, that was changed or written by others.")
  var force = false

  @Option(help: .hidden, completion: .directory)
  var prefix: String?

  var place: ServicePlace { ServicePlace(scope: .user, root: prefix) }
}
