#if Messaging
  import Foundation
  import Messaging
  import Reactive
  import Testing

  import MessagingReactive

  @Suite("Messages as producers")
  struct ProducerTests {
    private static func account(_ folder: URL) throws -> MessagingAccount {
      var configuration = MessagingAccount.Configuration(
        address: "ann@chat.example", password: "secret", storePath: folder.path + "/messages")
      configuration.server = .init(host: "127.0.0.1", port: 1)
      return try MessagingAccount(configuration)
    }

    @Test func `Each run has the changes of rooms from its start, and ends with the account`()
      async throws
    {
      let folder = FileManager.default.temporaryDirectory.appending(
        path: "producers-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: folder) }
      let account = try Self.account(folder)
      let producer = account.rooms.reactive.updates
      let (first, firstEvents) = AsyncStream.makeStream(of: Room.State.self)
      let (second, secondEvents) = AsyncStream.makeStream(of: Room.State.self)
      func start(_ events: AsyncStream<Room.State>.Continuation) -> any Disposable {
        producer.start { event in
          switch event {
          case .value(let room): events.yield(room.state)
          case .completed: events.finish()
          case .failed, .interrupted: break
          }
        }
      }
      let run = start(firstEvents)
      await #expect(throws: MessagingError.offline) {
        try await account.rooms.join("lab@rooms.example", nickname: "ann")
      }
      var values = first.makeAsyncIterator()
      #expect(await values.next() == .joining)
      _ = start(secondEvents)
      try await account.rooms.leave("lab@rooms.example")
      #expect(await values.next() == .ended(.left))
      var later = second.makeAsyncIterator()
      #expect(await later.next() == .ended(.left))
      run.dispose()
      try await account.close()
      #expect(await later.next() == nil)
    }
  }
#endif
