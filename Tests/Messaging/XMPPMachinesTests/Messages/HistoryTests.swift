#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("The history that a new store reads")
  struct HistoryTests {
    /// An archive with an entry a minute, the last one at the time of the bench.
    private static func server(_ count: Int, pageCountMax: Int = 50) -> TestServer {
      var server = TestServer(answersUnknownWithLater: false, pageCountMax: pageCountMax)
      for number in 1...count {
        let stanza = TestStanza(
          sender: "b@x",
          stanza: OutboundStanza(
            recipient: "a@x",
            kind: .message(
              originID: "id \(number)",
              OrderElement(
                stream: OrderStreamID(high: 1, low: 1), number: UInt64(number), since: 1),
              MessageContent(body: "\(number)")), row: nil))
        _ = server.archive(
          stanza, for: "a@x", date: MachineBench.start - Int64(count - number) * 60_000)
      }
      return server
    }

    /// Answers queries until none runs, at most 500.
    private static func answer(_ bench: inout MachineBench, _ server: TestServer) -> Int {
      for count in 0..<500 {
        guard let query = bench.machine.archive.query else { return count }
        guard let page = server.page(query, for: "a@x") else {
          bench.handle(.queryFailed(query.id, isUnknownItem: true))
          continue
        }
        let entries = page.entries.map { entry in
          var message = entry.stanza.inbound(date: entry.date)
          message.archiveID = entry.id
          return ArchivePage.Entry(
            mark: ArchiveMark(id: entry.id, date: entry.date),
            message: bench.store.lookUp(message, account: "a@x"))
        }
        bench.handle(
          .page(ArchivePage(query: query.id, entries: entries, isComplete: page.isComplete)))
      }
      return 500
    }

    @Test("A new store takes what the archive has as history, in order, and later messages as new")
    func history() {
      var bench = MachineBench(isNew: true)
      bench.connect(hasArchive: true)
      #expect(bench.query?.start == .last)
      var server = Self.server(120)
      #expect(Self.answer(&bench, server) < 20)
      #expect(bench.texts == (1...120).map { "\($0) history" })
      #expect(bench.store.historyEnd == nil && bench.store.marks.count == 20)
      server = Self.server(122)
      bench.advance(.seconds(301))
      _ = Self.answer(&bench, server)
      #expect(bench.texts.suffix(2) == ["121", "122"])
    }

    @Test(
      "A new store leaves out what is older than a month, or beyond 10,000 messages, and tells it")
    func cut() {
      var limits = MessageLimits()
      limits.historyAge = 100 * 60_000
      var bench = MachineBench(limits: limits, isNew: true)
      bench.connect(hasArchive: true)
      _ = Self.answer(&bench, Self.server(300))
      #expect(bench.texts == ["history start"] + (200...300).map { "\($0) history" })
      limits = MessageLimits()
      limits.historyCountMax = 150
      bench = MachineBench(limits: limits, isNew: true)
      bench.connect(hasArchive: true)
      _ = Self.answer(&bench, Self.server(400))
      #expect(bench.texts.first == "history start")
      #expect(bench.texts.last == "400 history")
      #expect((140...200).contains(bench.texts.count))
      // Nothing before the history is requested from its sender.
      bench.advance(.seconds(100))
      #expect(!bench.sent.contains { if case .missing = $0.kind { true } else { false } })
    }

    @Test("A process that ends while it reads the history goes on with it as history")
    func restart() throws {
      var bench = MachineBench(isNew: true)
      bench.connect(hasArchive: true)
      let server = Self.server(200)
      // The search, and the first page of the history.
      while bench.store.marks.isEmpty {
        let query = try #require(bench.machine.archive.query)
        let page = try #require(server.page(query, for: "a@x"))
        bench.handle(
          .page(
            ArchivePage(
              query: query.id,
              entries: page.entries.map { entry in
                var message = entry.stanza.inbound(date: entry.date)
                message.archiveID = entry.id
                return ArchivePage.Entry(
                  mark: ArchiveMark(id: entry.id, date: entry.date),
                  message: bench.store.lookUp(message, account: "a@x"))
              }, isComplete: page.isComplete)))
      }
      bench.restart()
      bench.connect(hasArchive: true)
      _ = Self.answer(&bench, server)
      #expect(bench.texts == (1...200).map { "\($0) history" })
    }

    @Test(
      "A message after an incomplete history is new, though the history's last entry is never read")
    func lostEnd() throws {
      var bench = MachineBench(isNew: true)
      bench.connect(hasArchive: true)
      // The search finds the end, and then the queries for the history fail.
      bench.page([("1", message("one")), ("end", nil)])
      while let query = bench.machine.archive.query {
        bench.handle(.queryFailed(query.id, isUnknownItem: false))
        bench.advance(.seconds(20))
      }
      #expect(bench.store.historyEnd?.id == "end")
      bench.advance(.seconds(301))
      let query = try #require(bench.machine.archive.query)
      func entry(_ id: String, _ text: String, _ date: WallTime) -> ArchivePage.Entry {
        var message = message(text)
        message.archiveID = id
        return ArchivePage.Entry(
          mark: ArchiveMark(id: id, date: date),
          message: bench.store.lookUp(message, account: "a@x"))
      }
      let entries = [
        entry("1", "one", MachineBench.start), entry("3", "later", MachineBench.start + 1),
      ]
      bench.handle(.page(ArchivePage(query: query.id, entries: entries, isComplete: false)))
      #expect(bench.texts == ["one history", "later"])
      #expect(bench.store.historyEnd == nil)
      bench.restart()
      #expect(bench.machine.historyEnd == nil)
    }

    @Test("A message that arrives while the history is read is new")
    func live() {
      var bench = MachineBench(isNew: true)
      bench.connect(hasArchive: true)
      bench.receive("live", from: "c@x")
      _ = Self.answer(&bench, Self.server(60))
      #expect(bench.texts == (1...60).map { "\($0) history" } + ["live"])
    }

    @Test("Plain messages of the history get no receipt, as other devices were there")
    func receipts() {
      var bench = MachineBench(isNew: true)
      bench.connect(hasArchive: true)
      bench.page([("1", message("old"))])
      bench.page([("1", message("old"))])
      #expect(bench.texts == ["old history"])
      #expect(bench.sentReceipts == [])
      bench.receive("old")
      #expect(bench.sentReceipts == ["id old"])
    }

    @Test(
      "An archive that does not go back, or runs backwards, is given up after a bounded number of pages"
    )
    func endless() {
      var bench = MachineBench(isNew: true)
      bench.connect(hasArchive: true)
      var count = 0
      // The same page again and again, whichever is requested.
      while bench.machine.archive.isRunning, count < 500 {
        bench.page([("1", message("1")), ("2", message("2"))], isComplete: false)
        count += 1
      }
      #expect(count < 10)
      var other = MachineBench()
      other.connect(hasArchive: true)
      count = 0
      while let query = other.machine.archive.query, count < 500 {
        let date = MachineBench.start + (count % 2 == 0 ? 3_600_000 : 0)
        let entry = ArchivePage.Entry(mark: ArchiveMark(id: "\(count)", date: date), message: nil)
        other.handle(
          .page(ArchivePage(query: query.id, entries: [entry], isComplete: false)))
        count += 1
      }
      #expect(count < 100)
      #expect(other.reports == [.archiveStalled])
    }
  }
#endif
