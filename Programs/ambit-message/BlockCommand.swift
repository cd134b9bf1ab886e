#if Messaging
  import AmbitCLI
  import ArgumentParser
  import JSONWire
  import Messaging

  /// Blocks an address, or prints those that are blocked.
  struct MessageBlock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "block",
      abstract: "Keep messages of an address away, or list the blocked addresses.",
      discussion: """
        The server keeps messages and presence away from all programs of the account. An address may \
        be an account, one of its resources or a domain.

        EXAMPLES:
          ambit message block
          ambit message block mallory@chat.example
          ambit message block spam.example
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The address. Default: list the blocked ones.")
    var address: String?

    func run() async throws {
      let (output, address) = (options.output, address)
      try await options.perform { account in
        if let address {
          try await account.block(address)
          return RosterText.done("blocked", address, "Blocked \(address).", output)
        }
        let addresses = try await account.blockedAddresses()
        if addresses.isEmpty, !output.isJSON { output.line("No blocked addresses.") }
        for address in addresses {
          RosterText.done("blocked", address, Fit.safe(address), output)
        }
      }
    }
  }

  /// Unblocks an address.
  struct MessageUnblock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "unblock", abstract: "Let messages of an address pass again.",
      discussion: """
        Messages that were sent while it was blocked don't come back.

        EXAMPLES:
          ambit message unblock mallory@chat.example
        """)

    @OptionGroup var options: AccountOptions

    @Argument(help: "The address, as it is blocked.")
    var address: String

    func run() async throws {
      let (output, address) = (options.output, address)
      try await options.perform { account in
        try await account.unblock(address)
        RosterText.done("unblocked", address, "Unblocked \(address).", output)
      }
    }
  }
#endif
