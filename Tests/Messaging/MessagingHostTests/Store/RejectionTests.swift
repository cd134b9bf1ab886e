#if Messaging
  import Dispatch
  import Essentials
  import GRDB
  import NIOCore
  import NIOPosix
  import Synchronization
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("Changes that the store rejects")
  struct RejectionTests {
    /// What a host reports, in order.
    private final class Log: Sendable {
      private let state = Mutex<
        (lines: [String], waiting: (Int, CheckedContinuation<Void, Never>)?)
      >(
        ([], nil))

      private let attempts = Mutex<
        (count: Int, waiting: (Int, CheckedContinuation<Void, Never>)?)
      >((0, nil))

      var lines: [String] { state.withLock(\.lines) }

      func add(_ line: String) {
        let ready = state.withLock { state -> CheckedContinuation<Void, Never>? in
          state.lines.append(line)
          guard let (count, waiting) = state.waiting, state.lines.count >= count else { return nil }
          state.waiting = nil
          return waiting
        }
        ready?.resume()
      }

      func until(count: Int) async {
        await withCheckedContinuation { continuation in
          let isReady = state.withLock { state in
            if state.lines.count < count { state.waiting = (count, continuation) }
            return state.lines.count >= count
          }
          if isReady { continuation.resume() }
        }
      }

      /// The connections that were tried.
      var attemptCount: Int { attempts.withLock(\.count) }

      func untilAttempts(_ count: Int) async {
        await withCheckedContinuation { continuation in
          let isReady = attempts.withLock { attempts in
            if attempts.count < count { attempts.waiting = (count, continuation) }
            return attempts.count >= count
          }
          if isReady { continuation.resume() }
        }
      }

      private func addAttempt() {
        let ready = attempts.withLock { attempts -> CheckedContinuation<Void, Never>? in
          attempts.count += 1
          guard let (count, waiting) = attempts.waiting, attempts.count >= count else { return nil }
          attempts.waiting = nil
          return waiting
        }
        ready?.resume()
      }

      var observer: AccountObserver {
        AccountObserver(
          changed: { if case .connecting = $0 { self.addAttempt() } },
          perform: { action in
            switch action {
            case .accepted(let ticket, _): self.add("accepted \(ticket)")
            case .report(.changeRejected): self.add("kept aside")
            default: break
            }
          }, rejected: { ticket, _ in self.add("rejected \(ticket)") },
          ended: { _ in self.add("ended") }, committed: { _ in })
      }
    }

    private static func reject(_ table: String, _ store: MessageStore) throws {
      try store.pool.writeWithoutTransaction { database in
        try database.execute(
          sql: """
            CREATE TRIGGER poison_\(table) BEFORE INSERT ON \(table) WHEN NEW.body = 'poison'
            BEGIN SELECT RAISE(ABORT, 'poison'); END
            """)
      }
    }

    @Test(
      "A message that can never be stored is refused and kept aside, and those beside it are sent")
    func sends() async throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      try Self.reject("outgoing", store)
      let log = Log()
      let peer = try #require(JID("bob@x"))
      let host = try AccountHost(
        AccountStart(
          account: try #require(JID("ann@x")), password: "", settings: ServerSettings(domain: "x"),
          store: store, program: "test"), observer: log.observer)
      for (ticket, text) in [(1, "a"), (2, "poison"), (3, "b")] {
        host.send([
          .init(ticket: UInt64(ticket), to: peer, MessageContent(body: text), patience: nil)
        ])
      }
      await log.until(count: 4)
      #expect(Set(log.lines) == ["accepted 1", "accepted 3", "kept aside", "rejected 2"])
      host.send([.init(ticket: 4, to: peer, MessageContent(body: "c"), patience: nil)])
      await log.until(count: 5)
      #expect(log.lines.last == "accepted 4")
      let kept = try store.read { try String.fetchAll($0, sql: "SELECT content FROM aside") }
      #expect(kept == ["poison"])
      let stored = try store.load()
      #expect(stored.outgoing.compactMap(\.content?.body) == ["a", "b", "c"])
      // The number that was given is answered by a void when the recipient misses it.
      let stream = try #require(stored.outgoingStreams.first?.stream)
      let rows = try store.outgoing(stream: stream, range: 1...9)
      #expect(rows.map(\.order.number) == [1, 2, 3, 4])
      #expect(rows[1].fate == .failed(.refused("not-stored")) && rows[1].content?.body == "")
      try await host.close(keepsSession: false)
    }

    @Test(
      "Messages that are sent while a transaction is written are the next one, also if it is rejected"
    )
    func ahead() async throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      try Self.reject("outgoing", store)
      let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let transactionCount = Mutex(0)
      let slow = FaultyStore(store) {
        transactionCount.withLock { $0 += 1 }
        begun.signal()
        gate.wait()
        return nil
      }
      let log = Log()
      let peer = try #require(JID("bob@x"))
      let host = try AccountHost(
        AccountStart(
          account: try #require(JID("ann@x")), password: "", settings: ServerSettings(domain: "x"),
          store: slow, program: "test"), observer: log.observer)
      func send(_ ticket: UInt64, _ text: String) {
        host.send([.init(ticket: ticket, to: peer, MessageContent(body: text), patience: nil)])
      }
      send(1, "poison")
      await Task.detached { begun.wait() }.value
      for ticket in 2...9 { send(UInt64(ticket), "\(ticket)") }
      // The event loop has taken them.
      _ = try await host.peers()
      #expect(log.lines.isEmpty)
      for _ in 0..<9 { gate.signal() }
      await log.until(count: 10)
      #expect(log.lines == ["kept aside", "rejected 1"] + (2...9).map { "accepted \($0)" })
      #expect(transactionCount.withLock { $0 } == 2)
      let texts = try store.load().outgoing.compactMap(\.content?.body)
      #expect(texts == (2...9).map { "\($0)" })
      try await host.close(keepsSession: false)
    }

    @Test("An account that was stopped stays so when the pause after a rejected change ends")
    func stop() async throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      try Self.reject("outgoing", store)
      let log = Log()
      var settings = ServerSettings(domain: "x")
      settings.endpoints = [ServerEndpoint(host: "127.0.0.1", port: 1, encryption: .startTLS)]
      var start = try AccountStart(
        account: try #require(JID("ann@x")), password: "", settings: settings, store: store,
        program: "test")
      start.times.rejection = .milliseconds(50)
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let host = try AccountHost(start, observer: log.observer, on: loop)
      host.start()
      let peer = try #require(JID("bob@x"))
      host.send([.init(ticket: 1, to: peer, MessageContent(body: "poison"), patience: nil)])
      await log.until(count: 2)
      host.stop(keepsSession: false)
      _ = try await host.peers()
      let attemptCount = log.attemptCount
      try await loop.scheduleTask(in: .milliseconds(200)) {}.futureResult.get()
      #expect(log.attemptCount == attemptCount)
      host.start()
      await log.untilAttempts(attemptCount + 1)
      try await host.close(keepsSession: false)
    }

    @Test("The rest of a transaction is written, with the count of the server's stanzas")
    func inbound() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      try Self.reject("incoming", store)
      let session = StoredSession(
        id: "s", jid: "a@x/1", location: nil, inboundCount: 0, outboundCount: 0)
      try store.apply([.setSession(session)])
      func row(_ id: Int64, _ body: String) -> IncomingRow {
        IncomingRow(
          id: RowID(rawValue: id), kind: .message, peer: "b@x",
          content: MessageContent(body: body), date: 1)
      }
      let changes: [MessageChange] = [
        .insertIncoming(row(1, "poison")), .release(RowID(rawValue: 1), sequence: 1, .inOrder),
        .insertIncoming(row(2, "text")), .release(RowID(rawValue: 2), sequence: 2, .inOrder),
        .setInboundCount(2),
      ]
      #expect(throws: StoreError.rejected("poison")) { try store.apply(changes) }
      #expect(try store.inbox(after: 0, limit: 9).isEmpty)
      let rejected = try store.applyKeepingAside(changes, date: 5)
      #expect(rejected.map(\.reason) == ["poison"])
      #expect(try store.inbox(after: 0, limit: 9).map(\.content.body) == ["text"])
      #expect(try store.load().session?.inboundCount == 2)
    }

    @Test("Changes that were kept aside are bounded")
    func bound() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      try Self.reject("incoming", store)
      let changes = (1...1_100).map { id in
        MessageChange.insertIncoming(
          IncomingRow(
            id: RowID(rawValue: Int64(id)), kind: .message, peer: "b@x",
            content: MessageContent(body: "poison"), date: 1))
      }
      #expect(try store.applyKeepingAside(changes, date: 5).count == 1_100)
      let count = try store.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM aside") }
      #expect(count == StoreWriter.asideCountMax)
    }
  }
#endif
