#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("Messages of remote notifications")
  struct PushedMessageTests {
    /// A way for a message to come, or something else in between.
    private enum Step: CaseIterable {
      case notification, stream, archive, restart
    }

    private static func outcome(_ bench: MachineBench) -> PushOutcome? {
      bench.actions.compactMap { if case .pushed(_, let outcome) = $0 { outcome } else { nil } }
        .first
    }

    private static func push(
      _ bench: inout MachineBench, _ message: InboundMessage
    ) -> PushOutcome? {
      bench.handle(.pushed(ticket: 1, bench.store.lookUp(message, account: "a@x")))
      return outcome(bench)
    }

    private static func rows(_ bench: MachineBench) -> [IncomingRow] {
      bench.store.incoming.values.filter { $0.kind == .message }.sorted { $0.id < $1.id }
    }

    @Test
    func `A notification makes a provisional row, which the stream confirms and doesn't double`() {
      var bench = MachineBench()
      bench.connect()
      #expect(Self.push(&bench, message("m1")) == .new(sequence: 1))
      #expect(bench.texts == ["m1"] && Self.rows(bench).map(\.isProvisional) == [true])
      bench.receive(message("m1"))
      #expect(bench.actions.contains(.confirmed(sequence: 1)))
      // The sender gets its receipt with the stanza, which proves the message.
      #expect(bench.sentReceipts == ["id m1"])
      #expect(bench.texts == ["m1"] && Self.rows(bench).map(\.isProvisional) == [false])
      #expect(Self.push(&bench, message("m1")) == .known)
      #expect(bench.store.violations == [])
    }

    @Test
    func `A correction that a notification has brought is confirmed by the stream and comes once`()
    {
      var bench = MachineBench()
      bench.connect()
      var pushed = message("m1")
      pushed.kind = .content(MessageContent(body: "new text"))
      _ = Self.push(&bench, pushed)
      var corrected = message("m1")
      corrected.kind = .content(
        MessageContent(
          body: "",
          elements: "<body>new text</body><replace xmlns='urn:xmpp:message-correct:0' id='m0'/>"))
      bench.receive(corrected)
      #expect(Self.rows(bench).map(\.isProvisional) == [false])
    }

    @Test func `Another text with the id of a notification is another message`() {
      var bench = MachineBench()
      bench.connect()
      var forged = message("m1")
      forged.kind = .content(MessageContent(body: "forged"))
      _ = Self.push(&bench, forged)
      bench.receive(message("m1"))
      #expect(bench.texts == ["forged", "m1"])
      #expect(Self.rows(bench).map(\.isProvisional) == [true, false])
    }

    @Test
    func `Notifications of blocked senders and without a text bring nothing`() {
      var bench = MachineBench()
      var blocked = message("m1")
      blocked.isBlocked = true
      #expect(Self.push(&bench, blocked) == .blocked)
      #expect(Self.push(&bench, message("")) == .refused)
    }

    @Test
    func `Beyond the bound, the oldest row of a notification stays provisional`() {
      var limits = MessageLimits()
      limits.provisionalCountMax = 2
      var bench = MachineBench(limits: limits)
      for number in 1...3 {
        #expect(Self.push(&bench, message("m\(number)")) == .new(sequence: Int64(number)))
      }
      bench.restart()
      bench.connect()
      for number in 1...3 { bench.receive(message("m\(number)")) }
      #expect(bench.texts == ["m1", "m2", "m3"])
      #expect(Self.rows(bench).map(\.isProvisional) == [true, false, false])
    }

    /// The message as the stream and the archive have it: with elements, and a place in a stream of its sender.
    private static func whole(_ number: Int, of stream: OrderStreamID) -> InboundMessage {
      var message = message(
        "m\(number)", order: OrderElement(stream: stream, number: UInt64(number), since: 1))
      message.kind = .content(
        MessageContent(
          body: "m\(number)", elements: "<reply xmlns='urn:xmpp:reply:0' id='\(number)'/>"))
      return message
    }

    /// A store after these steps.
    private static func bench(after order: [Step]) -> MachineBench {
      let whole = whole(1, of: OrderStreamID(high: 0, low: 7))
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page([])
      for step in order {
        switch step {
        case .notification: _ = push(&bench, message("m1"))
        case .stream:
          var live = whole
          live.archiveID = "entry"
          bench.receive(live)
        case .archive:
          bench.handle(.disconnected(streamError: nil))
          bench.connect(hasArchive: true)
          bench.page([("entry", whole)])
        case .restart:
          bench.restart()
          bench.connect(hasArchive: true)
          bench.page([])
        }
        #expect(bench.machine.violations() == [])
      }
      return bench
    }

    /// All orders of three ways and a restart, five steps at most. A row that the stream or the archive has brought is the
    /// same as in a store that never got the notification.
    @Test func `Notification, stream and archive meet in one row in any order`() {
      var steps: [[Step]] = [[]]
      for length in 0..<5 {
        steps += steps.filter { $0.count == length }.flatMap { run in
          Step.allCases.map { run + [$0] }
        }
      }
      #expect(steps.count == 1 + 4 + 16 + 64 + 256 + 1_024)
      for order in steps where Set(order) != [.restart] && !order.isEmpty {
        let bench = Self.bench(after: order)
        let isProven = order.contains(.stream) || order.contains(.archive)
        #expect(Self.rows(bench).map(\.isProvisional) == [!isProven], "\(order)")
        #expect(Self.rows(bench).map(\.sequence) == [1], "\(order)")
        #expect(bench.store.violations == [], "\(order)")
        guard isProven else { continue }
        let other = Self.bench(after: order.filter { $0 != .notification })
        #expect(Self.rows(bench) == Self.rows(other), "\(order)")
        #expect(bench.store.incomingStreams.values.map(\.next) == [2], "\(order)")
      }
    }

    @Test(arguments: [[1, 2, 3], [3, 1, 2], [2, 3, 1]])
    func `A notification that overtakes earlier messages leaves no gap and holds none back`(
      order: [Int]
    ) {
      let stream = OrderStreamID(high: 0, low: 7)
      var bench = MachineBench()
      bench.connect()
      _ = Self.push(&bench, message("m3"))
      for number in order { bench.receive(Self.whole(number, of: stream)) }
      bench.receive(Self.whole(4, of: stream))
      #expect(Set(bench.texts.prefix(4)) == ["m3", "m1", "m2", "m4"])
      #expect(bench.texts.first == "m3" && bench.texts.last == "m4")
      #expect(Self.rows(bench).allSatisfy { !$0.isProvisional && !$0.content.elements.isEmpty })
      #expect(Self.rows(bench).map(\.order?.number).compactMap(\.self).sorted() == [1, 2, 3, 4])
      #expect(bench.store.violations == [])
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `Many messages that come by all ways at random are each handed over once`(seed: UInt64) {
      var random = SeededGenerator(seed: seed)
      var bench = MachineBench()
      bench.connect(hasArchive: true)
      bench.page([])
      let count = 12
      var proven: Set<Int> = []
      var seen: Set<Int> = []
      for _ in 0..<80 {
        let number = Int(random.next() % UInt64(count))
        switch random.next() % 5 {
        case 0, 1:
          _ = Self.push(&bench, message("m\(number)"))
          seen.insert(number)
        case 2:
          var live = message("m\(number)")
          live.archiveID = "entry \(number)"
          bench.receive(live)
          proven.insert(number)
        case 3:
          bench.handle(.disconnected(streamError: nil))
          bench.connect(hasArchive: true)
          bench.page([("entry \(number)", message("m\(number)"))])
          proven.insert(number)
        default:
          bench.restart()
          bench.connect(hasArchive: true)
          bench.page([])
        }
      }
      let rows = Self.rows(bench)
      #expect(Set(rows.map(\.content.body)) == Set(seen.union(proven).map { "m\($0)" }), "\(seed)")
      #expect(rows.count == seen.union(proven).count, "seed \(seed)")
      let confirmed = rows.filter { !$0.isProvisional }.map(\.content.body)
      #expect(Set(confirmed) == Set(proven.map { "m\($0)" }), "seed \(seed)")
      #expect(bench.store.violations == [], "seed \(seed)")
    }
  }
#endif
