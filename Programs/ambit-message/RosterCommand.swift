#if Messaging
  import AmbitCLI
  import ArgumentParser
  import JSONWire
  import Messaging

  /// The contacts of an account.
  struct MessageRoster: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "roster", abstract: "Show and change the contacts of an account.",
      discussion: """
        The roster is at the server, so that all programs of the account have it.

        EXAMPLES:
          ambit message roster
          ambit message roster add bob@chat.example --name Bob --group Friends
          ambit message roster approve bob@chat.example
          ambit message roster remove bob@chat.example
        """,
      subcommands: [
        RosterList.self, RosterAdd.self, RosterRemove.self, RosterApprove.self, RosterDeny.self,
      ],
      defaultSubcommand: RosterList.self)
  }

  /// Prints the roster.
  struct RosterList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "Print the contacts, and requests of others to see this account's presence.",
      discussion: """
        EXAMPLES:
          ambit message roster
          ambit message roster --json
        """)

    @OptionGroup var options: AccountOptions

    func run() async throws {
      let output = options.output
      try await options.perform { account in
        let contacts = try await account.contacts()
        let requests = try await account.subscriptionRequests()
        if contacts.isEmpty, requests.isEmpty, !output.isJSON { output.line("No contacts.") }
        for contact in contacts {
          output.object(RosterText.object(contact), or: RosterText.line(contact))
        }
        for request in requests {
          output.object(
            .object([
              "event": .string("subscription-request"), "address": .string(request.address),
              "text": request.text.isEmpty ? nil : .string(request.text),
            ]),
            or: Fit.safe("\(request.address) requests to see this account's presence"))
        }
      }
    }
  }

  /// Adds a contact, or changes it.
  struct RosterAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Add a contact, or change its name and groups.",
      discussion: """
        The contact is requested to show its presence, unless it does already.

        EXAMPLES:
          ambit message roster add bob@chat.example --name Bob
          ambit message roster add bob@chat.example --group Friends --group Work
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The contact's address.")
    var contact: Recipient

    @Option(help: "The name under which the contact is shown.")
    var name: String?

    @Option(help: ArgumentHelp("A group of contacts; may be repeated.", valueName: "name"))
    var group: [String] = []

    @Flag(name: .customLong("no-subscription"), help: "Don't request the contact's presence.")
    var isWithoutSubscription = false

    func run() async throws {
      let output = options.output
      let (address, name, groups) = (contact.address, name, group)
      let isWithoutSubscription = isWithoutSubscription
      try await options.perform { account in
        try await account.setContact(address, name: name, groups: groups)
        let known = try await account.contacts().first { $0.address == address }
        if !isWithoutSubscription, known?.subscription != .to, known?.subscription != .both {
          try await account.requestSubscription(to: address)
        }
        RosterText.done("added", address, "Added \(address).", output)
      }
    }
  }

  /// Removes a contact.
  struct RosterRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove a contact. Neither sees the other's presence any more.",
      discussion: """
        EXAMPLES:
          ambit message roster remove bob@chat.example
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The contact's address.")
    var contact: Recipient

    func run() async throws {
      let (output, address) = (options.output, contact.address)
      try await options.perform { account in
        try await account.removeContact(address)
        RosterText.done("removed", address, "Removed \(address).", output)
      }
    }
  }

  /// Approves a subscription.
  struct RosterApprove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "approve", abstract: "Let an account see this account's presence.",
      discussion: """
        EXAMPLES:
          ambit message roster approve bob@chat.example
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The other account's address.")
    var contact: Recipient

    func run() async throws {
      let (output, address) = (options.output, contact.address)
      try await options.perform { account in
        try await account.approveSubscription(of: address)
        RosterText.done("approved", address, "Approved \(address).", output)
      }
    }
  }

  /// Denies a subscription.
  struct RosterDeny: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "deny",
      abstract: "Refuse an account's request, or let it see this account's presence no more.",
      discussion: """
        EXAMPLES:
          ambit message roster deny bob@chat.example
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The other account's address.")
    var contact: Recipient

    func run() async throws {
      let (output, address) = (options.output, contact.address)
      try await options.perform { account in
        try await account.denySubscription(of: address)
        RosterText.done("denied", address, "Denied \(address).", output)
      }
    }
  }

  extension AccountOptions {
    /// Connects, waits for the roster, performs, and ends the connection. A request that the server refuses is a failure
    /// of the command.
    func perform(
      _ body: @escaping @Sendable (MessagingAccount) async throws -> Void
    ) async throws {
      let account = try open()
      let output = output
      let states = account.rosterStates()
      let connections = account.connectionStates()
      account.start()
      let isDone = try await run.limited {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            for await state in states {
              if case .unavailable(let reason) = state {
                output.warn("the server has not given the roster: \(reason)")
              }
              break
            }
            do {
              try await body(account)
            } catch let error as MessagingError {
              throw CommandFailure(error)
            }
          }
          group.addTask { try await AccountWatch.failIfFinal(connections, output) }
          defer { group.cancelAll() }
          try await group.next()
        }
      }
      try await account.finish()
      guard isDone else { throw CommandFailure(.timedOut, "the server has not answered") }
    }
  }

  /// Contacts as objects and lines.
  enum RosterText {
    static func object(_ contact: Contact) -> JSON {
      .object([
        "event": .string("contact"), "address": .string(contact.address),
        "name": contact.name.map(JSON.string),
        "groups": contact.groups.isEmpty ? nil : .array(contact.groups.map(JSON.string)),
        "subscription": .string(contact.subscription.rawValue),
        "requested": contact.isRequested ? .bool(true) : nil,
        "approved": contact.isApproved ? .bool(true) : nil,
      ])
    }

    static func line(_ contact: Contact) -> String {
      let name = contact.name.map { " \"\($0)\"" } ?? ""
      let groups = contact.groups.isEmpty ? "" : " [\(contact.groups.joined(separator: ", "))]"
      let presence =
        switch contact.subscription {
        case .none: contact.isRequested ? "requested" : "no presence"
        case .to: "shows its presence"
        case .from: contact.isRequested ? "sees this account, requested" : "sees this account"
        case .both: "both see each other"
        }
      return Fit.safe("\(contact.address)\(name)\(groups): \(presence)")
    }

    static func done(_ event: String, _ address: String, _ line: String, _ output: Output) {
      output.object(
        .object(["event": .string(event), "address": .string(address)]), or: line)
    }
  }
#endif
