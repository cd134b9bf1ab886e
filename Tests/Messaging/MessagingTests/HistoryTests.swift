#if Messaging
  import Foundation
  import Testing

  @testable import Messaging

  @Suite("The history of a conversation")
  struct HistoryTests {
    private static func item(_ row: Int64, at time: Int64) -> HistoryEntry {
      .received(
        InboxItem(
          row: row, kind: .message, peer: "bob@chat.example", body: "in \(row)", elements: "",
          originID: "", arrival: .inOrder, time: time))
    }

    private static func message(_ id: Int64, at time: Int64) -> HistoryEntry {
      .sent(
        SentMessage(
          id: MessageID(rawValue: id), recipient: "bob@chat.example", body: "out \(id)",
          elements: "", time: time, state: .stored))
    }

    @Test("Both directions are put together by time, and each keeps its order")
    func merging() {
      let received = [Self.item(3, at: 20), Self.item(2, at: 90), Self.item(1, at: 10)]
      let sent = [Self.message(2, at: 50), Self.message(1, at: 5)]
      let all = [
        Self.message(1, at: 5), Self.item(1, at: 10), Self.item(2, at: 90), Self.item(3, at: 20),
        Self.message(2, at: 50),
      ]
      #expect(HistoryEntry.merged(received, sent, limit: 9) == all)
      #expect(HistoryEntry.merged(received, sent, limit: 2) == Array(all.suffix(2)))
      #expect(HistoryEntry.merged([], sent, limit: 9) == sent.reversed())
      #expect(HistoryEntry.merged(received, [], limit: 0) == [])
    }

    @Test("A message with a time in whole seconds follows what was sent in the same second")
    func wholeSeconds() {
      let kept = Self.item(1, at: 2_000)
      let sent = [Self.message(2, at: 3_000), Self.message(1, at: 2_400)]
      #expect(
        HistoryEntry.merged([kept], sent, limit: 9)
          == [Self.message(1, at: 2_400), kept, Self.message(2, at: 3_000)])
    }

    @Test("Sent messages are in the history of their recipient, the oldest first, also later")
    func sentMessages() async throws {
      let url = FileManager.default.temporaryDirectory.appending(path: "h-\(UUID())")
      defer { try? FileManager.default.removeItem(at: url) }
      let settings = MessagingAccount.Configuration(
        address: "ann@chat.example", password: "", storePath: url.path + "/messages")
      let first = try MessagingAccount(settings)
      for number in 0..<5 { _ = try await first.send("\(number)", to: "Bob@chat.example/phone") }
      _ = try await first.send("for Eve", to: "eve@chat.example")
      try await first.close()
      let account = try MessagingAccount(settings)
      let entries = try await account.history(with: "bob@chat.example", limit: 3)
      let texts = entries.map { entry in
        if case .sent(let message) = entry, message.state == .stored { message.text } else { "" }
      }
      #expect(texts == ["2", "3", "4"])
      #expect(try await account.history(with: "dan@chat.example").isEmpty)
      await #expect(throws: MessagingError.invalidAddress("@")) {
        try await account.history(with: "@")
      }
      try await account.close()
      await #expect(throws: MessagingError.ended) {
        try await account.history(with: "bob@chat.example")
      }
    }
  }
#endif
