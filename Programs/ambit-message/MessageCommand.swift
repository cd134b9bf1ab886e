#if Messaging
  import AmbitCLI
  import ArgumentParser
  import Foundation
  import JSONWire
  import Messaging

  /// Messages of an account.
  struct MessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "message", abstract: "Send and receive messages over XMPP.",
      discussion: """
        A message is on this machine's disk before it is sent, and until it was taken. What could not \
        be sent is sent by the next command of the account. docs/messages.md describes states, and the \
        lines of "ambit message pipe".

        EXAMPLES:
          ambit message send bob@chat.example "Good morning"
          ambit message send bob@chat.example --until received < letter.txt
          ambit message read
          ambit message follow --json
          ambit message pipe
          ambit message roster
          ambit message room join lab@rooms.example
        """,
      subcommands: [
        MessageSend.self, MessageRead.self, MessageFollow.self, MessagePipe.self,
        MessageRoster.self, MessageBlock.self, MessageUnblock.self, MessageRoom.self,
        MessageGateway.self,
      ])
  }

  /// Sends one message.
  struct MessageSend: AsyncParsableCommand {
    /// The state that is waited for.
    enum Goal: String, ExpressibleByArgument, CaseIterable {
      case stored, server, received
    }

    static let configuration = CommandConfiguration(
      commandName: "send", abstract: "Send a message.",
      discussion: """
        The text is an argument, or else standard input. The command ends when the message is on \
        this machine's disk (--until stored), at the server, or confirmed by the recipient's app. \
        A file is uploaded to the server's service and is a message of its own; it must stay where it \
        is until then. \
        Where --timeout ends it before, with status 75, the message stays and is sent later.

        EXAMPLES:
          ambit message send bob@chat.example "Good morning"
          ambit message send bob@chat.example --until received --timeout 60 "Are you there?"
          ambit message send bob@chat.example --until stored < letter.txt
          ambit message send bob@chat.example --file summit.jpg "From yesterday"
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The recipient's address.")
    var recipient: Recipient

    @Argument(help: "The text. Default: standard input.")
    var text: String?

    @Option(help: ArgumentHelp("stored, server or received.", valueName: "state"))
    var until: Goal = .server

    @Option(
      name: .customLong("file"),
      help: ArgumentHelp("A file to send; may be repeated.", valueName: "path"),
      completion: .file())
    var files: [String] = []

    func run() async throws {
      try Self.check(files)
      let input = files.isEmpty && text == nil
      let body =
        try input ? StandardInput.text(byteCountMax: MessagingAccount.bodyByteCountMax) : text
      guard body?.isEmpty != true else {
        throw CommandFailure(.badData, "the message has no text")
      }
      let account = try options.open()
      let output = options.output
      let changes = account.stateChanges()
      let connections = account.connectionStates()
      account.start()
      let message: MessageID?
      let sent: [SentFile]
      do throws(MessagingError) {
        message = try await store(body, account)
        sent = try await storeFiles(account)
      } catch {
        throw CommandFailure(error)
      }
      guard until != .stored else { return try await account.finish() }
      let goal = until
      let isDone = try await options.run.limited {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            if let message { try await Self.wait(for: message, goal, changes, output) }
            try await Self.wait(for: sent, goal, output)
          }
          group.addTask { try await AccountWatch.failIfFinal(connections, output) }
          defer { group.cancelAll() }
          try await group.next()
        }
      }
      try await account.finish()
      guard isDone else {
        throw CommandFailure(
          .timedOut,
          files.isEmpty
            ? "the message is stored, and will be sent by the next command of the account"
            : "the file will be sent by the next command of the account that runs long enough")
      }
    }

    /// Stores the text, if there is one.
    private func store(
      _ body: String?, _ account: MessagingAccount
    ) async throws(MessagingError) -> MessageID? {
      guard let body else { return nil }
      let id = try await account.send(body, to: recipient.address)
      options.output.object(
        MessageJSON.accepted(id, to: recipient.address, reference: nil), or: "Stored.")
      return id
    }

    static func wait(
      for id: MessageID, _ goal: Goal, _ changes: Updates<MessageStateChange>, _ output: Output
    ) async throws {
      for await change in changes where change.id == id {
        output.object(MessageJSON.change(change), or: MessageText.text(change.state))
        switch change.state {
        case .failed(let failure):
          throw CommandFailure(.failure, "the message failed: \(MessageText.text(failure))")
        case .stored: continue
        case .acknowledged, .archived: if goal == .server { return }
        case .received, .displayed: return
        }
      }
    }
  }

  /// Prints what waits in the inbox.
  struct MessageRead: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "read", abstract: "Print messages that were not read, and mark them as read.",
      discussion: """
        Connects, catches up with the server's archive, prints what came since the last time and ends. \
        A message counts as read when it was printed.

        EXAMPLES:
          ambit message read
          ambit message read --json
        """)

    @OptionGroup var options: AccountOptions

    func run() async throws {
      let account = try options.open()
      let output = options.output
      let catchUps = account.catchUps()
      let connections = account.connectionStates()
      account.start()
      let isDone = try await options.run.limited {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { await Self.wait(for: catchUps, output) }
          group.addTask { try await AccountWatch.failIfFinal(connections, output) }
          defer { group.cancelAll() }
          try await group.next()
        }
      }
      try await InboxPrinter.printWaiting(account, output)
      try await account.finish()
      guard isDone else {
        throw CommandFailure(.timedOut, "the server's archive was not read to its end")
      }
    }

    private static func wait(for catchUps: Updates<CatchUp>, _ output: Output) async {
      for await catchUp in catchUps {
        if !catchUp.isWhole {
          output.warn("the server has no archive, or does not let it be read to its end")
        }
        return
      }
    }
  }

  /// Prints messages as they come.
  struct MessageFollow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "follow", abstract: "Print messages as they come, until Ctrl-C.",
      discussion: """
        EXAMPLES:
          ambit message follow
          ambit message follow --json --timeout 10m
        """)

    @OptionGroup var options: AccountOptions

    func run() async throws {
      let account = try options.open()
      let output = options.output
      let connections = account.connectionStates()
      account.start()
      try await options.run.untilTime {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await InboxPrinter.follow(account, output) }
          group.addTask { try await AccountWatch.report(connections, output) }
          defer { group.cancelAll() }
          try await group.next()
        }
      }
      try await account.finish()
    }
  }
#endif
