#if Messaging
  import AmbitCLI
  import Essentials
  import Foundation
  import JSONWire
  import Messaging
  import StateFiles

  /// An account as the file of accounts keeps it.
  struct StoredAccount: Hashable, Sendable {
    /// The bare address.
    var address: String
    var password: String
    /// A server to be used instead of those that the domain names.
    var server: MessagingAccount.Server?
    /// A file of authorities that are trusted besides the system's.
    var authorityFile: String?
    /// The SHA-256 digest of the server's public key, in hexadecimal.
    var pin: String?
    /// Whether files may be at addresses that aren't public.
    var allowsPrivateFiles = false
    /// Whether a dead connection is noticed within seconds.
    var isQuick = false

    private static let keys = [
      "address", "password", "host", "port", "tls", "authority", "pin", "files", "liveness",
    ]

    init(
      address: String, password: String, server: MessagingAccount.Server? = nil,
      authorityFile: String? = nil, pin: String? = nil
    ) {
      self.address = address
      self.password = password
      self.server = server
      self.authorityFile = authorityFile
      self.pin = pin
    }

    /// Reads a line of the file.
    init(line: ArraySlice<UInt8>) throws(StateFileDecodingError) {
      do throws(FileFault) {
        let object = try JSONField(parsing: Array(line)).object(keys: Self.keys)
        address = try object.required("address", "an address").string()
        password = try object.required("password", "a text").string()
        authorityFile = try object["authority"]?.string()
        pin = try object["pin"]?.string()
        allowsPrivateFiles = try object["files"]?.string() == "private"
        isQuick = try object["liveness"]?.string() == "quick"
        guard let host = try object["host"]?.string() else { return }
        let port = try object.required("port", "a number").integer(1...65_535)
        let isDirect = try object["tls"]?.string() == "direct"
        server = .init(host: host, port: UInt16(clamping: port), isDirectTLS: isDirect)
      } catch {
        throw .damaged("an account can't be read: \(error.reason)")
      }
    }

    /// The line of the file, with its end.
    var line: [UInt8] {
      let object = JSON.object([
        "address": .string(address), "password": .string(password),
        "host": server.map { .string($0.host) }, "port": server.map { .integer(Int64($0.port)) },
        "tls": server.map { .string($0.isDirectTLS ? "direct" : "starttls") },
        "authority": authorityFile.map(JSON.string), "pin": pin.map(JSON.string),
        "files": allowsPrivateFiles ? .string("private") : nil,
        "liveness": isQuick ? .string("quick") : nil,
      ])
      return Array((object.line + "\n").utf8)
    }
  }

  /// The file of this user's accounts, which only this user may read: passwords are in it.
  struct AccountFile: Sendable {
    private static let format = ChecksummedText(
      name: "ambit accounts", version: 1, byteCountMax: 1 << 20)
    private let file: StateFile

    /// The folder of the file, for the stores of messages.
    let folder: String

    /// The file of AMBIT_ACCOUNTS, else `ambit/accounts` in the folder of this user's state.
    init() throws(CommandFailure) {
      let environment = ProcessInfo.processInfo.environment
      let named = environment["AMBIT_ACCOUNTS"] ?? ""
      guard
        let path = named.isEmpty ? StateFile.path(of: "accounts", { environment[$0] }) : named
      else {
        throw CommandFailure(
          .noInput, "there is no folder for accounts: neither XDG_STATE_HOME nor HOME is set")
      }
      file = StateFile(path: path, byteCountMax: Self.format.byteCountMax) { bytes in
        for index in bytes.indices { bytes[index] = 0 }
      }
      folder = StateFolder.parent(of: file.path)
    }

    /// All accounts, in the order in which they were added.
    func read() throws(CommandFailure) -> [StoredAccount] {
      do throws(StateFileError) { return try file.read(Self.decode) ?? [] } catch {
        throw Self.failure(error)
      }
    }

    /// Changes the accounts.
    ///
    /// - Parameter body: Returns false to leave the file as it is.
    /// - Returns: Whether they were changed.
    func change(_ body: (inout [StoredAccount]) -> Bool) throws(CommandFailure) -> Bool {
      do throws(StateFileError) {
        return try file.change(replacingDamaged: false, Self.decode) { accounts in
          var accounts = accounts ?? []
          return body(&accounts) ? Self.format.file(of: accounts.flatMap(\.line)) : nil
        }.isChanged
      } catch {
        throw Self.failure(error)
      }
    }

    /// The account with this address, or the only one.
    func account(_ address: String?) throws(CommandFailure) -> StoredAccount {
      let accounts = try read()
      if let address {
        let normalized = MessagingAccount.normalizedAddress(address)
        guard let found = accounts.first(where: { $0.address == normalized }) else {
          throw CommandFailure(
            .notFound, "there is no account \(address); \"ambit account list\" shows the accounts")
        }
        return found
      }
      guard let first = accounts.first else {
        throw CommandFailure(
          .notFound, "there is no account yet; \"ambit account add ADDRESS\" adds one")
      }
      guard accounts.count == 1 else {
        throw CommandFailure(
          .notFound, "there is more than one account; choose one of them with --account")
      }
      return first
    }

    /// The path of an account's store of messages.
    func storePath(of address: String) -> String {
      // A slash, a dot at the beginning or a zero byte would be another path.
      let name = address.utf8.map { byte -> String in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: String(UnicodeScalar(byte))
        case UInt8(ascii: "@"), UInt8(ascii: "-"), UInt8(ascii: "_"): String(UnicodeScalar(byte))
        default: "%" + Hexadecimal.string([byte])
        }
      }
      return "\(folder)/messages/\(name.joined())/messages.sqlite"
    }

    private static func decode(_ bytes: [UInt8]) throws(StateFileDecodingError) -> [StoredAccount] {
      var accounts: [StoredAccount] = []
      for line in try format.lines(of: bytes) { accounts.append(try StoredAccount(line: line)) }
      return accounts
    }

    private static func failure(_ error: StateFileError) -> CommandFailure {
      let status: ExitStatus =
        switch error.kind {
        case .unwritable, .busy: .cannotCreate
        case .unreadable: .noInput
        default: .badData
        }
      return CommandFailure(status, "the accounts can't be used: \(error.reason)")
    }
  }
#endif
