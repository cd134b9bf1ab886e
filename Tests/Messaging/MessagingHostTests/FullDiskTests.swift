#if Messaging
  import Essentials
  import Synchronization
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("The end of an account's use on a full disk")
  struct FullDiskTests {
    /// A disk that has no room until it is emptied.
    private final class Disk: Sendable {
      private let isFull = Mutex(true)
      func empty() { isFull.withLock { $0 = false } }

      func store(path: String) throws -> FaultyStore {
        FaultyStore(try MessageStore(path: path)) { self.isFull.withLock { $0 } ? .full : nil }
      }
    }

    /// What an account with a full disk reports.
    private final class Reports: Sendable {
      private let tickets = Mutex<[UInt64]>([])
      private let (failures, failed) = AsyncStream.makeStream(of: String.self)

      var accepted: [UInt64] { tickets.withLock(\.self) }

      var observer: AccountObserver {
        AccountObserver(
          changed: { _ in },
          perform: { action in
            guard case .accepted(let ticket, _) = action else { return }
            self.tickets.withLock { $0.append(ticket) }
          }, rejected: { _, _ in }, ended: { _ in },
          committed: { reason in if let reason { self.failed.yield(reason) } })
      }

      /// The reason of the first transaction that fails.
      func firstFailure() async -> String? { await failures.first { _ in true } }
    }

    private static func host(
      _ store: FaultyStore, _ reports: Reports, closing: TimeSpan
    ) throws -> AccountHost {
      var start = try AccountStart(
        account: try #require(JID("ann@x")), password: "", settings: ServerSettings(domain: "x"),
        store: store, program: "test")
      start.times.close = closing
      start.times.retry = .milliseconds(10)
      return try AccountHost(start, observer: reports.observer)
    }

    @Test("The end waits a bounded time for room, fails then, and the store can be opened again")
    func noRoom() async throws {
      let folder = try TestFolder()
      let path = folder.path("messages")
      let reports = Reports()
      let host = try Self.host(
        Disk().store(path: path), reports, closing: .milliseconds(100))
      let peer = try #require(JID("bob@x"))
      host.send([.init(ticket: 1, to: peer, MessageContent(body: "text"), patience: nil)])
      #expect(await reports.firstFailure() == StoreError.full.sentence)
      await #expect(throws: StoreError.self) { try await host.close(keepsSession: false) }
      #expect(reports.accepted.isEmpty)
      let next = try MessageStore(path: path)
      #expect(try next.load().outgoing.isEmpty)
      next.close()
    }

    @Test("A message that waits for room is stored when the disk gets some while the use ends")
    func room() async throws {
      let folder = try TestFolder()
      let path = folder.path("messages")
      let reports = Reports()
      let disk = Disk()
      let host = try Self.host(disk.store(path: path), reports, closing: .seconds(60))
      let peer = try #require(JID("bob@x"))
      host.send([.init(ticket: 1, to: peer, MessageContent(body: "text"), patience: nil)])
      #expect(await reports.firstFailure() == StoreError.full.sentence)
      async let end: Void = host.close(keepsSession: false)
      disk.empty()
      try await end
      #expect(reports.accepted == [1])
      let next = try MessageStore(path: path)
      #expect(try next.load().outgoing.count == 1)
      next.close()
    }
  }
#endif
