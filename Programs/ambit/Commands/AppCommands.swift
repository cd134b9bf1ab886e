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

/// The manager of apps.
struct AppsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apps",
    abstract: "Run the manager of apps: it starts, suspends, wakes and ends them.",
    discussion: """
      EXAMPLES:
        ambit apps --radio hci0
        ambit apps status
        ambit apps --help
      """)

  @Argument(parsing: .captureForPassthrough, help: "A command: run or status; run by default.")
  var words: [String] = []

  func run() throws {
    try ProgramReplacement.execute("ambit-apps", ["apps"] + words, for: "apps")
  }
}
