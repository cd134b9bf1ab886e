#if Messaging
  import Foundation
  import Messaging
  import Testing

  @Suite("Messages of remote notifications", .timeLimit(.minutes(5)))
  struct PushedMessageTests {
    private static func open(_ path: String) throws -> MessagingAccount {
      try MessagingAccount(
        .init(address: "bob@chat.example", password: "", storePath: path))
    }

    @Test func `The message of a notification is in the inbox once, without a connection`()
      async throws
    {
      let url = FileManager.default.temporaryDirectory.appending(path: "p-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: url) }
      let path = url.path + "/messages"
      let pushed = PushedMessage(
        id: "7", from: "news@push.example", to: "bob@chat.example", body: "On its way")
      var account = try Self.open(path)
      let results = [try await account.receive(pushed), try await account.receive(pushed)]
      #expect(results == [.new(row: 1), .known])
      let item = try #require(try await account.waitingItems(limit: 9).first)
      #expect(item.body == "On its way" && item.originID == "7" && item.isProvisional)
      #expect(item.peer == "news@push.example")
      try await account.acknowledge(item)
      try await account.close()
      await #expect(throws: MessagingError.ended) { try await account.receive(pushed) }
      // A later process knows it, too, when the app has taken it.
      account = try Self.open(path)
      let again = try await account.receive(pushed)
      #expect(again == .known)
      #expect(try await account.waitingItems(limit: 9).isEmpty)
      try await account.close()
    }

    @Test func `A notification without a text, or for another account, only wakes`() async throws {
      let url = FileManager.default.temporaryDirectory.appending(path: "p-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: url) }
      let account = try Self.open(url.path + "/messages")
      var pushed = PushedMessage(
        id: "7", from: "news@push.example", to: "bob@chat.example", body: nil)
      for body in [nil, "", "x\0", String(repeating: "x", count: 300_000)] {
        pushed.body = body
        let result = try await account.receive(pushed)
        #expect(result == .onlyWakes)
      }
      pushed.body = "x"
      for wrong in ["ann@chat.example", "", "@"] {
        pushed.recipient = wrong
        let result = try await account.receive(pushed)
        #expect(result == .onlyWakes)
      }
      (pushed.recipient, pushed.sender) = ("bob@chat.example", "bob@chat.example/phone")
      let own = try await account.receive(pushed)
      #expect(own == .onlyWakes)
      #expect(try await account.waitingItems(limit: 9).isEmpty)
      try await account.close()
    }

    @Test func `The message is read from what the app's delegate gets`() throws {
      let text = """
        {"aps":{"content-available":1},
         "message":{"id":"7","from":"news@push.example","to":"bob@chat.example","body":"Hi"}}
        """
      let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
      let userInfo = try #require(object as? [AnyHashable: Any])
      let expected = PushedMessage(
        id: "7", from: "news@push.example", to: "bob@chat.example", body: "Hi")
      #expect(PushedMessage(userInfo: userInfo) == expected)
      for other in [["message": 7], ["aps": [:]], ["message": ["id": "7", "from": 8]]]
        as [[AnyHashable: Any]]
      {
        #expect(PushedMessage(userInfo: other) == nil)
      }
    }
  }
#endif
