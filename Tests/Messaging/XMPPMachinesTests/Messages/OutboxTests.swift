#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("The outbox of messages")
  struct OutboxTests {
    private static func connected(knowsOrder: Bool = false) -> MachineBench {
      var bench = MachineBench()
      bench.connect()
      guard knowsOrder else { return bench }
      bench.send("0")
      bench.handle(.handled([RowID(rawValue: 1)]))
      bench.receipt("id 0")
      return bench
    }

    @Test("a message is accepted when it is stored, and sent when there is a session")
    func offline() {
      var bench = MachineBench()
      bench.send("1")
      #expect(bench.actions == [.accepted(ticket: 1, RowID(rawValue: 1))])
      #expect(bench.store.outgoing.count == 1)
      bench.connect()
      #expect(bench.sentTexts == ["1"])
    }

    @Test("the same request twice is one message")
    func repeated() {
      var bench = Self.connected()
      bench.send("1")
      bench.send("1")
      #expect(bench.actions == [.accepted(ticket: 1, RowID(rawValue: 1))])
      #expect(bench.store.outgoing.count == 1)
    }

    @Test("a plain peer's message ends at the server; a receipt comes on top of it")
    func plainPeer() {
      var bench = Self.connected()
      bench.send("1")
      bench.handle(.handled([RowID(rawValue: 1)]))
      #expect(bench.fates == [.acknowledged])
      #expect(bench.machine.entries.isEmpty)
      bench.advance(.seconds(100_000))
      #expect(bench.sent.isEmpty && bench.fates.isEmpty)
      bench.receipt("id 1", hasOrder: false)
      #expect(bench.fates == [.received])
    }

    @Test("a receipt of another account than the recipient's is reported and ignored")
    func forgedReceipt() {
      var bench = Self.connected()
      bench.send("1")
      bench.receipt("id 1", from: "c@x")
      #expect(bench.fates.isEmpty)
      #expect(bench.reports == [.forgedReceipt(from: "c@x")])
    }

    @Test("an account that knows order gets a message again until it confirms it")
    func again() {
      var bench = Self.connected(knowsOrder: true)
      bench.send("1")
      bench.handle(.handled([RowID(rawValue: 2)]))
      bench.advance(.seconds(61))
      #expect(bench.answerLoads().count == 1)
      bench.advance(.seconds(290))
      #expect(bench.answerLoads().isEmpty)
      bench.advance(.seconds(20))
      #expect(bench.answerLoads().count == 1)
      bench.receipt("id 1")
      #expect(bench.fates == [.received])
      bench.advance(.seconds(200_000))
      #expect(bench.answerLoads().isEmpty)
    }

    @Test("a receipt of a later message brings the earlier one again")
    func later() {
      var bench = Self.connected(knowsOrder: true)
      bench.send("1")
      bench.send("2")
      bench.handle(.handled([RowID(rawValue: 2), RowID(rawValue: 3)]))
      bench.advance(.seconds(3))
      bench.receipt("id 2")
      let stanzas = bench.answerLoads()
      #expect(stanzas.count == 1)
      guard case .message(let name, let order, let content) = stanzas.first?.kind else {
        Issue.record("no message")
        return
      }
      #expect(name == "id 1" && content.body == "1" && order.number == 2)
    }

    @Test(
      "a message that was sent a moment before the receipt of a later one is sent again a moment after it"
    )
    func soonAgain() {
      var bench = Self.connected(knowsOrder: true)
      bench.send("1")
      bench.send("2")
      bench.handle(.handled([RowID(rawValue: 2), RowID(rawValue: 3)]))
      bench.receipt("id 2")
      #expect(bench.answerLoads().isEmpty)
      bench.advance(.seconds(3))
      #expect(bench.answerLoads().count == 1)
      #expect(bench.sentTexts == ["1"])
    }

    @Test("messages that ended at the server are sent again when their recipient shows order")
    func showsOrderLater() {
      var bench = Self.connected()
      for number in 1...600 { bench.send("\(number)") }
      for number in 1...600 { bench.handle(.handled([RowID(rawValue: Int64(number))])) }
      #expect(bench.machine.entries.isEmpty)
      bench.advance(.seconds(5))
      bench.receipt("id 2")
      #expect(bench.answerLoads().isEmpty)
      #expect(bench.machine.entries.count == 599)
      // That of the first is due.
      bench.receipt("id 3")
      #expect(bench.answerLoads().count == 1)
      #expect(bench.sentTexts == ["1"])
      bench.receipt("id 1")
      #expect(bench.machine.entries.count == 597)
    }

    @Test("old messages of a plain peer are not sent again when it shows order")
    func showsOrderLate() {
      var bench = Self.connected()
      for text in ["1", "2"] { bench.send(text) }
      bench.handle(.handled([RowID(rawValue: 1), RowID(rawValue: 2)]))
      bench.advance(.seconds(90_000))
      bench.receipt("id 2")
      #expect(bench.answerLoads().isEmpty)
      #expect(bench.machine.entries.isEmpty)
    }

    @Test("a recipient gets the numbers that it misses, of its own stream only")
    func missing() {
      var bench = Self.connected(knowsOrder: true)
      bench.send("1")
      bench.handle(.handled([RowID(rawValue: 2)]))
      bench.receipt("id 1")
      bench.advance(.seconds(5))
      guard let stream = bench.store.outgoingStreams["b@x"]?.stream else { return }
      func request(_ sender: String) -> InboundMessage {
        InboundMessage(
          sender: sender, recipient: "a@x", id: nil, kind: .missing(stream, 1...9), date: 1)
      }
      bench.receive(request("c@x"))
      #expect(bench.actions.isEmpty)
      bench.receive(request("b@x"))
      #expect(bench.answerLoads().count == 2)
      bench.receive(request("b@x"))
      #expect(bench.answerLoads().isEmpty, "a flood of requests is a flood of messages")
    }

    @Test("a message fails at its deadline; its number is sent without it, and a receipt corrects")
    func deadline() {
      var bench = Self.connected(knowsOrder: true)
      bench.send("1", patience: .seconds(10))
      bench.handle(.handled([RowID(rawValue: 2)]))
      bench.advance(.seconds(11))
      #expect(bench.fates == [.failed(.deadline)])
      guard case .void(let order) = bench.sent.first?.kind else {
        Issue.record("no void")
        return
      }
      #expect(order.number == 2)
      bench.receipt("id 1")
      #expect(bench.fates == [.received])
    }

    @Test("Messages to many accounts fail in the order in which they were sent")
    func deadlinesInOrder() {
      var bench = MachineBench()
      for number in 1...30 { bench.send("\(number)", to: "p\(number)@x", patience: .seconds(10)) }
      bench.advance(.seconds(11))
      let failed = bench.actions.compactMap {
        if case .fate(let id, .failed(.deadline)) = $0 { id } else { nil }
      }
      #expect(failed.count == 30 && failed == failed.sorted())
    }

    @Test("Messages to many accounts are sent again in one order")
    func resendingInOrder() {
      var bench = MachineBench()
      bench.connect()
      let peers = (10...39).map { "p\($0)@x" }
      for peer in peers.reversed() {
        bench.send(peer, to: peer)
        bench.confirmSent()
        bench.receipt("id \(peer)", from: peer)
        bench.send("again \(peer)", to: peer)
        bench.confirmSent()
      }
      bench.advance(.seconds(86_400))
      let streams = bench.actions.compactMap {
        if case .load(let stream, _) = $0 { stream } else { nil }
      }
      let own = peers.compactMap { bench.store.outgoingStreams[$0]?.stream }
      #expect(streams.count >= 30 && Array(streams.prefix(30)) == own)
    }

    @Test("a deadline holds over the end of the process, whatever the clock does")
    func deadlineAfterRestart() {
      var bench = MachineBench()
      bench.send("1", patience: .seconds(100))
      bench.advance(.seconds(40))
      bench.restart()
      bench.advance(.seconds(59))
      #expect(bench.fates.isEmpty)
      bench.advance(.seconds(2))
      #expect(bench.fates == [.failed(.deadline)])
    }

    @Test("a stanza that closes the stream twice fails, and those beside it are sent")
    func closesStream() {
      var bench = Self.connected()
      for text in ["1", "bomb", "3"] { bench.send(text) }
      bench.handle(.disconnected(streamError: "policy-violation"))
      var sent: [String] = []
      for _ in 0..<3 {
        bench.connect()
        // One at a time, so that the reason is known.
        while let stanza = bench.sent.first, let row = stanza.row {
          #expect(bench.sent.count == 1)
          sent += bench.sentTexts
          if bench.sentTexts == ["bomb"] {
            bench.handle(.disconnected(streamError: "policy-violation"))
            break
          }
          bench.handle(.handled([row]))
        }
      }
      #expect(sent == ["1", "bomb", "bomb", "3"])
      #expect(
        bench.store.outgoing[RowID(rawValue: 2)]?.fate == .failed(.closesStream("policy-violation"))
      )
    }

    @Test("an error stanza fails a message if it comes from the recipient or a server")
    func bounced() {
      var bench = Self.connected()
      bench.send("1")
      func error(_ sender: String) -> InboundMessage {
        InboundMessage(
          sender: sender, recipient: "a@x", id: "id 1", kind: .error("item-not-found", of: "id 1"),
          date: 1)
      }
      bench.receive(error("c@x"))
      #expect(bench.fates.isEmpty)
      bench.receive(error("x"))
      #expect(bench.fates == [.failed(.refused("item-not-found"))])
    }

    @Test
    func `A message that comes back for now leaves again to an account that numbers its messages`()
    {
      var bench = Self.connected()
      bench.send("0")
      bench.receipt("id 0")
      bench.send("1")
      bench.send("plain", to: "plain@x")
      func back(_ name: String, from sender: String) -> InboundMessage {
        InboundMessage(
          sender: sender, recipient: "a@x", id: name,
          kind: .error("remote-server-timeout", of: name, isTransient: true), date: 1)
      }
      bench.receive(back("id 1", from: "b@x"))
      #expect(bench.fates.isEmpty)
      bench.receive(back("id plain", from: "plain@x"))
      #expect(bench.fates == [.failed(.refused("remote-server-timeout"))])
      bench.handle(.handled([RowID(rawValue: 2)]))
      bench.advance(.seconds(3_600))
      #expect(
        bench.answerLoads().contains { stanza in
          if case .message(_, _, let content) = stanza.kind { content.body == "1" } else { false }
        })
      bench.receipt("id 1")
      #expect(bench.fates == [.received])
    }

    @Test("no more than the window is under way, and the rest follows in order")
    func window() {
      var limits = MessageLimits()
      limits.windowCountMax = 2
      var bench = MachineBench(limits: limits)
      for number in 1...5 { bench.send("\(number)") }
      bench.connect()
      #expect(bench.sentTexts == ["1", "2"])
      bench.handle(.handled([RowID(rawValue: 1)]))
      #expect(bench.sentTexts == ["3"])
    }

    @Test("a full outbox refuses, and takes more when the server has taken some")
    func full() {
      var limits = MessageLimits()
      limits.outgoingCountMax = 2
      var bench = MachineBench(limits: limits)
      bench.connect()
      for number in 1...3 { bench.send("\(number)") }
      #expect(bench.actions == [.refused(ticket: 1)])
      bench.handle(.handled([RowID(rawValue: 1)]))
      bench.send("4")
      #expect(bench.sentTexts == ["4"])
    }
  }
#endif
