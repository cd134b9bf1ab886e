package import ArgumentParser

/// The program `ambit-message`, which performs `ambit account`, `ambit message` and `ambit chat`.
package struct AmbitMessage: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "ambit", abstract: "Send and receive messages over XMPP.",
    subcommands: commands)

  #if Messaging
    private static let commands: [any ParsableCommand.Type] = [
      AccountCommand.self, MessageCommand.self, ChatCommand.self,
    ]
  #else
    private static let commands: [any ParsableCommand.Type] = []
  #endif

  package init() {}
}
