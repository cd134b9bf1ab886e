#if Messaging
  import AmbitCLI
  import ArgumentParser
  import Foundation
  import JSONWire
  import Messaging

  /// A conversation with one account, a line a message.
  struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "chat", abstract: "Chat over XMPP, a line a message.",
      discussion: """
        Each line that is typed is a message; "/file PATH" sends a file. Messages of others than the \
        address stay in the inbox. The other account's presence and typing are shown; messages that \
        were shown are marked as displayed, unless --no-markers is given. The latest messages of the \
        conversation are printed first.

        EXAMPLES:
          ambit chat bob@chat.example
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The other account's address.")
    var peer: Recipient

    @Flag(name: .customLong("no-markers"), help: "Don't mark messages as displayed.")
    var isWithoutMarkers = false

    @Option(
      help: ArgumentHelp(
        "Earlier messages that are printed first, up to 1000. Default: 20; none with --json.",
        valueName: "count"))
    var history: Int?

    func validate() throws {
      guard (0...1_000).contains(history ?? 0) else {
        throw ValidationError("--history takes a number from 0 to 1000.")
      }
    }

    func run() async throws {
      let account = try options.open(receipts: .knownPeers)
      let output = options.output
      let peer = peer.address
      let changes = account.stateChanges()
      let connections = account.connectionStates()
      let presences = account.presenceUpdates()
      let chatStates = account.chatStateUpdates()
      let transfers = account.fileTransferChanges()
      let marks = !isWithoutMarkers
      try await showHistory(account, output)
      account.start()
      try await options.run.untilTime {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await Self.show(peer, account, marks: marks, output) }
          group.addTask {
            for await presence in presences where presence.address == peer {
              Self.note(ContactText.object(presence), ContactText.line(presence), output)
            }
          }
          group.addTask {
            for await update in chatStates where update.address == peer {
              Self.note(ContactText.object(update), ContactText.line(update), output)
            }
          }
          group.addTask { await Self.show(changes, output) }
          group.addTask {
            for await change in transfers {
              Self.note(
                FileJSON.change(change),
                "[file \(change.id.rawValue)] \(FileText.text(change.state))", output)
            }
          }
          group.addTask { try await AccountWatch.report(connections, output) }
          group.addTask {
            try await Self.send(to: peer, account, output)
            throw EndOfInput()
          }
          defer { group.cancelAll() }
          do {
            while try await group.next() != nil {}
          } catch is EndOfInput {}
        }
      }
      try await account.finish()
    }

    private struct EndOfInput: Error {}

    /// The beginning of a line that sends a file.
    private static let filePrefix = "/file "

    /// An object with `--json`, and else a remark beside the conversation.
    private static func note(_ object: JSON, _ line: String?, _ output: Output) {
      if output.isJSON {
        output.object(object, isOfRadio: false)
      } else if let line {
        output.note(Fit.safe(line))
      }
    }

    /// Prints the latest messages of the conversation without those that the inbox hands over anyway.
    private func showHistory(_ account: MessagingAccount, _ output: Output) async throws {
      let count = history ?? (output.isJSON ? 0 : 20)
      do throws(MessagingError) {
        let waiting = Set(try await account.waitingItems(limit: 10_000).map(\.row))
        for entry in try await account.history(with: peer.address, limit: count) {
          switch entry {
          case .received(let item):
            if !waiting.contains(item.row) { InboxPrinter.show(item, output) }
          case .sent(let message):
            output.object(MessageJSON.sent(message), or: MessageText.text(message))
          }
        }
      } catch {
        throw CommandFailure(error)
      }
    }

    private static func show(
      _ peer: String, _ account: MessagingAccount, marks: Bool, _ output: Output
    ) async throws {
      do {
        for try await item in account.inbox() where item.peer == peer {
          guard try await InboxPrinter.take(item, account, output) else { return }
          if marks { try await account.markDisplayed(item) }
        }
      } catch {
        throw CommandFailure(error)
      }
    }

    private static func show(_ changes: Updates<MessageStateChange>, _ output: Output) async {
      for await change in changes {
        note(
          MessageJSON.change(change), "[\(change.id)] \(MessageText.text(change.state))", output)
      }
    }

    private static func send(
      to peer: String, _ account: MessagingAccount, _ output: Output
    ) async throws {
      // A line with one character more is refused, and not cut.
      let lines = TypedLines(characterCountMax: MessagingAccount.bodyByteCountMax + 1)
      defer { lines.finish() }
      while let line = await lines.next() {
        guard !line.allSatisfy(\.isWhitespace) else { continue }
        do throws(MessagingError) {
          if line.hasPrefix(filePrefix) {
            let path = String(line.dropFirst(filePrefix.count))
            let id = try await account.send(file: path, to: peer)
            note(
              FileJSON.accepted(id, path: path, to: peer, reference: nil),
              "[file \(id.rawValue)] Stored.", output)
            continue
          }
          let id = try await account.send(line, to: peer)
          note(MessageJSON.accepted(id, to: peer, reference: nil), "[\(id)] Stored.", output)
        } catch {
          output.warn(error.description)
        }
      }
    }
  }
#endif
