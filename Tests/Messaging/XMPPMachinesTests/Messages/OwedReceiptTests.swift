#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("Receipts that are owed")
  struct OwedReceiptTests {
    @Test(
      "A receipt that the server has not confirmed is sent by the next process and in the next session"
    )
    func restart() {
      var bench = MachineBench()
      bench.receive("1")
      #expect(bench.sent.isEmpty)
      bench.restart()
      bench.connect()
      #expect(bench.sentReceipts == ["id 1"])
      bench.handle(.disconnected(streamError: nil))
      bench.connect()
      #expect(bench.sentReceipts == ["id 1"])
      bench.confirmSent()
      bench.restart()
      bench.connect()
      #expect(bench.sentReceipts == [])
      #expect(bench.store.receipts.isEmpty)
    }

    @Test("A process that resumes a session sends no receipt again that the stream repeats")
    func resumption() {
      var bench = MachineBench()
      bench.handle(
        .session(
          StoredSession(id: "s", jid: "a@x/1", location: nil, inboundCount: 0, outboundCount: 0)))
      bench.connect()
      bench.receive("1")
      let rows = bench.sent.compactMap(\.row)
      // As the driver does before the bytes leave.
      bench.store.apply(rows.map { .setPosition($0, 1) })
      bench.restart()
      bench.connect(isResumed: true)
      #expect(bench.sentReceipts == [])
      bench.handle(.handled(rows))
      #expect(bench.store.receipts.isEmpty)
    }

    @Test("A message that comes again gets another receipt once the first one has left")
    func repetition() {
      var bench = MachineBench()
      bench.connect()
      bench.receive("1")
      bench.receive("1")
      #expect(bench.sentReceipts == [])
      bench.receive("2")
      bench.handle(.handled(Array(bench.machine.receipts.underWay)))
      bench.receive("1")
      #expect(bench.sentReceipts == ["id 1"])
      #expect(bench.texts == ["1", "2"])
    }

    @Test(
      "A stranger gets receipts once the app has written to it, and those of its earlier messages")
    func strangers() {
      var bench = MachineBench(confirmsToStrangers: false)
      bench.connect()
      bench.receive("1")
      bench.receive("2", from: "c@x")
      #expect(bench.sent.isEmpty)
      bench.restart()
      bench.connect()
      #expect(bench.sent.isEmpty)
      bench.send("hello")
      #expect(bench.sentReceipts == ["id 1"])
      bench.receive("3")
      #expect(bench.sentReceipts == ["id 3"])
    }

    @Test("A receipt that another device has sent is not sent again")
    func otherDevice() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.receive("1")
      bench.page([
        (
          "9",
          InboundMessage(
            sender: "a@x", recipient: "b@x", id: nil, kind: .receipt("id 1"), date: 1)
        )
      ])
      #expect(bench.sentReceipts == [])
      #expect(bench.store.receipts.isEmpty)
    }

    @Test("Receipts for one stranger or for many are bounded, and dropped ones are reported")
    func bounds() {
      var bench = MachineBench(confirmsToStrangers: false)
      bench.connect()
      for number in 0..<100 { bench.receive("\(number)", from: "spam@x") }
      #expect(bench.machine.receipts.all.count == OwedReceipts.perStrangerMax)
      #expect(bench.reports == [.receiptsDropped(count: 1)])
      for number in 0..<1_100 { bench.receive("\(number)", from: "spam\(number)@x") }
      #expect(bench.machine.receipts.withheld.count == OwedReceipts.strangerCountMax)
      #expect(bench.store.receipts.count == bench.machine.receipts.all.count)
      #expect(bench.machine.violations() == [])
    }

    @Test("Receipts for messages with long ids are bounded by their bytes")
    func bytes() {
      var bench = MachineBench(confirmsToStrangers: false)
      bench.connect()
      let long = String(repeating: "x", count: 1 << 20)
      for number in 0..<20 { bench.receive("\(number)", from: "spam\(number)@x", id: long) }
      #expect(bench.machine.receipts.all.count == 15)
      #expect(bench.store.receipts.count == 15)
      #expect(bench.reports == [.receiptsDropped(count: 1)])
      #expect(bench.machine.violations() == [])
      bench.restart()
      #expect(bench.machine.violations() == [])
    }

    @Test("A server that confirms nothing gets a window of receipts, and the rest is bounded")
    func window() {
      var limits = MessageLimits()
      limits.owedCountMax = 100
      limits.receiptWindowMax = 10
      var bench = MachineBench(limits: limits)
      bench.connect()
      for number in 0..<200 { bench.receive("\(number)") }
      #expect(bench.machine.receipts.underWay.count == 10)
      #expect(bench.machine.receipts.waiting.count == 100)
      bench.handle(.handled(Array(bench.machine.receipts.underWay)))
      #expect(bench.sentReceipts.first == "id 100")
      #expect(bench.store.receipts.count == 100)
    }
  }
#endif
