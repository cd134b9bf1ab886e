#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Messages of blocked addresses")
  struct BlockedMessageTests {
    private static let stream = OrderStreamID(high: 1, low: 1)

    private func order(_ number: UInt64, since: UInt64) -> OrderElement {
      OrderElement(stream: Self.stream, number: number, since: since)
    }

    private func blocked(
      _ text: String, _ order: OrderElement? = nil, archiveID: String? = nil
    ) -> InboundMessage {
      var blocked = message(text, order: order)
      blocked.archiveID = archiveID
      blocked.isBlocked = true
      return blocked
    }

    private func connected() -> MachineBench {
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page([])
      return bench
    }

    @Test func `A message of a blocked sender is not handed over and gets no receipt`() throws {
      var bench = connected()
      bench.receive(blocked("1", order(1, since: 1), archiveID: "9"))
      #expect(bench.texts == [] && bench.sent.isEmpty && bench.store.incoming.isEmpty)
      bench.handle(.blockChanged(try #require(JID("b@x"))))
      // The archive has it still, when its sender is blocked no more.
      bench.handle(.disconnected(streamError: nil))
      bench.restart()
      bench.connect(hasArchive: true)
      bench.page([("9", message("1", order: order(1, since: 1)))])
      #expect(bench.texts == [])
    }

    @Test func `The hole that a block leaves in a stream is no gap`() throws {
      let sender = try #require(JID("b@x"))
      var bench = connected()
      bench.receive("1", order: order(1, since: 1))
      bench.handle(.blockChanged(sender))
      bench.receive(blocked("2", order(2, since: 2)))
      // The server refuses 3 and 4.
      bench.handle(.blockChanged(sender))
      bench.receive("5", order: order(5, since: 5))
      bench.advance(.seconds(1_000))
      bench.receive("6", order: order(6, since: 6))
      #expect(bench.texts == ["1", "5", "6"])
    }

    @Test func `Messages that wait when their sender is blocked go to the app without a gap`()
      throws
    {
      var bench = connected()
      bench.receive("1", order: order(1, since: 1))
      bench.receive("3", order: order(3, since: 1))
      bench.receive("c", from: "c@x", order: order(2, since: 1))
      bench.handle(.blockChanged(try #require(JID("b@x"))))
      #expect(bench.texts == ["1", "3"])
      #expect(bench.machine.streams.count == 1 && bench.machine.violations() == [])
    }

    @Test func `A blocked domain is one for all its accounts`() throws {
      var bench = connected()
      bench.receive("1", order: order(1, since: 1))
      bench.receive("y", from: "b@y", order: order(1, since: 1))
      bench.handle(.blockChanged(try #require(JID("x"))))
      #expect(bench.machine.streams.keys.map(\.sender) == ["b@y"])
    }

    @Test func `A blocked sender gets no missing messages, and its receipts count`() {
      var bench = connected()
      bench.send("a")
      var request = message("r")
      let stream = bench.store.outgoing[RowID(rawValue: 1)]?.order.stream ?? Self.stream
      request.kind = .missing(stream, 1...1)
      request.isBlocked = true
      bench.receive(request)
      #expect(bench.sent.isEmpty && bench.answerLoads().isEmpty)
      var receipt = message("s")
      receipt.kind = .receipt("id a")
      receipt.isBlocked = true
      bench.receive(receipt)
      #expect(bench.fates.last == .received)
    }
  }
#endif
