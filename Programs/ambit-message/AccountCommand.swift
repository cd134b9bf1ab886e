#if Messaging
  import AmbitCLI
  import ArgumentParser
  import Essentials
  import Foundation
  import JSONWire
  import Messaging

  /// The accounts of this user.
  struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "account", abstract: "Add, list and remove accounts for messages.",
      discussion: """
        Accounts are in a file that only you may read: AMBIT_ACCOUNTS, else ambit/accounts in \
        XDG_STATE_HOME or ~/.local/state. Their messages are in the folder "messages" beside it.

        EXAMPLES:
          ambit account add ann@chat.example
          ambit account list
          ambit account remove ann@chat.example
        """,
      subcommands: [
        AccountAdd.self, AccountList.self, AccountRemove.self, AccountAcceptMechanism.self,
      ],
      defaultSubcommand: AccountList.self)
  }

  /// Adds an account, or changes its settings.
  struct AccountAdd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Add an account that exists at a server, or change its settings.",
      discussion: """
        The password is read from the terminal, which does not show it, or from a file descriptor. \
        It is never an argument, because other users see the arguments of commands. The account \
        isn't used until a command needs it. One that is there gets all settings of this command: those that \
        are left out, such as --pin, have their defaults then.

        EXAMPLES:
          ambit account add ann@chat.example
          ambit account add ann@chat.example --password-fd 3 3< password
          ambit account add ann@chat.example --server 192.0.2.7:5223 --direct-tls
        """)

    @OptionGroup var run: RunOptions

    @Argument(help: "The account's address, such as ann@chat.example.")
    var address: Recipient

    @Option(
      name: .customLong("password-fd"),
      help: ArgumentHelp("The file descriptor with the password.", valueName: "number"))
    var passwordDescriptor: Int32?

    @Option(
      help: ArgumentHelp(
        "The server, instead of those that the domain names (SRV records).", valueName: "host:port")
    )
    var server: ServerArgument?

    @Flag(name: .customLong("direct-tls"), help: "TLS begins with the first byte at --server.")
    var isDirectTLS = false

    @Option(
      help: ArgumentHelp(
        "A PEM file of authorities that are trusted besides the system's.", valueName: "path"),
      completion: .file())
    var authority: String?

    @Option(
      help: ArgumentHelp(
        "The SHA-256 digest of the server's public key, in hexadecimal: no other is accepted.",
        valueName: "digest"))
    var pin: String?

    @Flag(
      name: .customLong("private-files"),
      help: "Files of messages may be at addresses of this machine and of private networks.")
    var allowsPrivateFiles = false

    @Option(
      help: ArgumentHelp(
        "How soon a dead connection is noticed: standard (80 seconds), or quick (2 seconds).",
        valueName: "kind"))
    var liveness = LivenessKind.standard

    func validate() throws {
      if isDirectTLS, server == nil { throw ValidationError("--direct-tls needs --server.") }
      if let pin, Hexadecimal.bytes(pin)?.count != 32 {
        throw ValidationError("A digest has 64 hexadecimal digits.")
      }
    }

    func run() async throws {
      let file = try AccountFile()
      if let authority, !FileManager.default.isReadableFile(atPath: authority) {
        throw CommandFailure(.noInput, "\(authority) can't be read")
      }
      var account = StoredAccount(
        address: address.address,
        password: try PasswordInput.read(from: passwordDescriptor, for: address.address),
        server: server.map { .init(host: $0.host, port: $0.port, isDirectTLS: isDirectTLS) },
        authorityFile: authority.map { URL(filePath: $0).standardizedFileURL.path },
        pin: pin?.lowercased())
      account.allowsPrivateFiles = allowsPrivateFiles
      account.isQuick = liveness == .quick
      let added = account
      let output = Output(isJSON: run.json)
      var isNew = true
      var token: TokenReport?
      if let before = try file.read().first(where: { $0.address == added.address }),
        before.password != added.password
      {
        token = await TokenReport.withdraw(before, file, output)
      }
      _ = try file.change { accounts in
        if let index = accounts.firstIndex(where: { $0.address == added.address }) {
          isNew = false
          accounts[index] = added
        } else {
          accounts.append(added)
        }
        return true
      }
      if output.isJSON {
        output.object(
          .object([
            "event": .string(isNew ? "added" : "changed"), "account": .string(account.address),
            "token": token?.json, "reason": token?.reason.map(JSON.string),
          ]), isOfRadio: false)
      } else {
        output.line("\(isNew ? "Added" : "Changed") \(account.address).")
      }
    }
  }

  /// The settings of liveness that a word names.
  enum LivenessKind: String, CaseIterable, ExpressibleByArgument {
    case standard, quick
  }

  /// `host:port`, with an address of IPv6 in brackets.
  struct ServerArgument: ExpressibleByArgument {
    var host: String
    var port: UInt16

    init?(argument: String) {
      guard let colon = argument.lastIndex(of: ":"),
        let port = UInt16(argument[argument.index(after: colon)...]), port > 0
      else { return nil }
      var host = String(argument[..<colon])
      if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
      guard !host.isEmpty else { return nil }
      (self.host, self.port) = (host, port)
    }
  }

  /// Lists accounts.
  struct AccountList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List accounts, without passwords.",
      discussion: """
        EXAMPLES:
          ambit account list
          ambit account list --json
        """)

    @OptionGroup var run: RunOptions

    func run() async throws {
      let output = Output(isJSON: run.json)
      let accounts = try AccountFile().read()
      if !output.isJSON, accounts.isEmpty { return output.line("No accounts.") }
      for account in accounts {
        guard output.isJSON else {
          let settings = [
            account.server.map { "at \($0.host):\($0.port)" },
            account.authorityFile.map { "authority \($0)" },
            account.pin.map { _ in "pinned key" },
            account.allowsPrivateFiles ? "private files" : nil,
            account.isQuick ? "liveness quick" : nil,
          ]
          output.line(
            Fit.safe(([account.address] + settings.compactMap(\.self)).joined(separator: "  ")))
          continue
        }
        output.object(
          .object([
            "event": .string("account"), "account": .string(account.address),
            "server": account.server.map { .string("\($0.host):\($0.port)") },
            "authority": account.authorityFile.map(JSON.string),
            "pin": account.pin.map(JSON.string),
            "privateFiles": .bool(account.allowsPrivateFiles),
            "liveness": .string((account.isQuick ? LivenessKind.quick : .standard).rawValue),
          ]), isOfRadio: false)
      }
    }
  }

  /// Removes an account.
  struct AccountRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "Remove an account here. Its messages stay on the disk.",
      discussion: """
        The account at the server stays, and so do the messages in the folder "messages". If the \
        server has issued a token in place of the password, it is withdrawn there; this command \
        waits up to ten seconds for the server.

        EXAMPLES:
          ambit account remove ann@chat.example
        """)

    @OptionGroup var run: RunOptions

    @Argument(help: "The account's address.")
    var address: Recipient

    func run() async throws {
      let file = try AccountFile()
      let output = Output(isJSON: run.json)
      var token: TokenReport?
      if let account = try file.read().first(where: { $0.address == address.address }) {
        token = await TokenReport.withdraw(account, file, output)
      }
      let isRemoved = try file.change { accounts in
        let count = accounts.count
        accounts.removeAll { $0.address == address.address }
        return accounts.count < count
      }
      guard isRemoved else {
        throw CommandFailure(.notFound, "there is no account \(address.address)")
      }
      if output.isJSON {
        output.object(
          .object([
            "event": .string("removed"), "account": .string(address.address),
            "token": token?.json, "reason": token?.reason.map(JSON.string),
          ]), isOfRadio: false)
      } else {
        output.line("Removed \(address.address).")
      }
    }
  }
#endif
