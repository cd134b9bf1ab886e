#if Messaging
  import Foundation
  import Messaging
  import Testing

  @Suite("The end of an account's use")
  struct ClosingTests {
    /// A folder that is removed at the end.
    private final class Folder: Sendable {
      let url = FileManager.default.temporaryDirectory.appending(
        path: "account-\(UUID().uuidString)")
      deinit { try? FileManager.default.removeItem(at: url) }

      /// An account whose server does not exist.
      func open() throws(MessagingError) -> MessagingAccount {
        var configuration = MessagingAccount.Configuration(
          address: "ann@chat.example", password: "secret", storePath: url.path + "/messages")
        configuration.server = .init(host: "127.0.0.1", port: 1)
        return try MessagingAccount(configuration)
      }
    }

    @Test("An account that was closed can be opened again in the same process")
    func reopening() async throws {
      let folder = Folder()
      for count in 0..<3 {
        let account = try folder.open()
        account.start()
        #expect(try await account.conversations().count == min(count, 1))
        _ = try await account.send("text", to: "bob@chat.example")
        try await account.close()
      }
    }

    @Test("An account that is in use can't be opened a second time, until it is closed")
    func use() async throws {
      let folder = Folder()
      let account = try folder.open()
      #expect(throws: MessagingError.storeInUse(processID: getpid())) { try folder.open() }
      try await account.close()
      try await folder.open().close()
    }

    @Test("A message that was requested before the account is closed is stored")
    func lastMessages() async throws {
      let folder = Folder()
      let account = try folder.open()
      account.start()
      let sends = (0..<200).map { number in
        Task { try await account.send("\(number)", to: "bob\(number)@chat.example") }
      }
      for send in sends.prefix(20) { _ = try await send.value }
      try await account.close()
      var storedCount = 0
      for send in sends {
        do {
          _ = try await send.value
          storedCount += 1
        } catch {
          #expect(error as? MessagingError == .ended)
        }
      }
      #expect(storedCount >= 20)
      let next = try folder.open()
      #expect(try await next.conversations().count == storedCount)
      try await next.close()
    }

    @Test("Requests and sequences of a closed account end")
    func afterTheEnd() async throws {
      let account = try Folder().open()
      let states = account.connectionStates()
      var inbox = account.inbox().makeAsyncIterator()
      try await account.close()
      try await account.close()
      #expect(try await inbox.next() == nil)
      for await _ in states {}
      await #expect(throws: MessagingError.ended) {
        try await account.send("text", to: "bob@chat.example")
      }
      await #expect(throws: MessagingError.ended) { try await account.acknowledge(row: 1) }
      await #expect(throws: MessagingError.ended) { try await account.waitingItems() }
    }

    @Test("An account that was released and not closed can be opened again")
    func release() async throws {
      let folder = Folder()
      for _ in 0..<3 {
        let account = try folder.open()
        account.start()
        _ = try await account.send("text", to: "bob@chat.example")
      }
      try await folder.open().close()
    }
  }
#endif
