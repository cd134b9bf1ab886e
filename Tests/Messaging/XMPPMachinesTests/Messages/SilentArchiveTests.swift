#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("An archive that is silent or slow")
  struct SilentArchiveTests {
    private static func order(_ number: UInt64, since: UInt64? = nil) -> OrderElement {
      OrderElement(stream: OrderStreamID(high: 1, low: 2), number: number, since: since)
    }

    /// A session whose store has read an archive of two messages before.
    private static func bench() -> MachineBench {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page([("1", message("old 1")), ("2", message("old 2"))])
      bench.handle(.disconnected(streamError: nil))
      bench.connect(hasArchive: true)
      return bench
    }

    @Test func `Live messages wait ten seconds for a silent archive, and a row reports the gap`() {
      var bench = Self.bench()
      bench.receive("live 1")
      bench.advance(.seconds(9))
      #expect(bench.texts == ["old 1", "old 2"])
      bench.advance(.seconds(1))
      #expect(bench.texts == ["old 1", "old 2", "archive gap", "live 1"])
      #expect(bench.actions.contains(.caughtUp(isWhole: false)))
      bench.receive("live 2")
      #expect(bench.texts.suffix(3) == ["archive gap", "live 1", "live 2"])
    }

    @Test func `An answer after the gap brings what it has as late messages, each once`() {
      var bench = Self.bench()
      bench.receive("live 1")
      bench.advance(.seconds(20))
      // What comes during the reading waits again, because the archive answers.
      bench.page(
        [("1", message("old 1")), ("2", message("old 2")), ("3", message("missed"))],
        isComplete: false)
      bench.receive("live 2")
      #expect(bench.texts.last == "missed late")
      bench.page([("4", message("live 1")), ("5", message("live 2"))])
      #expect(
        bench.texts == ["old 1", "old 2", "archive gap", "live 1", "missed late", "live 2"])
      bench.advance(.seconds(301))
      bench.page((1...6).map { ("\($0)", message($0 == 6 ? "later" : "old \($0)")) })
      #expect(bench.texts.last == "later")
    }

    @Test func `No gap is reported where no live message went ahead`() {
      var bench = Self.bench()
      bench.advance(.seconds(20))
      bench.page([("1", message("old 1")), ("2", message("old 2")), ("3", message("new"))])
      #expect(bench.texts == ["old 1", "old 2", "new"])
    }

    @Test func `Each session of a server whose archive is always silent reports its own gap`() {
      var bench = Self.bench()
      for number in 1...3 {
        bench.receive("live \(number)")
        bench.advance(.seconds(10))
        bench.handle(.disconnected(streamError: nil))
        bench.handle(.session(nil))
        bench.connect(hasArchive: true)
      }
      #expect(
        bench.texts == [
          "old 1", "old 2", "archive gap", "live 1", "archive gap", "live 2", "archive gap",
          "live 3",
        ])
    }

    @Test func `A session that goes on reports no second gap, in this process or the next one`() {
      var bench = Self.bench()
      bench.handle(
        .session(
          StoredSession(id: "s", jid: "a@x/r", location: nil, inboundCount: 0, outboundCount: 0)))
      bench.receive("live 1")
      bench.advance(.seconds(10))
      bench.handle(.disconnected(streamError: nil))
      bench.handle(.connected(isResumed: true, hasArchive: true, wall: 0))
      bench.receive("live 2")
      bench.advance(.seconds(10))
      bench.restart()
      bench.handle(.connected(isResumed: true, hasArchive: true, wall: 0))
      bench.receive("live 3")
      bench.advance(.seconds(10))
      #expect(bench.texts.dropFirst(2) == ["archive gap", "live 1", "live 2", "live 3"])
    }

    @Test func `An app that was started anew learns of what its new session may have missed`() {
      var bench = Self.bench()
      bench.receive("live 1")
      bench.advance(.seconds(10))
      bench.restart()
      bench.connect(hasArchive: true)
      bench.receive("live 2")
      bench.advance(.seconds(10))
      bench.page([
        ("1", message("old 1")), ("2", message("old 2")), ("3", message("live 1")),
        ("4", message("between")), ("5", message("live 2")),
      ])
      #expect(
        bench.texts.dropFirst(2) == [
          "archive gap", "live 1", "archive gap", "live 2", "between late",
        ])
    }

    @Test func `An archive that answers slowly holds messages back for a minute at most`() {
      var bench = Self.bench()
      bench.receive("live")
      bench.send("own")
      var pages = 0
      while !bench.texts.contains("live"), pages < 100 {
        bench.advance(.seconds(8))
        pages += 1
        bench.page([("\(pages)", message("old \(pages)"))], isComplete: false)
      }
      #expect(bench.now - .zero <= .seconds(64))
      #expect(bench.sentTexts == ["own"] || bench.machine.queue.isEmpty)
      bench.advance(.seconds(8))
      bench.page([("\(pages + 1)", message("old \(pages + 1)"))], isComplete: false)
      #expect(bench.texts.last == "old \(pages + 1) late")
    }

    @Test func `A message before the answer about the account's abilities waits for the archive`() {
      var bench = Self.bench()
      bench.handle(.disconnected(streamError: nil))
      bench.receive("live")
      #expect(bench.texts.last == "old 2")
      bench.connect(hasArchive: true)
      bench.page([("1", message("old 1")), ("2", message("old 2")), ("3", message("missed"))])
      #expect(bench.texts == ["old 1", "old 2", "missed", "live"])
    }

    @Test func `A server that never answers about abilities holds a message back for ten seconds`()
    {
      var bench = Self.bench()
      bench.handle(.disconnected(streamError: nil))
      bench.receive("live")
      bench.advance(.seconds(9))
      #expect(bench.texts.last == "old 2")
      bench.advance(.seconds(1))
      #expect(bench.texts.suffix(2) == ["archive gap", "live"])
      bench.connect(hasArchive: true)
      bench.receive("live 2")
      #expect(bench.texts.last == "live 2")
    }

    @Test func `Messages that were never sent leave without the answer of a silent archive`() {
      var bench = Self.bench()
      bench.send("1")
      bench.advance(.seconds(9))
      #expect(bench.sentTexts == [])
      bench.advance(.seconds(1))
      #expect(bench.sentTexts == ["1"])
      bench.send("2")
      #expect(bench.sentTexts == ["2"])
    }

    @Test func `Messages of unknown fate to a plain account wait for the archive, others don't`() {
      var bench = Self.bench()
      bench.page([("2", message("old 2"))])
      bench.send("1", to: "plain@x")
      bench.handle(.disconnected(streamError: nil))
      bench.connect(hasArchive: true)
      bench.send("2", to: "plain@x")
      bench.send("3", to: "c@x")
      bench.advance(.seconds(10))
      #expect(bench.sentTexts == ["3"])
      let order = bench.store.outgoing[RowID(rawValue: 1)]?.order
      bench.page([
        ("1", message("old 1")), ("2", message("old 2")),
        ("3", message("1", from: "a@x", to: "plain@x", order: order)),
      ])
      #expect(bench.sentTexts == ["2"])
      #expect(bench.machine.violations() == [])
    }

    @Test func `Messages of unknown fate to an account with order leave again in their order`() {
      var bench = Self.bench()
      bench.page([("1", message("old 1")), ("2", message("old 2"))])
      bench.send("0")
      bench.receipt("id 0")
      bench.send("1")
      bench.handle(.disconnected(streamError: nil))
      bench.connect(hasArchive: true)
      bench.send("2")
      bench.advance(.seconds(10))
      #expect(bench.sentTexts == ["1", "2"])
      #expect(bench.machine.violations() == [])
    }

    @Test
    func `A stream whose beginning the silent archive has begins with the first live message`() {
      var bench = Self.bench()
      bench.receive("5", order: Self.order(5))
      #expect(bench.texts.last == "old 2")
      bench.advance(.seconds(10))
      #expect(bench.texts.last == "5")
      bench.receive("6", order: Self.order(6))
      #expect(bench.texts.last == "6")
      bench.page([
        ("1", message("old 1")), ("2", message("old 2")), ("3", message("4", order: Self.order(4))),
      ])
      #expect(bench.texts.last == "4 late")
    }
  }
#endif
