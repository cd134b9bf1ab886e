package import ArgumentParser

/// The program `ambit-apps`, which performs `ambit app` and `ambit apps`.
package struct AmbitApps: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "ambit", abstract: "Run apps in the background, as a phone does.",
    subcommands: [AppCommand.self, AppsCommand.self, PushCommand.self])

  package init() {}
}
