#if Messaging
  import Foundation
  import Messaging
  import Testing

  @Suite("Contacts without a connection")
  struct ContactTests {
    @Test func `Requests without a connection fail at once, and those of a closed account end`()
      async throws
    {
      let url = FileManager.default.temporaryDirectory.appending(
        path: "contacts-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: url) }
      var configuration = MessagingAccount.Configuration(
        address: "ann@chat.example", password: "secret", storePath: url.path + "/messages")
      configuration.server = .init(host: "127.0.0.1", port: 1)
      let account = try MessagingAccount(configuration)
      account.start()
      #expect(try await account.contacts().isEmpty)
      #expect(try await account.presence(of: "bob@x").isAvailable == false)
      #expect(try await account.blockedAddresses().isEmpty)
      await #expect(throws: MessagingError.offline) { try await account.setContact("bob@x") }
      await #expect(throws: MessagingError.offline) { try await account.block("x") }
      await #expect(throws: MessagingError.invalidAddress("@")) { try await account.block("@") }
      await #expect(throws: MessagingError.invalidText) {
        try await account.setContact("bob@x", name: "\u{1}")
      }
      await #expect(throws: MessagingError.tooLarge(byteCount: 2_000, byteCountMax: 1_023)) {
        try await account.setContact("bob@x", groups: [String(repeating: "x", count: 2_000)])
      }
      #expect(try await account.setChatState(.composing, to: "bob@x") == false)
      try await account.setAvailability(Availability(.away, status: "Lunch"))
      let updates = account.contactUpdates()
      try await account.close()
      for await _ in updates {}
      await #expect(throws: MessagingError.ended) { try await account.contacts() }
      await #expect(throws: MessagingError.ended) { try await account.removeContact("bob@x") }
    }
  }
#endif
