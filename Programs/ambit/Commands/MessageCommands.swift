import ArgumentParser

/// A command that `ambit-message` performs.
protocol MessageProgramCommand: ProgramCommand {
  static var name: String { get }
}

extension MessageProgramCommand {
  static var program: String { "ambit-message" }
  static var purpose: String { "messages" }
  static var path: [String] { [name] }
}

/// Accounts for messages.
struct AccountCommand: MessageProgramCommand {
  static let name = "account"
  static let configuration = CommandConfiguration(
    commandName: name, abstract: "Add, list and remove accounts for messages (XMPP).",
    discussion: """
      EXAMPLES:
        ambit account add ann@chat.example
        ambit account list
        ambit account --help
      """)

  @Argument(
    parsing: .captureForPassthrough, help: "A command: add, list, remove or accept-mechanism.")
  var words: [String] = []
}

/// Messages of an account.
struct MessageCommand: MessageProgramCommand {
  static let name = "message"
  static let configuration = CommandConfiguration(
    commandName: name, abstract: "Send and receive messages over XMPP.",
    discussion: """
      EXAMPLES:
        ambit message send bob@chat.example "Good morning"
        ambit message read
        ambit message follow --json
        ambit message roster
        ambit message --help
      """)

  @Argument(
    parsing: .captureForPassthrough,
    help: "A command: send, read, follow, pipe, roster, room, block, unblock or gateway.")
  var words: [String] = []
}

/// A conversation.
struct ChatCommand: MessageProgramCommand {
  static let name = "chat"
  static let configuration = CommandConfiguration(
    commandName: name, abstract: "Chat over XMPP, a line a message.",
    discussion: """
      EXAMPLES:
        ambit chat bob@chat.example
      """)

  @Argument(parsing: .captureForPassthrough, help: "The other account's address.")
  var words: [String] = []
}
