#if Messaging
  import AmbitCLI
  import ArgumentParser
  import Essentials
  import JSONWire
  import Messaging

  /// Accepts a weaker mechanism for the authentication of an account.
  struct AccountAcceptMechanism: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "accept-mechanism",
      abstract: "Accept a weaker authentication than an account's server had before.",
      discussion: """
        An account is never authenticated by a weaker mechanism than the strongest that has \
        succeeded, because an attacker could have removed the stronger ones from the server's \
        offer. Use this command only after the server's operator has removed them. The account \
        must not be in use.

        EXAMPLES:
          ambit account accept-mechanism ann@chat.example SCRAM-SHA-256
        """)

    @OptionGroup var run: RunOptions

    @Argument(help: "The account's address.")
    var address: Recipient

    @Argument(
      help: ArgumentHelp(
        "The weakest mechanism that is accepted from now on.", valueName: "mechanism"))
    var named: MechanismArgument

    func run() async throws {
      let mechanism = named.mechanism
      let file = try AccountFile()
      let account = try file.account(address.address)
      let before: AuthenticationMechanism?
      do throws(MessagingError) {
        before = try MessagingAccount.accept(
          mechanism, storePath: file.storePath(of: account.address))
      } catch {
        throw CommandFailure(error)
      }
      guard let before else {
        throw CommandFailure(
          .failure, "\(account.address) accepts \(mechanism.rawValue) already; nothing has changed")
      }
      let output = Output(isJSON: run.json)
      output.object(
        .object([
          "event": .string("mechanism"), "account": .string(account.address),
          "mechanism": .string(mechanism.rawValue), "before": .string(before.rawValue),
        ]),
        or: "\(account.address) accepts \(mechanism.rawValue) from now on; "
          + "before, it demanded \(before.rawValue).")
    }
  }

  /// A mechanism on the command line.
  struct MechanismArgument: ExpressibleByArgument {
    var mechanism: AuthenticationMechanism

    static let allValueStrings = AuthenticationMechanism.allCases.map(\.rawValue)

    init?(argument: String) {
      guard let mechanism = AuthenticationMechanism(rawValue: argument.uppercased()) else {
        return nil
      }
      self.mechanism = mechanism
    }
  }

  /// What became of an account's token when the account was removed, or its password changed.
  struct TokenReport {
    /// Nil if there was no token.
    var json: JSON?
    /// Why the server still accepts it.
    var reason: String?

    /// Withdraws the token of an account, and warns if the server still accepts it.
    static func withdraw(
      _ account: StoredAccount, _ file: AccountFile, _ output: Output
    ) async -> TokenReport {
      let reason: String
      do throws(MessagingError) {
        switch try await MessagingAccount.withdrawToken(file.configuration(of: account)) {
        case .notNeeded: return TokenReport()
        case .withdrawn: return TokenReport(json: .string("withdrawn"))
        case .failed(let failure): reason = failure
        }
      } catch {
        reason = error.description
      }
      output.warn(
        "a token by which \(account.address) is authenticated was not withdrawn at the server, "
          + "which accepts it until it expires: \(reason)")
      return TokenReport(json: .string("not-withdrawn"), reason: reason)
    }
  }
#endif
