#if Messaging
  import AmbitCLI
  import ArgumentParser
  import Essentials
  import Foundation
  import JSONWire
  import Messaging

  /// Sends and receives messages for another program, an object a line.
  struct MessagePipe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "pipe", abstract: "Send and receive messages for another program.",
      discussion: """
        Reads commands from standard input and writes events to standard output, one JSON object a \
        line; docs/messages.md describes them. Ends with standard input: accepted messages that have \
        not left by then leave with the next command that connects. To send one message and wait until \
        it has left, use "ambit message send".

        EXAMPLES:
          ambit message pipe
        """)

    @OptionGroup var options: AccountOptions

    func run() async throws {
      let account = try options.open()
      let output = Output(isJSON: true)
      let changes = account.stateChanges()
      let connections = account.connectionStates()
      let catchUps = account.catchUps()
      let problems = account.problems()
      let presences = account.presenceUpdates()
      let chatStates = account.chatStateUpdates()
      let rooms = account.rooms.updates()
      let occupants = account.rooms.occupantUpdates()
      let transfers = account.fileTransferChanges()
      let confirmations = account.confirmations()
      let files = FileCommands()
      account.start()
      try await options.run.untilTime {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            for await change in changes {
              output.object(MessageJSON.change(change), isOfRadio: false)
            }
            try await Self.failIfBehind(account)
          }
          group.addTask { await Self.tell(catchUps, output) }
          group.addTask {
            for await row in confirmations {
              let item = try? await account.item(row: row)
              output.object(MessageJSON.confirmed(row: row, item), isOfRadio: false)
            }
          }
          group.addTask { await Self.tell(presences, output) { ContactText.object($0) } }
          group.addTask { await Self.tell(chatStates, output) { ContactText.object($0) } }
          group.addTask { await Self.tell(problems, output) { MessageJSON.problem($0) } }
          group.addTask { await Self.tell(rooms, output) { RoomOutput.object($0) } }
          group.addTask {
            await Self.tell(occupants, output) {
              RoomOutput.object($0.room, $0.nickname, $0.occupant)
            }
          }
          group.addTask {
            for await change in transfers {
              output.object(FileJSON.change(change), isOfRadio: false)
            }
          }
          group.addTask { await files.run(account, output) }
          group.addTask { try await AccountWatch.report(connections, output) }
          group.addTask { try await Self.handOver(account, output) }
          group.addTask {
            try await Self.readCommands(account, files, output)
            await files.finish()
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

    /// The changes have ended. With an account in use, the output was not read for 100,000 of them.
    private static func failIfBehind(_ account: MessagingAccount) async throws {
      guard !Task.isCancelled, (try? await account.waitingItems(limit: 1)) != nil else { return }
      throw CommandFailure(
        .failure, "the output is read too slowly, and states of messages are missing")
    }

    private static func tell(_ catchUps: Updates<CatchUp>, _ output: Output) async {
      for await catchUp in catchUps {
        output.object(
          .object(["event": .string("caught-up"), "whole": .bool(catchUp.isWhole)]),
          isOfRadio: false)
      }
    }

    private static func tell<Value: Sendable>(
      _ updates: Updates<Value>, _ output: Output, _ object: (Value) -> JSON
    ) async {
      for await update in updates { output.object(object(update), isOfRadio: false) }
    }

    /// Hands entries over. The other program acknowledges them.
    private static func handOver(_ account: MessagingAccount, _ output: Output) async throws {
      do {
        for try await item in account.inbox() { InboxPrinter.show(item, output) }
      } catch {
        throw CommandFailure(error)
      }
    }

    private static func readCommands(
      _ account: MessagingAccount, _ files: FileCommands, _ output: Output
    ) async throws {
      let buffer = LineBuffer()
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          let input = BoundedLines(STDIN_FILENO, byteCountMax: PipeCommand.byteCountMax)
          let reader = LineReader { input.next() }
          while let line = await reader.next(), await buffer.put(line) {}
          await buffer.end()
        }
        while let lines = await buffer.takeAll(), !Task.isCancelled {
          await perform(lines, account, files, output)
        }
        await buffer.end()
        try await group.waitForAll()
      }
    }

    /// Performs the commands of lines that have come together, with as few transactions as possible.
    private static func perform(
      _ lines: [String], _ account: MessagingAccount, _ files: FileCommands, _ output: Output
    ) async {
      var messages: [(message: OutgoingMessage, reference: String?)] = []
      var rows: [Int64] = []
      for line in lines where !line.allSatisfy(\.isWhitespace) {
        do throws(FileFault) {
          let command = try PipeCommand(line: line)
          switch command {
          case .send(let recipient, let body, let reference, let deadline):
            messages.append((OutgoingMessage(body, to: recipient, deadline: deadline), reference))
          case .acknowledge(let row): rows.append(row)
          case .setInUse(let isInUse): account.setInUse(isInUse)
          case .setConnected(let isConnected):
            // Messages before it are on disk first.
            await store(messages, rows, account, output)
            (messages, rows) = ([], [])
            if isConnected { account.start() } else { account.stop() }
          case .cancelFile(let file): account.cancel(FileTransferID(rawValue: file))
          case .sendFile, .download:
            if !files.add(command) { FileCommands.refuse(command, output) }
          case .joinRoom(let room, let nickname, let password, let isBookmarked):
            // The answer of the room may take a minute.
            join(room, nickname, password, isBookmarked: isBookmarked, account, output)
          case .setPush(let service, let node, let isEnabled):
            // A server that is silent has half a minute, which messages don't wait for.
            setPush(service, node, isEnabled: isEnabled, account, output)
          case .setChatState, .markDisplayed, .setAvailability, .leaveRoom, .sendToRoom, .pushed:
            // A message ends the typing before it, and not the typing after it.
            if case .setChatState = command, !messages.isEmpty {
              await store(messages, rows, account, output)
              (messages, rows) = ([], [])
            }
            await perform(command, account, output)
          case .statistics:
            await store(messages, rows, account, output)
            (messages, rows) = ([], [])
            output.object(MessageJSON.statistics(account.statistics), isOfRadio: false)
          }
        } catch {
          report(error.reason, output, reference: PipeCommand.reference(in: line))
        }
      }
      await store(messages, rows, account, output)
    }

    /// Performs a command that may need the server; a refusal is an `error`.
    private static func perform(
      _ command: PipeCommand, _ account: MessagingAccount, _ output: Output
    ) async {
      do throws(MessagingError) {
        switch command {
        case .setChatState(let state, let address):
          try await account.setChatState(state, to: address)
        case .markDisplayed(let origin, let address):
          try await account.markDisplayed(originID: origin, from: address)
        case .setAvailability(let availability): try await account.setAvailability(availability)
        case .pushed(let message):
          output.object(
            MessageJSON.pushed(message, try await account.receive(message)), isOfRadio: false)
        case .leaveRoom(let room): try await account.rooms.leave(room)
        case .sendToRoom(let room, let nickname, let body, let reference):
          let id: MessageID
          if let nickname {
            id = try await account.rooms.send(body, toOccupant: nickname, of: room)
          } else {
            id = try await account.rooms.send(body, to: room)
          }
          output.object(
            MessageJSON.accepted(id, to: room, reference: reference), isOfRadio: false)
        default: break
        }
      } catch {
        report(error.description, output, reference: command.roomReference)
      }
    }

    private static func join(
      _ room: String, _ nickname: String, _ password: String?, isBookmarked: Bool,
      _ account: MessagingAccount, _ output: Output
    ) {
      Task {
        do throws(MessagingError) {
          try await account.rooms.join(
            room, nickname: nickname, password: password, isBookmarked: isBookmarked)
        } catch {
          report(error.description, output)
        }
      }
    }

    private static func setPush(
      _ service: String, _ node: String, isEnabled: Bool, _ account: MessagingAccount,
      _ output: Output
    ) {
      Task {
        do throws(MessagingError) {
          if isEnabled {
            try await account.enablePush(service: service, node: node)
          } else {
            try await account.disablePush(service: service, node: node)
          }
          output.object(MessageJSON.push(service, isEnabled: isEnabled), isOfRadio: false)
        } catch {
          report(error.description, output)
        }
      }
    }

    private static func store(
      _ messages: [(message: OutgoingMessage, reference: String?)], _ rows: [Int64],
      _ account: MessagingAccount, _ output: Output
    ) async {
      // No line reports it.
      account.acknowledgeSoon(rows: rows)
      let results = await account.send(messages.map(\.message))
      for ((message, reference), result) in zip(messages, results) {
        switch result {
        case .success(let id):
          output.object(
            MessageJSON.accepted(id, to: message.recipient, reference: reference),
            isOfRadio: false)
        case .failure(let error):
          output.object(
            .object([
              "event": .string("refused"), "reference": reference.map(JSON.string),
              "reason": .string(error.description),
            ]), isOfRadio: false)
        }
      }
    }

    private static func report(_ reason: String, _ output: Output, reference: String? = nil) {
      output.object(
        .object([
          "event": .string("error"), "reference": reference.map(JSON.string),
          "reason": .string(reason),
        ]), isOfRadio: false)
    }
  }

  /// A line of standard input of `ambit message pipe`.
  enum PipeCommand: Hashable {
    case send(to: String, body: String, reference: String?, deadline: Duration?)
    case acknowledge(row: Int64)
    case setInUse(Bool)
    case setConnected(Bool)
    case setChatState(ChatState, to: String)
    case markDisplayed(originID: String, from: String)
    case setAvailability(Availability)
    case joinRoom(String, nickname: String, password: String?, isBookmarked: Bool)
    case leaveRoom(String)
    /// To all, or to the occupant with a nickname.
    case sendToRoom(String, nickname: String?, body: String, reference: String?)
    case statistics
    case sendFile(to: String, path: String, reference: String?, deadline: Duration?)
    case cancelFile(Int64)
    case download(Attachment, reference: String?)
    /// The message of a remote notification.
    case pushed(PushedMessage)
    /// The server is to wake this device by a push service, or no more.
    case setPush(service: String, node: String, isEnabled: Bool)

    private static let keys = [
      "command", "to", "body", "reference", "deadline", "row", "state", "peer", "origin", "show",
      "status", "path", "file", "url", "name", "size", "sha256", "nickname", "password", "bookmark",
      "id", "from", "node",
    ]
    /// The longest line in bytes: a text of the longest message, with every character escaped.
    static let byteCountMax = 6 * MessagingAccount.bodyByteCountMax + 4_096

    /// The reference of a message to a room.
    var roomReference: String? {
      guard case .sendToRoom(_, _, _, let reference) = self else { return nil }
      return reference
    }

    /// The reference of a line that is no command, if it has one.
    static func reference(in line: String) -> String? {
      guard line.utf8.count <= byteCountMax,
        let value = try? JSONSerialization.jsonObject(with: Data(line.utf8))
      else { return nil }
      return (value as? [String: Any])?["reference"] as? String
    }

    init(line: String) throws(FileFault) {
      guard line.utf8.count <= Self.byteCountMax else {
        throw FileFault(
          offset: nil, path: "", reason: "the line is longer than \(Self.byteCountMax) bytes")
      }
      let object = try JSONField(parsing: Array(line.utf8)).object(keys: Self.keys)
      let command = try object.required("command", "a text")
      switch try command.string() {
      case "send":
        self = .send(
          to: try object.required("to", "an address").string(),
          body: try object.required("body", "a text").string(),
          reference: try object["reference"]?.string(),
          deadline: try object["deadline"]?.seconds(from: .zero, to: .seconds(366 * 86_400))
            .duration)
      case "ack":
        self = .acknowledge(
          row: Int64(try object.required("row", "a number").integer(1...Int(1 << 53))))
      case "background": self = .setInUse(false)
      case "foreground": self = .setInUse(true)
      case "connect": self = .setConnected(true)
      case "disconnect": self = .setConnected(false)
      case "stats": self = .statistics
      case "typing":
        let state = try object.required("state", "a text")
        guard let known = ChatState(rawValue: try state.string()) else {
          throw state.fault("the states are active, composing, paused, inactive and gone")
        }
        self = .setChatState(known, to: try object.required("to", "an address").string())
      case "displayed":
        self = .markDisplayed(
          originID: try object.required("origin", "a text").string(),
          from: try object.required("peer", "an address").string())
      case "presence":
        let show = try object["show"]?.string() ?? "available"
        guard let known = Availability.Show(rawValue: show) else {
          throw command.fault("\"show\" is one of available, chat, away, xa and dnd")
        }
        self = .setAvailability(
          Availability(known, status: try object["status"]?.string() ?? ""))
      case "push-enable", "push-disable":
        self = .setPush(
          service: try object.required("to", "an address").string(),
          node: try object.required("node", "a text").string(),
          isEnabled: try command.string() == "push-enable")
      case "pushed":
        self = .pushed(
          PushedMessage(
            id: try object.required("id", "a text").string(),
            from: try object.required("from", "an address").string(),
            to: try object.required("to", "an address").string(),
            body: try object["body"]?.string()))
      case let name where name.hasPrefix("room-"):
        self = try Self.ofRoom(name, object, command)
      case let name: self = try Self.fileCommand(name, command, object)
      }
    }
  }

  extension PipeCommand {
    static func unknown(_ name: String, _ command: JSONField) -> FileFault {
      command.fault(
        "unknown command \"\(name.prefix(64))\"; the commands are send, ack, background, "
          + "foreground, connect, disconnect, stats, typing, displayed, presence, room-join, room-leave, room-send, "
          + "send-file, cancel-file, download, pushed, push-enable, push-disable")
    }

    private static func ofRoom(
      _ name: String, _ object: JSONObject, _ command: JSONField
    ) throws(FileFault) -> PipeCommand {
      let room = try object.required("to", "an address").string()
      switch name {
      case "room-join":
        return .joinRoom(
          room, nickname: try object.required("nickname", "a text").string(),
          password: try object["password"]?.string(),
          isBookmarked: try object["bookmark"]?.bool() ?? true)
      case "room-leave": return .leaveRoom(room)
      case "room-send":
        return .sendToRoom(
          room, nickname: try object["nickname"]?.string(),
          body: try object.required("body", "a text").string(),
          reference: try object["reference"]?.string())
      default: throw unknown(name, command)
      }
    }
  }

  extension TimeSpan {
    var duration: Duration { .nanoseconds(nanoseconds) }
  }

  /// Standard input as one text.
  enum StandardInput {
    static func text(
      of input: FileHandle = .standardInput, byteCountMax: Int
    ) throws(CommandFailure) -> String {
      var bytes: [UInt8] = []
      while true {
        let data: Data?
        do { data = try input.read(upToCount: 65_536) } catch {
          // A part of the text is not sent.
          throw CommandFailure(
            .noInput, "standard input can't be read: \(error.localizedDescription)")
        }
        guard let data, !data.isEmpty else { break }
        bytes += data
        guard bytes.count <= byteCountMax else {
          throw CommandFailure(.badData, "a message has at most \(byteCountMax) bytes")
        }
      }
      // Linux cuts the lines of a terminal.
      if isatty(STDIN_FILENO) == 1,
        bytes.split(separator: UInt8(ascii: "\n")).contains(where: { $0.count >= 4_095 })
      {
        throw CommandFailure(
          .badData,
          "a terminal cuts lines of 4,095 bytes or more; send longer ones from a file or a pipe")
      }
      if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw CommandFailure(.badData, "the text is not UTF-8")
      }
      return text
    }
  }
#endif
