#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("The archive of messages")
  struct ArchiveTests {
    @Test("what the archive has is not sent again, the rest goes first")
    func resend() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page([])
      for text in ["1", "2"] { bench.send(text) }
      bench.handle(.disconnected(streamError: nil))
      bench.connect(hasArchive: true)
      bench.send("3")
      #expect(bench.sentTexts == [])
      let order = bench.store.outgoing[RowID(rawValue: 1)]?.order
      bench.page([("10", message("1", from: "a@x", to: "b@x", order: order))])
      #expect(bench.sentTexts == ["2", "3"])
      #expect(bench.store.outgoing[RowID(rawValue: 1)]?.fate == .archived)
      #expect(bench.texts == [])
    }

    @Test(
      "a message that only the own archive shows is sent again before later ones")
    func resendArchived() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page([])
      for text in ["0", "1"] { bench.send(text) }
      bench.receipt("id 0")
      bench.handle(.disconnected(streamError: nil))
      bench.connect(hasArchive: true)
      bench.send("2")
      let order = bench.store.outgoing[RowID(rawValue: 2)]?.order
      // The server may have ended before the recipient's archive had it.
      bench.page([("10", message("1", from: "a@x", to: "b@x", order: order))])
      #expect(bench.sentTexts == ["1", "2"])
      #expect(bench.store.outgoing[RowID(rawValue: 2)]?.fate == .archived)
      bench.handle(.handled([RowID(rawValue: 2), RowID(rawValue: 3)]))
      #expect(bench.machine.underWay.isEmpty)
      for text in ["1", "2"] { bench.receipt("id \(text)") }
      #expect(bench.machine.entries.isEmpty)
    }

    @Test("the rest of an archive's answer to a killed process is ignored")
    func earlierProcess() throws {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      let old = try #require(bench.query)
      bench.restart()
      bench.connect(isResumed: true, hasArchive: true)
      let rest = ArchivePage.Entry(
        mark: ArchiveMark(id: "9", date: MachineBench.start),
        message: bench.store.lookUp(message("9"), account: "a@x"))
      bench.handle(.page(ArchivePage(query: old.id, entries: [rest], isComplete: true)))
      #expect(bench.store.marks.isEmpty && bench.actions.isEmpty)
      bench.page([("8", message("8")), ("9", message("9"))])
      #expect(bench.texts == ["8", "9"])
    }

    @Test("a query that failed and was answered at last is over")
    func answeredAtLast() throws {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      let first = try #require(bench.query)
      bench.handle(.queryFailed(first.id, isUnknownItem: false))
      bench.advance(.seconds(6))
      bench.page([])
      #expect(!bench.machine.isCatchingUp)
    }

    @Test("a live message without order waits for the end of the archive")
    func live() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.receive("live")
      #expect(bench.texts == [])
      bench.page([("1", message("old")), ("2", message("live"))], isComplete: false)
      bench.page([("3", message("newer"))])
      #expect(bench.texts == ["old", "newer", "live"] || bench.texts == ["old", "live", "newer"])
      #expect(bench.actions.contains(.caughtUp(isWhole: true)))
    }

    @Test("the next reading begins before the end of the last, whose entries must come again")
    func overlap() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page((1...30).map { ("\($0)", message("\($0)")) })
      bench.advance(.seconds(301))
      #expect(bench.query?.start == .after("11"))
      bench.page((12...31).map { ("\($0)", message("\($0)")) })
      #expect(bench.texts == (1...31).map(String.init))
    }

    @Test("an archive that has lost entries is read by time, and a gap is reported once")
    func shrunk() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page((1...5).map { ("\($0)", message("\($0)")) })
      bench.advance(.seconds(301))
      // ejabberd answers an unknown id with everything later.
      bench.page([("7", message("7"))])
      #expect(bench.query?.start == .date(MachineBench.start - 600_000))
      bench.page([("5", message("5")), ("7", message("7"))])
      #expect(
        bench.texts == ["1", "2", "3", "4", "5", "7", "archive gap"]
          || bench.texts == ["1", "2", "3", "4", "5", "archive gap", "7"])
      bench.advance(.seconds(301))
      bench.page([("7", message("7"))])
      #expect(bench.actions.contains(.caughtUp(isWhole: true)))
    }

    @Test("an unknown id is no gap while the last entry is known")
    func unknownItem() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page((1...5).map { ("\($0)", message("\($0)")) })
      bench.advance(.seconds(301))
      guard let first = bench.query else { return }
      bench.handle(.queryFailed(first.id, isUnknownItem: true))
      #expect(bench.query?.start == .after("5"))
      guard let second = bench.query else { return }
      bench.handle(.queryFailed(second.id, isUnknownItem: true))
      #expect(bench.texts.last == "archive gap")
      #expect(bench.query?.start == .date(MachineBench.start - 600_000))
    }

    @Test("an archive that gives one page for ever is stopped and reported")
    func stalled() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.send("1")
      bench.page([("1", message("a"))], isComplete: false)
      bench.page([("1", message("a"))], isComplete: false)
      #expect(bench.reports == [.archiveStalled])
      #expect(bench.sentTexts == ["1"])
      #expect(bench.texts == ["a"])
    }

    @Test("an archive without an answer holds up what is sent for a stated time only")
    func silent() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.send("1")
      bench.advance(.seconds(9))
      #expect(bench.sentTexts == [])
      bench.advance(.seconds(1))
      #expect(bench.sentTexts == ["1"])
      #expect(bench.actions.contains(.caughtUp(isWhole: false)))
    }

    @Test("without an archive nothing is waited for, and the app hears that")
    func none() {
      var bench = MachineBench()
      bench.connect(hasArchive: false)
      #expect(bench.actions.contains(.caughtUp(isWhole: false)))
      bench.send("1")
      #expect(bench.sentTexts == ["1"])
    }

    @Test("a confirmed message that the archive doesn't have is sent again, once")
    func lostByServer() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page([])
      bench.send("1")
      bench.send("2")
      bench.handle(.handled([RowID(rawValue: 1), RowID(rawValue: 2)]))
      let order = bench.store.outgoing[RowID(rawValue: 2)]?.order
      bench.advance(.seconds(301))
      bench.page([("10", message("2", from: "a@x", to: "b@x", order: order))])
      #expect(bench.answerLoads().count == 1)
      bench.advance(.seconds(301))
      bench.page([("10", message("2", from: "a@x", to: "b@x", order: order))])
      #expect(bench.answerLoads().isEmpty)
      #expect(bench.machine.entries.isEmpty)
    }

    @Test("receipts for the archive's messages are sent at its end, without those that it has")
    func receipts() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      let receipt = InboundMessage(
        sender: "a@x", recipient: "b@x", id: nil, kind: .receipt("id 1"), date: 1)
      bench.page([("1", message("1")), ("2", message("2")), ("3", receipt)], isComplete: false)
      #expect(bench.sent.isEmpty)
      bench.page([("4", nil)])
      #expect(bench.sent.map(\.kind) == [.receipt("id 2", nil)])
    }

    @Test("receipts for a long archive wait for its end, so that its pages don't wait for them")
    func manyReceipts() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      let count = 20_000
      for first in stride(from: 0, to: count, by: 1_000) {
        bench.page(
          (first..<first + 1_000).map { ("\($0)", message("\($0)")) }, isComplete: false)
      }
      #expect(bench.sent.isEmpty)
      #expect(bench.machine.receipts.all.count == count)
      bench.page([("end", nil)])
      var names: [String] = []
      while !bench.machine.receipts.underWay.isEmpty {
        names += bench.sentReceipts
        bench.actions = []
        bench.handle(.handled(bench.machine.receipts.underWay.sorted()))
      }
      #expect(names == (0..<count).map { "id \($0)" })
      #expect(bench.machine.receipts.all.capacity == 0)
    }

    @Test(
      "receipts wait for a slow archive longer than messages do, and not for one that is silent")
    func receiptsOfSlowArchive() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      for page in 1...10 {
        bench.advance(.seconds(8))
        bench.page([("\(page)", message("\(page)"))], isComplete: false)
        bench.receive("live \(page)")
        #expect(bench.sentReceipts.isEmpty, "\(page)")
      }
      #expect(bench.texts.contains("live 1"))
      bench.advance(.seconds(9))
      #expect(bench.sentReceipts.isEmpty)
      bench.advance(.seconds(1))
      #expect(bench.sentReceipts.count == 20)
    }

    @Test("Streams whose beginning the archive doesn't have go on in one order")
    func beginningsInOrder() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      for number in (10...39).reversed() {
        let stream = OrderStreamID(high: 1, low: UInt64(number))
        bench.receive(
          "\(number)", from: "p\(number)@x", order: OrderElement(stream: stream, number: 7))
      }
      #expect(bench.texts.isEmpty)
      bench.page([])
      #expect(bench.texts == (10...39).map { "\($0)" })
    }

    @Test("a store that was restored from a copy goes on in a new stream")
    func copy() {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page([])
      bench.send("1")
      bench.handle(.handled([RowID(rawValue: 1)]))
      let old = bench.store.outgoingStreams["b@x"]?.stream
      bench.restart()
      bench.send("2")
      bench.connect(hasArchive: true)
      // The archive has a second message that this store doesn't know.
      var order = bench.store.outgoing[RowID(rawValue: 1)]?.order
      order?.number = 2
      bench.page([("9", message("of the lost state", from: "a@x", to: "b@x", order: order))])
      #expect(bench.reports == [.restoredCopy(peer: "b@x")])
      #expect(bench.texts == ["sent of the lost state"])
      guard case .message(_, let new, _) = bench.sent.first?.kind else {
        Issue.record("no message")
        return
      }
      #expect(new.stream != old && new.number == 1)
      #expect(bench.machine.violations() == [])
    }
  }
#endif
