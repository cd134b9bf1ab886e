#if Messaging
  import Foundation
  import Messaging
  import Testing

  @Suite("Messages that are sent together")
  struct SendingTests {
    @Test("Messages of one call are stored in order, and a refusal is at the place of its message")
    func batch() async throws {
      let url = FileManager.default.temporaryDirectory.appending(path: "sends-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: url) }
      let account = try MessagingAccount(
        .init(address: "ann@chat.example", password: "", storePath: url.path + "/messages"))
      var messages = (0..<300).map { OutgoingMessage("\($0)", to: "bob@chat.example") }
      messages[7].recipient = "nobody"
      messages[8].body = "\u{1}"
      let results = await account.send(messages)
      #expect(results[7] == .failure(.invalidAddress("nobody")))
      #expect(results[8] == .failure(.invalidText))
      let numbers = results.compactMap { try? $0.get().rawValue }
      #expect(numbers == (1...298).map(Int64.init))
      #expect(account.statistics.commits < 10)
      #expect(await account.send([]).isEmpty)
      try await account.acknowledge(rows: [1, 2, 3])
      try await account.acknowledge(rows: [])
      try await account.close()
      #expect(await account.send([messages[0]]) == [.failure(.ended)])
    }
  }
#endif
