#if Messaging
  import Foundation
  import Messaging
  import Testing

  @Suite("What an account's store has of its authentication")
  struct AuthenticationTests {
    private let folder = FileManager.default.temporaryDirectory.appending(
      path: "authentication-\(UUID().uuidString)")

    private var configuration: MessagingAccount.Configuration {
      var configuration = MessagingAccount.Configuration(
        address: "ann@chat.example", password: "secret", storePath: folder.path + "/messages")
      configuration.server = .init(host: "127.0.0.1", port: 1)
      return configuration
    }

    @Test
    func `A store that does not exist has no token and demands no mechanism, and is not created`()
      async throws
    {
      #expect(try await MessagingAccount.withdrawToken(configuration) == .notNeeded)
      #expect(
        try MessagingAccount.accept(.scramSHA1, storePath: configuration.storePath) == nil)
      #expect(!FileManager.default.fileExists(atPath: folder.path))
      await #expect(throws: MessagingError.invalidAddress("ann")) {
        var other = configuration
        other.address = "ann"
        _ = try await MessagingAccount.withdrawToken(other)
      }
    }

    @Test
    func `An account in use keeps its store, and one that is not in use has it back at once`()
      async throws
    {
      defer { try? FileManager.default.removeItem(at: folder) }
      let account = try MessagingAccount(configuration)
      let inUse = MessagingError.storeInUse(processID: ProcessInfo.processInfo.processIdentifier)
      await #expect(throws: inUse) {
        _ = try await MessagingAccount.withdrawToken(configuration)
      }
      #expect(throws: inUse) {
        try MessagingAccount.accept(.scramSHA256, storePath: configuration.storePath)
      }
      try await account.close()
      // Without a token there is nothing to connect for.
      #expect(try await MessagingAccount.withdrawToken(configuration) == .notNeeded)
      #expect(
        try MessagingAccount.accept(.scramSHA256, storePath: configuration.storePath) == nil)
      try await MessagingAccount(configuration).close()
    }
  }
#endif
