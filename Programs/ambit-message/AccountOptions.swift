#if Messaging
  import AmbitCLI
  import ArgumentParser
  import Essentials
  import Foundation
  import Messaging

  /// What every command takes that uses an account.
  struct AccountOptions: ParsableArguments {
    @Option(
      help: ArgumentHelp("The account. Default: the only one.", valueName: "address"))
    var account: String?

    @OptionGroup var run: RunOptions

    var output: Output { Output(isJSON: run.json) }

    /// Opens the account, which then connects and stays connected until the command ends.
    ///
    /// - Parameter receipts: The accounts that get receipts.
    func open(receipts: ReceiptPolicy = .everyone) throws -> MessagingAccount {
      let file = try AccountFile()
      return try file.open(try file.account(account), receipts: receipts)
    }
  }

  extension AccountFile {
    /// Opens the store of an account, and connects.
    func open(
      _ account: StoredAccount, receipts: ReceiptPolicy
    ) throws(CommandFailure) -> MessagingAccount {
      do throws(MessagingError) {
        return try MessagingAccount(configuration(of: account, receipts: receipts))
      } catch {
        throw CommandFailure(error)
      }
    }

    /// The settings with which an account is opened.
    func configuration(
      of account: StoredAccount, receipts: ReceiptPolicy = .everyone
    ) -> MessagingAccount.Configuration {
      var configuration = MessagingAccount.Configuration(
        address: account.address, password: account.password,
        storePath: storePath(of: account.address))
      configuration.server = account.server
      configuration.authorityFile = account.authorityFile
      configuration.receipts = receipts
      configuration.allowsPrivateFileServers = account.allowsPrivateFiles
      if account.isQuick { configuration.liveness = .quick }
      configuration.pin = account.pin.flatMap { Hexadecimal.bytes($0) }
      return configuration
    }
  }

  extension CommandFailure {
    init(_ error: MessagingError) {
      let status: ExitStatus =
        switch error {
        case .invalidAddress: .usage
        case .tooLarge, .invalidText: .badData
        case .file: .noInput
        case .storeInUse, .store, .outboxFull: .cannotCreate
        case .offline, .noAnswer: .timedOut
        case .refused, .unsupported, .tooManyRequests, .ended, .room, .notInRoom: .failure
        }
      self.init(status, error.description)
    }

    /// A connection that is not established again.
    static func offline(_ reason: String) -> CommandFailure {
      CommandFailure(.notPermitted, reason)
    }
  }

  /// A recipient on the command line.
  struct Recipient: ExpressibleByArgument {
    var address: String

    init?(argument: String) {
      guard let address = MessagingAccount.normalizedAddress(argument) else { return nil }
      self.address = address
    }
  }
#endif
