#if Messaging
  import Foundation
  import Messaging
  import Testing

  @Suite("Programs whose server can't be reached", .timeLimit(.minutes(5)))
  struct OfflineProgramTests {
    private static func open(_ url: URL) throws -> MessagingAccount {
      var configuration = MessagingAccount.Configuration(
        address: "ann@chat.example", password: "", storePath: url.path + "/messages")
      configuration.server = .init(host: "127.0.0.1", port: 1)
      return try MessagingAccount(configuration)
    }

    private static func folder() -> URL {
      FileManager.default.temporaryDirectory.appending(path: "o-\(UUID().uuidString)")
    }

    @Test func `Messages that were sent offline are in the history in their order, also later`()
      async throws
    {
      let url = Self.folder()
      defer { try? FileManager.default.removeItem(at: url) }
      var account = try Self.open(url)
      account.start()
      for number in 0..<40 { _ = try await account.send("\(number)", to: "bob@chat.example") }
      try await account.close()
      account = try Self.open(url)
      let sent = try await account.history(with: "bob@chat.example", limit: 100).compactMap {
        if case .sent(let message) = $0 { message } else { nil }
      }
      #expect(sent.map(\.body) == (0..<40).map { "\($0)" })
      #expect(sent.allSatisfy { $0.state == .stored })
      try await account.close()
    }

    @Test func `A message fails by its deadline only, and another one stays`() async throws {
      let url = Self.folder()
      defer { try? FileManager.default.removeItem(at: url) }
      let account = try Self.open(url)
      let changes = account.stateChanges()
      account.start()
      _ = try await account.send("stays", to: "bob@chat.example")
      let id = try await account.send(
        "late", to: "bob@chat.example", deadline: .milliseconds(50))
      for await change in changes {
        #expect(change.id == id && change.state == .failed(.deadline))
        break
      }
      let states = try await account.history(with: "bob@chat.example").compactMap { entry in
        if case .sent(let message) = entry { message.state } else { nil }
      }
      #expect(states == [.stored, .failed(.deadline)])
      try await account.close()
    }

    @Test func `An app that doesn't read gets each of thousands of entries once, over processes`()
      async throws
    {
      let url = Self.folder()
      defer { try? FileManager.default.removeItem(at: url) }
      var account = try Self.open(url)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<3_000 {
          let pushed = PushedMessage(
            id: "\(number)", from: "news@push.example", to: "ann@chat.example", body: "\(number)")
          group.addTask { [account] in _ = try await account.receive(pushed) }
        }
        try await group.waitForAll()
      }
      var bodies: [String] = []
      var rows: [Int64] = []
      // Each process takes some, and ends without a word.
      while bodies.count < 3_000 {
        for try await item in account.inbox() {
          bodies.append(item.body)
          rows.append(item.row)
          if rows.count % 100 == 0 { try await account.acknowledge(rows: rows.suffix(100)) }
          if rows.count % 1_000 == 0 { break }
        }
        try await account.close()
        account = try Self.open(url)
      }
      #expect(Set(bodies).count == 3_000 && rows == rows.sorted() && Set(rows).count == 3_000)
      #expect(try await account.waitingItems().isEmpty)
      try await account.close()
    }
  }
#endif
