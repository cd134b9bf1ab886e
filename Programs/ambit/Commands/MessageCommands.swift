import ArgumentParser
import Foundation

/// The words after a command that `ambit-message` performs: it parses them.
protocol MessageProgramCommand: ParsableCommand {
  static var name: String { get }
  var words: [String] { get }
}

extension MessageProgramCommand {
  func run() throws {
    try ProgramReplacement.execute("ambit-message", [Self.name] + words, for: "messages")
  }
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

  @Argument(parsing: .captureForPassthrough, help: "A command: add, list or remove.")
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
    help: "A command: send, read, follow, pipe, roster, room, block or unblock.")
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
