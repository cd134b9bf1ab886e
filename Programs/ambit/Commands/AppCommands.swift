import ArgumentParser

/// A command that `ambit-apps` performs.
protocol AppsProgramCommand: ProgramCommand {}

extension AppsProgramCommand {
  static var program: String { "ambit-apps" }
  static var purpose: String { "apps" }
}

/// Apps, which `ambit-apps` runs.
struct AppCommand: AppsProgramCommand {
  static let path = ["app"]
  static let configuration = CommandConfiguration(
    commandName: "app",
    abstract: "Install, open, suspend and end apps that live in the background.",
    discussion: """
      EXAMPLES:
        ambit app install ./DoorLock
        ambit app open com.example.lock
        ambit app --help
      """)

  @Argument(
    parsing: .captureForPassthrough,
    help: ArgumentHelp(
      "A command: install, remove, list, open, background, foreground, force-quit, terminate, display-on, "
        + "status, log or open-alert."))
  var words: [String] = []
}

/// Remote notifications, which `ambit-apps` sends.
struct PushCommand: AppsProgramCommand {
  static let path = ["push"]
  static let configuration = CommandConfiguration(
    commandName: "push", abstract: "Send a remote notification to an app.",
    discussion: """
      EXAMPLES:
        ambit push com.example.news payload.json
        ambit push --help
      """)

  @Argument(
    parsing: .captureForPassthrough,
    help: "The app's identifier or device token, the file of the payload, and options.")
  var words: [String] = []
}

/// The manager of apps.
struct AppsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apps",
    abstract: "Run the manager of apps: it starts, suspends, wakes and ends them.",
    discussion: """
      "ambit apps run" runs it, which is what "ambit apps" without a command does; "ambit apps status" shows each \
      app's state. docs/apps.md describes them.

      EXAMPLES:
        ambit apps --radio hci0
        ambit apps status
        ambit apps install --print
      """,
    subcommands: [
      AppsRunProgram.self, AppsStatusProgram.self, AppsInstall.self, AppsUninstall.self,
    ],
    defaultSubcommand: AppsRunProgram.self)
}

/// The manager, which `ambit-apps` is.
struct AppsRunProgram: AppsProgramCommand {
  static let path = ["apps", "run"]
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run the manager of this user's apps.")

  @Argument(parsing: .captureForPassthrough, help: "Options.")
  var words: [String] = []

  func run() throws {
    // It is the command that may be left out, so that an unknown one is among its words.
    if let first = words.first, !first.hasPrefix("-") {
      throw Main.unknown(first, of: AppsCommand.self)
    }
    try ProgramReplacement.execute(Self.program, Self.path + words, for: Self.purpose)
  }
}

/// The state of the manager.
struct AppsStatusProgram: AppsProgramCommand {
  static let path = ["apps", "status"]
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract:
      "Show each app's state, time, queue, wakes, processor time and events that were given up.")

  @Argument(parsing: .captureForPassthrough, help: "Options.")
  var words: [String] = []
}
