import ArgumentParser

/// Apps, which `ambit-apps` runs: it parses the words.
struct AppCommand: ParsableCommand {
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
    help:
      "A command: install, remove, list, open, background, foreground, force-quit, terminate, status or log."
  )
  var words: [String] = []

  func run() throws {
    try ProgramReplacement.execute("ambit-apps", ["app"] + words, for: "apps")
  }
}

/// Remote notifications, which `ambit-apps` sends.
struct PushCommand: ParsableCommand {
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

  func run() throws {
    try ProgramReplacement.execute("ambit-apps", ["push"] + words, for: "apps")
  }
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
    subcommands: [AppsProgram.self, AppsInstall.self, AppsUninstall.self],
    defaultSubcommand: AppsProgram.self)
}

/// The commands that `ambit-apps` performs.
struct AppsProgram: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "program", abstract: "Run the manager, or show its state.", shouldDisplay: false)

  @Argument(parsing: .captureForPassthrough, help: "A command: run or status; run by default.")
  var words: [String] = []

  func run() throws {
    try ProgramReplacement.execute("ambit-apps", ["apps"] + words, for: "apps")
  }
}
