#if Messaging
  import Essentials
  import Synchronization
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("An account whose app is about to be suspended", .timeLimit(.minutes(5)))
  struct SuspendedAccountTests {
    @Test func `Messages that wait for the archive reach the app before it is suspended`()
      async throws
    {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      // A message that a killed process had, and the archive was silent.
      var row = IncomingRow(id: RowID(rawValue: 1), kind: .message, peer: "bob@x", date: 1)
      row.content = MessageContent(body: "live")
      try store.apply([
        .setArchiveMarks([ArchiveMark(id: "a", date: 1)]), .setHistoryEnd(nil),
        .insertIncoming(row),
      ])
      var start = try AccountStart(
        account: try #require(JID("ann@x")), password: "", settings: ServerSettings(domain: "x"),
        store: store, program: "test")
      start.times.wake = .seconds(3_600)
      start.times.wakePatience = .milliseconds(10)
      let (deliveries, delivered) = AsyncStream.makeStream(of: Int64.self)
      let host = try AccountHost(
        start,
        observer: AccountObserver(
          changed: { _ in },
          perform: { if case .deliver(let sequence) = $0 { delivered.yield(sequence) } },
          rejected: { _, _ in }, ended: { _ in }, committed: { _ in }))
      #expect(try await host.inbox(after: 0, limit: 9).isEmpty)
      async let settled: Void = host.settle()
      #expect(await deliveries.first { $0 == 2 } == 2)
      let rows = try await host.inbox(after: 0, limit: 9)
      #expect(rows.map(\.kind) == [.archiveGap(since: 1), .message])
      #expect(rows.map(\.content.body) == ["", "live"])
      // The app has an hour; it is suspended when it has taken them.
      for sequence in 1...2 { try await host.acknowledge(sequence: Int64(sequence)) }
      await settled
      try await host.close(keepsSession: false)
    }
  }
#endif
