#if Messaging
  import Essentials
  import EventLoop
  import NIOCore
  import NIOPosix
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("Transactions of a driver that join the next one", .timeLimit(.minutes(5)))
  struct JoiningTests {
    /// What a driver reports, in order.
    private enum Report: Equatable {
      case committed
      case accepted(UInt64)
      case acknowledged(Int64)
      /// The app's acknowledgement of a row is written, and nothing is being written.
      case taken
    }

    /// An account in a session with a server that does nothing.
    private final class Bench: Sendable {
      private let loop = MultiThreadedEventLoopGroup.singleton.next()
      private let driver: NIOLoopBound<AccountDriver>
      private let folder: TestFolder
      private let (reports, continuation) = AsyncStream.makeStream(of: Report.self)

      /// - Parameter sessionID: Empty if no later process could resume the session.
      init(sessionID: String = "id") async throws {
        folder = try TestFolder()
        let start = try AccountStart(
          account: try #require(JID("ann@x")), password: "", settings: ServerSettings(domain: "x"),
          store: try MessageStore(path: folder.path("messages")), program: "test")
        let continuation = continuation
        let observer = AccountObserver(
          changed: { _ in },
          perform: { action in
            switch action {
            case .accepted(let ticket, _): continuation.yield(.accepted(ticket))
            case .fate(let row, .acknowledged): continuation.yield(.acknowledged(row.rawValue))
            default: break
            }
          }, rejected: { _, _ in }, ended: { _ in },
          committed: { error in if error == nil { continuation.yield(.committed) } })
        let loop = loop
        driver = try await loop.submit {
          let driver = AccountDriver(start, observer: observer, on: loop)
          driver.session = 1
          driver.stored = StoredSession(
            id: sessionID, jid: "ann@x/desk", location: nil, inboundCount: 0, outboundCount: 0)
          driver.handle([.messages(.connected(isResumed: true, hasArchive: false, wall: 1))])
          return NIOLoopBound(driver, eventLoop: loop)
        }.get()
        try await sendToEnd(1)
      }

      /// Sends a message, and returns when the driver has no transaction.
      func sendToEnd(_ ticket: UInt64) async throws {
        try await run { Self.send(ticket, $0) }
        try await writeToEnd()
      }

      /// Returns when the driver has no transaction.
      func writeToEnd() async throws {
        let continuation = continuation
        try await run { driver in
          driver.handle([.acknowledge(1) { _ in continuation.yield(.taken) }])
        }
        while await next() != .taken {}
      }

      func next() async -> Report? { await reports.first { _ in true } }

      func next(_ count: Int) async -> [Report] {
        var found: [Report] = []
        while found.count < count, let report = await next() { found.append(report) }
        return found
      }

      static func send(_ ticket: UInt64, _ driver: AccountDriver) {
        driver.handle([
          .messages(
            .send(
              ticket: ticket, peer: "bob@x", originID: "id \(ticket)",
              MessageContent(body: "\(ticket)"), patience: nil, wall: 1))
        ])
      }

      /// The server has the message, as it acknowledges after it has been sent.
      static func acknowledge(_ row: Int64, _ driver: AccountDriver) {
        driver.handle([.messages(.handled([RowID(rawValue: row)]))])
      }

      /// The recipient has the message that was sent first, second and so on.
      static func receipt(of number: UInt64, _ driver: AccountDriver) throws {
        let stream = try #require(try driver.store.load().outgoingStreams.first).stream
        try driver.take(
          .message(
            InboundMessage(
              sender: "bob@x", recipient: "ann@x", id: nil,
              order: OrderElement(stream: stream, number: number),
              kind: .receipt("id \(number)"), date: 1)), number)
        driver.handle([])
      }

      func run<Value: Sendable>(
        _ body: @escaping @Sendable (AccountDriver) throws -> Value
      ) async throws -> Value {
        let driver = driver
        return try await loop.submit { try body(driver.value) }.get()
      }

      func close() async throws {
        let closed = loop.makePromise(of: Void.self)
        _ = try await run { $0.handle([.close(keepsSession: true) { _ in closed.succeed() }]) }
        try await closed.futureResult.get()
      }
    }

    @Test func `An acknowledgement of the server and the next message are one transaction`()
      async throws
    {
      let bench = try await Bench()
      let due = try await bench.run { driver in
        Bench.acknowledge(1, driver)
        let due = driver.batchDue
        Bench.send(2, driver)
        return due
      }
      #expect(due != nil)
      #expect(await bench.next(3) == [.committed, .accepted(2), .acknowledged(1)])
      try await bench.close()
    }

    @Test
    func `An acknowledgement after which nothing comes is written within twenty milliseconds`()
      async throws
    {
      let bench = try await Bench()
      let wait = try await bench.run { driver in
        let start = Instant.now
        Bench.acknowledge(1, driver)
        return driver.batchDue.map { ($0 - start, Instant.now - start) }
      }
      let (planned, passed) = try #require(wait)
      #expect(planned >= .milliseconds(20) && planned <= passed + .milliseconds(20))
      #expect(await bench.next(2) == [.committed, .acknowledged(1)])
      #expect(try await bench.run { $0.batchDue == nil })
      try await bench.close()
    }

    @Test func `The second acknowledgement doesn't begin the time of the first anew`() async throws
    {
      let bench = try await Bench()
      try await bench.sendToEnd(2)
      let dues = try await bench.run { driver in
        Bench.acknowledge(1, driver)
        let first = driver.batchDue
        Bench.acknowledge(2, driver)
        return (first, driver.batchDue, driver.written != nil)
      }
      // A busy machine may be late, so that the second one begins the transaction.
      #expect(dues.0 != nil && (dues.0 == dues.1 || dues.2))
      #expect(await bench.next(3) == [.committed, .acknowledged(1), .acknowledged(2)])
      try await bench.close()
    }

    @Test
    func
      `The app's acknowledgement of a row, for which it doesn't wait, is part of the next transaction`()
      async throws
    {
      let bench = try await Bench()
      let due = try await bench.run { driver in
        driver.handle([.acknowledge(2, nil)])
        let due = driver.batchDue
        Bench.send(2, driver)
        return due
      }
      #expect(due != nil)
      #expect(await bench.next(2) == [.committed, .accepted(2)])
      try await bench.close()
    }

    @Test func `A receipt waits while its recipient owes others, and the last one doesn't`()
      async throws
    {
      let bench = try await Bench()
      for ticket in 2...3 as ClosedRange<UInt64> { try await bench.sendToEnd(ticket) }
      // It shows that the recipient sends receipts for all messages.
      try await bench.run { try Bench.receipt(of: 1, $0) }
      try await bench.writeToEnd()
      let dues = try await bench.run { driver in
        try Bench.receipt(of: 2, driver)
        let due = driver.batchDue
        try Bench.receipt(of: 3, driver)
        return (due, driver.batchDue, driver.written != nil)
      }
      #expect(dues.0 != nil && dues.1 == nil && dues.2)
      try await bench.close()
    }

    @Test func `Nothing waits in a session that no later process can resume`() async throws {
      let bench = try await Bench(sessionID: "")
      let isWritten = try await bench.run { driver in
        Bench.acknowledge(1, driver)
        return driver.written != nil && driver.batchDue == nil
      }
      #expect(isWritten)
      #expect(await bench.next(2) == [.committed, .acknowledged(1)])
      try await bench.close()
    }

    @Test func `An acknowledgement that waits is written before the account ends`() async throws {
      let bench = try await Bench()
      try await bench.run { Bench.acknowledge(1, $0) }
      try await bench.close()
      #expect(await bench.next(2) == [.committed, .acknowledged(1)])
    }

    @Test func `An acknowledgement that waits is written before the app is suspended`() async throws
    {
      let bench = try await Bench()
      let (settled, continuation) = AsyncStream.makeStream(of: Void.self)
      try await bench.run { driver in
        Bench.acknowledge(1, driver)
        driver.handle([.settle { continuation.yield() }])
      }
      await settled.first { _ in true }
      #expect(await bench.next(2) == [.committed, .acknowledged(1)])
      try await bench.close()
    }
  }
#endif
