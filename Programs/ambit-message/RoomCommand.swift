#if Messaging
  import AmbitCLI
  import ArgumentParser
  import Foundation
  import JSONWire
  import Messaging

  /// Rooms of an account.
  struct MessageRoom: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "room", abstract: "Join rooms, and send messages to all their occupants.",
      discussion: """
        A room that was joined is joined by each later command of the account, until "leave". Messages \
        of rooms are in the inbox: "ambit message read" and "follow" print them with the sender's \
        nickname, in the room's order.

        EXAMPLES:
          ambit message room join lab@rooms.example --nickname Ann
          ambit message room send lab@rooms.example "Good morning"
          ambit message room
          ambit message room occupants lab@rooms.example
          ambit message room leave lab@rooms.example
        """,
      subcommands: [
        RoomList.self, RoomJoin.self, RoomLeave.self, RoomSend.self, RoomOccupants.self,
        RoomInvite.self, RoomSubject.self,
      ],
      defaultSubcommand: RoomList.self)
  }

  /// Prints the rooms.
  struct RoomList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Print the rooms of the account.",
      discussion: """
        EXAMPLES:
          ambit message room
          ambit message room list --json
        """)

    @OptionGroup var options: AccountOptions

    func run() async throws {
      let account = try options.open()
      do throws(MessagingError) {
        let rooms = try await account.rooms.list()
        if rooms.isEmpty, !options.output.isJSON { options.output.line("No rooms.") }
        for room in rooms {
          options.output.object(RoomOutput.object(room), or: RoomOutput.line(room))
        }
      } catch {
        throw CommandFailure(error)
      }
      try await account.finish()
    }
  }

  /// Joins a room.
  struct RoomJoin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "join", abstract: "Join a room, and create it if its service allows that.",
      discussion: """
        Other devices of the account join the room, too, unless --no-bookmark is given.

        EXAMPLES:
          ambit message room join lab@rooms.example --nickname Ann
          ambit message room join lab@rooms.example --nickname Ann --password-fd 3 3< password
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The room's address.")
    var room: Recipient

    @Option(help: "The name in the room. Default: the account's name.")
    var nickname: String?

    @Option(
      name: .customLong("password-fd"),
      help: ArgumentHelp("The file descriptor with the room's password.", valueName: "number"))
    var passwordDescriptor: Int32?

    @Flag(name: .customLong("no-bookmark"), help: "Other devices don't join the room.")
    var isWithoutBookmark = false

    func run() async throws {
      let (output, address, nickname) = (options.output, room.address, nickname)
      let password = try passwordDescriptor.map { try PasswordInput.read(from: $0, for: address) }
      let isBookmarked = !isWithoutBookmark
      try await options.perform { account in
        let name = nickname ?? String(account.address.prefix { $0 != "@" })
        try await account.rooms.join(
          address, nickname: name, password: password, isBookmarked: isBookmarked)
        for room in try await account.rooms.list() where room.address == address {
          output.object(
            RoomOutput.object(room), or: Fit.safe("Joined \(address) as \(room.nickname)."))
        }
      }
    }
  }

  /// Leaves a room.
  struct RoomLeave: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "leave", abstract: "Leave a room, on all devices of the account.",
      discussion: """
        EXAMPLES:
          ambit message room leave lab@rooms.example
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The room's address.")
    var room: Recipient

    func run() async throws {
      let (output, address) = (options.output, room.address)
      try await options.perform { account in
        try await account.rooms.leave(address)
        RosterText.done("left", address, "Left \(address).", output)
      }
    }
  }

  /// Sends a message to a room.
  struct RoomSend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "send", abstract: "Send a message to all occupants of a room.",
      discussion: """
        The command ends when the room has sent the message to all. Where --timeout ends it before, \
        with status 75, the message stays and is sent later.

        EXAMPLES:
          ambit message room send lab@rooms.example "Good morning"
          ambit message room send lab@rooms.example < letter.txt
          ambit message room send lab@rooms.example --file plan.pdf
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The room's address.")
    var room: Recipient

    @Argument(help: "The text. Default: standard input.")
    var text: String?

    @Option(help: ArgumentHelp("A file to send in place of a text.", valueName: "path"))
    var file: String?

    func validate() throws {
      if file != nil, text != nil { throw ValidationError("A message is a text or a file.") }
    }

    func run() async throws {
      if let file { return try await send(file) }
      let body = try text ?? StandardInput.text(byteCountMax: MessagingAccount.bodyByteCountMax)
      guard !body.isEmpty else { throw CommandFailure(.badData, "the message has no text") }
      let account = try options.open()
      let (output, address) = (options.output, room.address)
      let changes = account.stateChanges()
      let connections = account.connectionStates()
      let rooms = account.rooms.updates()
      let id: MessageID
      do throws(MessagingError) {
        id = try await account.rooms.send(body, to: address)
      } catch {
        throw CommandFailure(error)
      }
      output.object(MessageJSON.accepted(id, to: address, reference: nil), or: "Stored.")
      account.start()
      let isDone = try await limited(account, connections, rooms) {
        try await Self.wait(for: id, changes, output)
      }
      guard isDone else {
        throw CommandFailure(
          .timedOut, "the message is stored, and will be sent by the next command of the account")
      }
    }

    /// Uploads a file, and waits until the room has sent it to all.
    private func send(_ path: String) async throws {
      let account = try options.open()
      let (output, address) = (options.output, room.address)
      let changes = account.stateChanges()
      let transfers = account.fileTransferChanges()
      let connections = account.connectionStates()
      let rooms = account.rooms.updates()
      let id: FileTransferID
      do throws(MessagingError) {
        id = try await account.rooms.send(file: path, to: address)
      } catch {
        throw CommandFailure(error)
      }
      output.object(
        FileJSON.accepted(id, path: path, to: address, reference: nil), or: "Stored: \(path)")
      account.start()
      let isDone = try await limited(account, connections, rooms) {
        let message = try await MessageSend.wait(for: id, transfers, output)
        try await Self.wait(for: message, changes, output)
      }
      guard isDone else {
        throw CommandFailure(
          .timedOut,
          "the file will be sent by the next command of the account that runs long enough")
      }
    }

    /// Does something within the command's time, unless the connection or the stay in the room ends for good; then ends the
    /// account.
    private func limited(
      _ account: MessagingAccount, _ connections: Updates<ConnectionState>, _ rooms: Updates<Room>,
      _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> Bool {
      let (output, address) = (options.output, room.address)
      let isDone = try await options.run.limited {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await body() }
          group.addTask { try await AccountWatch.failIfFinal(connections, output) }
          group.addTask {
            for await room in rooms where room.address == address {
              if case .ended(let end) = room.state { throw CommandFailure(.failure, "\(end)") }
            }
          }
          defer { group.cancelAll() }
          try await group.next()
        }
      }
      try await account.finish()
      return isDone
    }

    private static func wait(
      for id: MessageID, _ changes: Updates<MessageStateChange>, _ output: Output
    ) async throws {
      for await change in changes where change.id == id {
        output.object(MessageJSON.change(change), or: MessageText.text(change.state))
        switch change.state {
        case .failed(let failure):
          throw CommandFailure(.failure, "the message failed: \(MessageText.text(failure))")
        case .received: return
        default: continue
        }
      }
    }
  }

  /// Prints the occupants of a room.
  struct RoomOccupants: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "occupants", abstract: "Print the occupants of a room.",
      discussion: """
        EXAMPLES:
          ambit message room occupants lab@rooms.example
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The room's address.")
    var room: Recipient

    func run() async throws {
      let (output, address) = (options.output, room.address)
      try await options.perform { account in
        try await RoomOutput.waitUntilJoined(address, account)
        for occupant in try await account.rooms.occupants(of: address) {
          output.object(
            RoomOutput.object(address, occupant.nickname, occupant),
            or: RoomOutput.line(occupant))
        }
      }
    }
  }

  /// Invites an account.
  struct RoomInvite: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "invite", abstract: "Invite an account to a room.",
      discussion: """
        EXAMPLES:
          ambit message room invite lab@rooms.example bob@chat.example --reason "Have a look"
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The room's address.")
    var room: Recipient

    @Argument(help: "The account that is invited.")
    var guest: Recipient

    @Option(help: "Words for the account that is invited.")
    var reason: String?

    func run() async throws {
      let (output, address) = (options.output, room.address)
      let (guest, reason) = (guest.address, reason)
      try await options.perform { account in
        try await RoomOutput.waitUntilJoined(address, account)
        try await account.rooms.invite(guest, to: address, reason: reason)
        RosterText.done("invited", guest, "Invited \(guest).", output)
      }
    }
  }

  /// Changes the subject of a room.
  struct RoomSubject: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "subject", abstract: "Change the subject of a room.",
      discussion: """
        EXAMPLES:
          ambit message room subject lab@rooms.example "Measurements of today"
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The room's address.")
    var room: Recipient

    @Argument(help: "The new subject.")
    var subject: String

    func run() async throws {
      let (output, address, subject) = (options.output, room.address, subject)
      try await options.perform { account in
        let changes = account.rooms.updates()
        try await RoomOutput.waitUntilJoined(address, account)
        try await account.rooms.setSubject(subject, of: address)
        for await room in changes where room.address == address && room.subject == subject {
          output.object(RoomOutput.object(room), or: "Changed.")
          return
        }
      }
    }
  }

  /// Rooms as objects and lines.
  enum RoomOutput {
    /// Returns when the account is in a room; throws when it can't be.
    static func waitUntilJoined(
      _ address: String, _ account: MessagingAccount
    ) async throws(MessagingError) {
      let changes = account.rooms.updates()
      guard let room = try await account.rooms.list().first(where: { $0.address == address }) else {
        throw .notInRoom
      }
      if try isJoined(room) { return }
      for await room in changes where room.address == address {
        if try isJoined(room) { return }
      }
    }

    private static func isJoined(_ room: Room) throws(MessagingError) -> Bool {
      switch room.state {
      case .joined: return true
      case .joining, .waiting: return false
      case .ended(let end): throw .room(end)
      }
    }

    static func object(_ room: Room) -> JSON {
      let (state, reason) = words(room.state)
      return .object([
        "event": .string("room"), "room": .string(room.address), "state": .string(state),
        "reason": reason.map(JSON.string), "nickname": .string(room.nickname),
        "subject": room.subject.isEmpty ? nil : .string(room.subject),
        "occupants": .integer(Int64(room.occupantCount)), "archive": .bool(room.hasArchive),
      ])
    }

    private static func words(_ state: Room.State) -> (state: String, reason: String?) {
      switch state {
      case .joining: ("joining", nil)
      case .joined: ("joined", nil)
      case .waiting(let end): ("waiting", end.description)
      case .ended(let end): ("ended", end.description)
      }
    }

    /// An occupant of a room; nil if it has left.
    static func object(_ room: String, _ nickname: String, _ occupant: Occupant?) -> JSON {
      .object([
        "event": .string(occupant == nil ? "occupant-left" : "occupant"),
        "room": .string(room), "nickname": .string(nickname),
        "role": occupant.map { .string($0.role.rawValue) },
        "affiliation": occupant.map { .string($0.affiliation.rawValue) },
        "account": occupant?.account.map(JSON.string),
      ])
    }

    static func line(_ room: Room) -> String {
      let (state, reason) = words(room.state)
      let words = reason.map { " (\($0))" } ?? ""
      return Fit.safe("\(room.address) as \(room.nickname): \(state)\(words)")
    }

    static func line(_ occupant: Occupant) -> String {
      let account = occupant.account.map { " <\($0)>" } ?? ""
      return Fit.safe(
        "\(occupant.nickname)\(account): \(occupant.role.rawValue), \(occupant.affiliation.rawValue)"
      )
    }
  }
#endif
