#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("Messages that wait for the archive while the connection ends or the app is suspended")
  struct OfflineWaitingTests {
    /// A session in which a message waits for the archive; the store has read two messages of it before.
    private static func bench(isNew: Bool = false, order: OrderElement? = nil) -> MachineBench {
      var bench = MachineBench(isNew: isNew)
      bench.connect(hasArchive: true)
      if !isNew {
        bench.page([("1", message("old 1")), ("2", message("old 2"))])
        bench.handle(.disconnected(streamError: nil))
        bench.connect(hasArchive: true)
      }
      bench.receive("live", order: order)
      return bench
    }

    private static func cut(_ bench: inout MachineBench) {
      bench.handle(.disconnected(streamError: nil))
    }

    private static let old = [("1", message("old 1")), ("2", message("old 2"))]

    @Test func `Ten seconds after the connection has ended, the app gets a gap and what waits`() {
      var bench = Self.bench()
      Self.cut(&bench)
      bench.advance(.seconds(9))
      #expect(bench.texts == ["old 1", "old 2"])
      // Attempts that fail are no new ends.
      Self.cut(&bench)
      bench.advance(.seconds(1))
      #expect(bench.texts == ["old 1", "old 2", "archive gap", "live"])
      #expect(!bench.machine.holdsMessagesBack && bench.machine.nextWake == nil)
      bench.connect(hasArchive: true)
      bench.receive("live 2")
      bench.page(Self.old + [("3", message("missed")), ("4", message("live"))])
      #expect(bench.texts.suffix(4) == ["archive gap", "live", "missed late", "live 2"])
      #expect(bench.machine.violations() == [])
    }

    @Test func `A connection that is back in time keeps the order`() {
      var bench = Self.bench()
      Self.cut(&bench)
      bench.advance(.seconds(9))
      bench.connect(hasArchive: true)
      bench.advance(.seconds(9))
      bench.page(Self.old + [("3", message("missed")), ("4", message("live"))])
      #expect(bench.texts == ["old 1", "old 2", "missed", "live"])
    }

    @Test func `Connections that end again and again hold a message back for a minute at most`() {
      var bench = Self.bench()
      let start = bench.now
      while bench.texts.last != "live", bench.now - start < .seconds(120) {
        bench.advance(.seconds(8))
        Self.cut(&bench)
        bench.advance(.seconds(1))
        bench.connect(hasArchive: true)
      }
      #expect(bench.texts.suffix(2) == ["archive gap", "live"])
      #expect(bench.now - start <= .seconds(63))
    }

    @Test func `A process that begins without a connection hands over what has waited before it`() {
      var bench = Self.bench()
      bench.restart()
      #expect(bench.machine.holdsMessagesBack)
      bench.advance(.seconds(10))
      #expect(bench.texts.suffix(2) == ["archive gap", "live"])
    }

    @Test
    func `A message before the account's abilities waits ten seconds, whether or not cut off`() {
      var bench = Self.bench()
      Self.cut(&bench)
      bench.advance(.seconds(10))
      bench.receive("early")
      bench.advance(.seconds(6))
      Self.cut(&bench)
      bench.advance(.seconds(3))
      #expect(bench.texts.last == "live")
      bench.advance(.seconds(1))
      #expect(bench.texts.last == "early")
    }

    @Test
    func `A later process knows which messages of the archive are late, until it has read it`() {
      var bench = Self.bench()
      bench.advance(.seconds(10))
      #expect(bench.texts.suffix(2) == ["archive gap", "live"])
      bench.restart()
      bench.connect(hasArchive: true)
      bench.page(Self.old + [("3", message("missed"))], isComplete: false)
      bench.page([("4", message("live"))])
      #expect(bench.texts.suffix(3) == ["archive gap", "live", "missed late"])
      bench.restart()
      bench.connect(hasArchive: true)
      bench.page(
        Self.old + [("3", message("missed")), ("4", message("live")), ("5", message("next"))])
      #expect(bench.texts.last == "next")
    }

    @Test func `A stream whose beginning is unknown waits without a connection as long as others`()
    {
      let stream = OrderStreamID(high: 1, low: 2)
      var bench = Self.bench(order: OrderElement(stream: stream, number: 5, since: nil))
      Self.cut(&bench)
      #expect(bench.machine.holdsMessagesBack)
      bench.advance(.seconds(10))
      #expect(bench.texts.last == "live")
      bench.connect(hasArchive: true)
      bench.page(
        Self.old + [("3", message("4", order: OrderElement(stream: stream, number: 4, since: nil)))]
      )
      #expect(bench.texts.last == "4 late")
    }

    @Test func `A new store reports no gap: what its archive has is history`() {
      var bench = Self.bench(isNew: true)
      Self.cut(&bench)
      bench.advance(.seconds(10))
      #expect(bench.texts == ["live"])
    }

    @Test func `An app that is about to be suspended gets what waits for a silent archive`() {
      var bench = Self.bench()
      bench.handle(.endWaiting)
      #expect(bench.texts.suffix(2) == ["archive gap", "live"])
      #expect(bench.actions.contains(.caughtUp(isWhole: false)))
      bench.receive("live 2")
      #expect(bench.texts.last == "live 2")
      bench.page(Self.old + [("3", message("missed")), ("4", message("live"))])
      #expect(bench.texts.last == "missed late")
    }

    @Test(arguments: [false, true])
    func `So does one whose server is silent about abilities, and one without a connection`(
      isConnecting: Bool
    ) {
      var bench = Self.bench()
      Self.cut(&bench)
      if isConnecting { bench.receive("live 2") }
      bench.handle(.endWaiting)
      #expect(
        bench.texts.dropFirst(2) == ["archive gap", "live"] + (isConnecting ? ["live 2"] : []))
      // A session that has begun is the one of the silent server: what comes of it passes. Another one has a chance.
      bench.receive("live 3")
      #expect((bench.texts.last == "live 3") == isConnecting)
      bench.connect(hasArchive: true)
      bench.page(Self.old + [("3", message("missed"))])
      #expect(bench.texts.contains("missed late") && bench.texts.contains("live 3"))
    }
  }
#endif
