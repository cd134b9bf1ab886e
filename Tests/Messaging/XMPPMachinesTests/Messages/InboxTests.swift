#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("The inbox of messages")
  struct InboxTests {
    private static let stream = OrderStreamID(high: 1, low: 1)

    private static func order(_ number: UInt64, since: UInt64? = 1) -> OrderElement {
      OrderElement(stream: stream, number: number, since: since)
    }

    private static func connected() -> MachineBench {
      var bench = MachineBench()
      bench.connect()
      return bench
    }

    @Test("a message that overtakes another one waits for it")
    func order() {
      var bench = Self.connected()
      bench.receive("2", order: Self.order(2))
      #expect(bench.texts == [])
      // It is confirmed as soon as it is on disk.
      #expect(bench.sent.count == 1)
      bench.receive("1", order: Self.order(1))
      #expect(bench.texts == ["1", "2"])
    }

    @Test("a hole is requested from its sender, and reported as a gap when nothing fills it")
    func gap() {
      var bench = Self.connected()
      bench.receive("1", order: Self.order(1))
      bench.receive("4", order: Self.order(4))
      bench.advance(.seconds(3))
      #expect(bench.sent.map(\.kind) == [.missing(Self.stream, 2...3)])
      #expect(bench.sent.map(\.recipient) == ["b@x"])
      bench.advance(.seconds(50))
      #expect(bench.sent.count == 5)
      #expect(bench.texts == ["1"])
      bench.advance(.seconds(10))
      #expect(bench.texts == ["1", "gap 2...3", "4"])
      bench.receive("3", order: Self.order(3))
      #expect(bench.texts.last == "3 late")
      bench.receive("5", order: Self.order(5))
      #expect(bench.texts.last == "5")
    }

    @Test("a message that is sent again behind a whole window of later ones still comes in order")
    func behindWindow() {
      var bench = Self.connected()
      bench.receive("1", order: Self.order(1))
      let last = UInt64(3 + 2 * bench.limits.windowCountMax)
      for number in 3...last { bench.receive("\(number)", order: Self.order(number)) }
      bench.receive("2", order: Self.order(2))
      #expect(bench.texts == (1...last).map { "\($0)" })
      #expect(bench.reports.isEmpty)
    }

    @Test("a hole is requested at once when many messages wait behind it")
    func urgentHole() {
      var bench = Self.connected()
      bench.receive("1", order: Self.order(1))
      for number in 3...66 { bench.receive("\(number)", order: Self.order(UInt64(number))) }
      bench.advance(.zero)
      #expect(bench.sent.map(\.kind) == [.missing(Self.stream, 2...2)])
    }

    @Test("the next hole is requested and waited for like the first")
    func secondHole() {
      var bench = Self.connected()
      for number in [1, 3, 5] { bench.receive("\(number)", order: Self.order(UInt64(number))) }
      bench.advance(.seconds(3))
      #expect(bench.sent.map(\.kind) == [.missing(Self.stream, 2...2)])
      bench.receive("2", order: Self.order(2))
      bench.advance(.seconds(3))
      #expect(bench.sent.map(\.kind) == [.missing(Self.stream, 4...4)])
      bench.advance(.seconds(56))
      #expect(bench.texts == ["1", "2", "3"])
      bench.advance(.seconds(2))
      #expect(bench.texts == ["1", "2", "3", "gap 4...4", "5"])
    }

    @Test("a hole waits longer while there is no connection, and not for ever")
    func offlineGap() {
      var bench = Self.connected()
      bench.receive("1", order: Self.order(1))
      bench.receive("3", order: Self.order(3))
      bench.handle(.disconnected(streamError: nil))
      bench.advance(.seconds(120))
      #expect(bench.texts == ["1"])
      #expect(bench.sent.isEmpty)
      bench.advance(.seconds(800))
      #expect(bench.texts == ["1", "gap 2...2", "3"])
    }

    @Test("a number without a message fills a hole")
    func void() {
      var bench = Self.connected()
      bench.receive("1", order: Self.order(1))
      bench.receive("3", order: Self.order(3))
      bench.receive(
        InboundMessage(
          sender: "b@x", recipient: "a@x", id: nil, order: Self.order(2), kind: .void, date: 1))
      #expect(bench.texts == ["1", "3"])
    }

    @Test("a stream begins with the number that its sender names, at most 256 before the message")
    func baseLine() {
      var bench = Self.connected()
      bench.receive("9", order: Self.order(9, since: 8))
      #expect(bench.texts == [])
      bench.receive("8", order: Self.order(8, since: 8))
      #expect(bench.texts == ["8", "9"])
      let other = OrderStreamID(high: 2, low: 2)
      bench.receive("a", order: OrderElement(stream: other, number: 1_000, since: 1))
      bench.advance(.seconds(61))
      #expect(bench.texts.suffix(2) == ["gap 744...999", "a"])
      let foreign = OrderStreamID(high: 3, low: 3)
      bench.receive("b", order: OrderElement(stream: foreign, number: 5, since: 7))
      #expect(bench.texts.last == "b")
    }

    @Test("a duplicate is confirmed again, and not handed over, also by the next process")
    func duplicate() {
      var bench = Self.connected()
      bench.receive("1", order: Self.order(1))
      bench.confirmSent()
      bench.receive("1", order: Self.order(1))
      #expect(bench.sent.map(\.kind) == [.receipt("id 1", Self.order(1))])
      bench.confirmSent()
      bench.restart()
      bench.connect()
      bench.receive("1", order: Self.order(1))
      #expect(bench.sent.count == 1)
      bench.receive("2", order: Self.order(2))
      #expect(bench.texts == ["1", "2"])
    }

    @Test("another message with the same number is handed over, and reported")
    func renumbered() {
      var bench = Self.connected()
      bench.receive("1", order: Self.order(1))
      bench.receive("other", order: Self.order(1))
      #expect(bench.texts == ["1", "other late"])
      #expect(bench.reports == [.renumbered(from: "b@x")])
    }

    @Test("a program's messages with one id and other texts are handed over; copies are not")
    func withoutOrder() {
      var bench = Self.connected()
      bench.receive("on", id: "1")
      bench.receive("off", id: "1")
      bench.receive("off", id: "1")
      #expect(bench.texts == ["on", "off"])
      bench.receive("off", from: "c@x", id: "1")
      #expect(bench.texts == ["on", "off", "off"])
    }

    @Test("a carbon counts only if it comes from the own account")
    func carbons() {
      var bench = Self.connected()
      bench.receive("forged", wrapper: .carbon(from: "b@x"))
      #expect(bench.texts == [])
      #expect(bench.reports == [.forgedCarbon(from: "b@x")])
      bench.receive("real", wrapper: .carbon(from: "a@x"))
      bench.receive("also real", wrapper: .carbon(from: nil))
      #expect(bench.texts == ["real", "also real"])
    }

    @Test("a message of another own device is handed over as such, once, without a receipt")
    func sentElsewhere() {
      var bench = Self.connected()
      for _ in 0..<2 { bench.receive(message("hi", from: "a@x", to: "b@x")) }
      #expect(bench.texts == ["sent hi"])
      #expect(bench.sent.isEmpty)
    }

    @Test("a sender that floods with holes is bounded: gaps are reported early")
    func flood() {
      var bench = Self.connected()
      for number in 1...1_000 {
        let stream = OrderStreamID(high: 9, low: UInt64(number % 40))
        bench.receive(
          "\(number)", order: OrderElement(stream: stream, number: UInt64(number * 2), since: 1))
      }
      #expect(bench.machine.streams.count <= bench.limits.streamsPerSenderMax)
      for number in 2...400 {
        bench.receive("m\(number)", order: Self.order(UInt64(number)))
      }
      #expect(bench.machine.heldCount < 800)
      #expect(bench.machine.violations() == [])
      bench.advance(.seconds(61))
      #expect(bench.machine.heldCount == 0)
      #expect(bench.store.violations == [])
    }

    @Test("a number that no stream can have is no order")
    func hugeNumber() {
      var bench = Self.connected()
      bench.receive("huge", order: OrderElement(stream: Self.stream, number: .max, since: .max))
      bench.receive("zero", order: OrderElement(stream: Self.stream, number: 0))
      bench.receive(
        "last", order: OrderElement(stream: Self.stream, number: OrderElement.numberMax, since: nil)
      )
      #expect(bench.texts == ["huge", "zero", "last"])
    }

    @Test("an acknowledged row is stored as taken")
    func acknowledgement() {
      var bench = Self.connected()
      bench.receive("1")
      #expect(bench.actions.contains(.deliver(through: 1)))
      bench.handle(.acknowledge(sequence: 1))
      #expect(bench.store.acknowledged == [1])
    }

    @Test("the server's count is stored with the message, and confirmed afterwards")
    func counts() {
      var bench = Self.connected()
      bench.handle(
        .session(
          StoredSession(id: "s", jid: "a@x/1", location: nil, inboundCount: 0, outboundCount: 0)))
      bench.handle(.received(LookedUp(message("1")), count: 7))
      #expect(bench.store.session?.inboundCount == 7)
      #expect(bench.actions.contains(.confirm(count: 7)))
      bench.handle(.counted(8))
      #expect(bench.store.session?.inboundCount == 8)
    }
  }
#endif
