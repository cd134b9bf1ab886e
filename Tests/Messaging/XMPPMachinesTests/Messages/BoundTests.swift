#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("Bounds of the machine of messages against hostile peers")
  struct BoundTests {
    @Test("Senders that invent streams are bounded, and a peer of the app keeps its place")
    func streams() {
      var limits = MessageLimits()
      limits.streamCountMax = 100
      var bench = MachineBench(limits: limits)
      bench.connect()
      bench.send("hello", to: "friend@x")
      let own = OrderStreamID(high: 1, low: 1)
      bench.receive(
        "1", from: "friend@x", order: OrderElement(stream: own, number: 1, since: 1))
      for number in 1...500 {
        let stream = OrderStreamID(high: 2, low: UInt64(number))
        bench.receive(
          "spam \(number)", from: "spam\(number)@x",
          order: OrderElement(stream: stream, number: 7, since: 1))
      }
      #expect(bench.machine.streams.count <= 100)
      #expect(bench.store.incomingStreams.count <= 100)
      // A stream that was forgotten would begin with any number.
      bench.receive(
        "3", from: "friend@x", order: OrderElement(stream: own, number: 3, since: 3))
      #expect(bench.texts.last != "3")
      bench.receive(
        "2", from: "friend@x", order: OrderElement(stream: own, number: 2, since: 2))
      #expect(bench.texts.suffix(2) == ["2", "3"])
      #expect(bench.machine.violations() == [])
    }

    @Test("A stranger's message is taken where all streams are of peers of the app")
    func stranger() {
      var limits = MessageLimits()
      limits.streamCountMax = 10
      var bench = MachineBench(limits: limits)
      bench.connect()
      for number in 1...10 {
        bench.send("hello \(number)", to: "friend\(number)@x")
        let stream = OrderStreamID(high: 1, low: UInt64(number))
        bench.receive(
          "\(number)", from: "friend\(number)@x",
          order: OrderElement(stream: stream, number: 1, since: 1))
      }
      bench.receive(
        "new", from: "stranger@x",
        order: OrderElement(stream: OrderStreamID(high: 2, low: 1), number: 1, since: 1))
      #expect(bench.texts.last == "new")
      #expect(bench.machine.streams.count == 10)
      #expect(bench.machine.violations() == [])
    }

    @Test("The numbers below a bound are those of the rows after any additions and removals")
    func numbers() {
      var chance = SeededGenerator(seed: 7)
      let stream = OutgoingStream(
        peer: "b@x", stream: OrderStreamID(high: 1, low: 1), next: 2_000)
      var conversation = Conversation(stream: stream)
      for _ in 0..<5_000 {
        let first: UInt64 = chance.unit() < 0.1 ? 1_801 : 1
        let number = first + chance.next(upperBound: UInt64(100))
        if chance.unit() < 0.5 {
          conversation.add(RowID(rawValue: Int64(number)), number)
        } else {
          conversation.rows[number] = nil
        }
        let end = chance.next(upperBound: UInt64(3_000))
        let found = conversation.numbers(below: end).sorted()
        #expect(found == conversation.rows.keys.filter { $0 < min(end, stream.next) }.sorted())
      }
    }

    @Test("A peer that invents ids, requests and receipts makes no conversation")
    func conversations() {
      var bench = MachineBench()
      bench.connect()
      for number in 1...1_000 {
        let stream = OrderStreamID(high: 3, low: UInt64(number))
        bench.receive(
          InboundMessage(
            sender: "spam\(number)@x", recipient: "a@x", id: nil, kind: .missing(stream, 1...9),
            date: 1))
        bench.receipt("id \(number)", from: "spam\(number)@x")
      }
      #expect(bench.machine.conversations.isEmpty)
      #expect(bench.store.outgoingStreams.isEmpty)
      #expect(bench.machine.violations() == [])
    }
  }
#endif
