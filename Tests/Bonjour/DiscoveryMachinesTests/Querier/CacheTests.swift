import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Querier: received records")
struct CacheTests {
  @Test("B10: known answers of other hosts are not cached")
  func knownAnswersOfOthers() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    lab.hearQuestion(Web.type, .ptr, knownAnswers: [try Web.pointer("Fake")])
    lab.run(.seconds(1))
    #expect(lab.events(query).isEmpty)
    #expect(lab.querier.recordCount == 0)
  }

  @Test("B11: a record in use is asked for at 80, 85, 90 and 95 hundredths of its time")
  func refresh() throws {
    for seed in 1...20 {
      var lab = QuerierLab(seed: UInt64(seed))
      lab.start(.records(Web.host, .a))
      lab.run(.milliseconds(200))
      let begin = lab.now
      lab.sent = []
      lab.hear([Web.address(5, ttlSeconds: 1_000)])
      lab.run(.milliseconds(999_900))
      let percents = lab.times(Web.host, .a).map { ($0 - begin).seconds / 10 }
      #expect(percents.count == 4)
      for (percent, least) in zip(percents, [80.0, 85, 90, 95]) {
        #expect((least...least + 2).contains(percent), "seed \(seed)")
      }
      #expect(lab.sent.allSatisfy { $0.message.questions.allSatisfy { !$0.wantsUnicastResponse } })
    }
  }

  @Test("B11: records that were received together are refreshed together")
  func refreshTogether() throws {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    lab.run(.seconds(2_000))
    lab.hear(try (0..<50).map { try Web.pointer("S\($0)", ttlSeconds: 100) })
    lab.sent = []
    lab.run(.seconds(99))
    #expect(lab.times(Web.type, .ptr).count == 4)
    #expect(lab.sent.allSatisfy { $0.message.answers.isEmpty })
    #expect(lab.wakeCount < 30, "it is woken for nothing")
  }

  @Test("an address after its negative answer in one message counts as present")
  func negativeAnswerBeforeAddress() throws {
    var lab = QuerierLab()
    let query = lab.start(.addresses(Web.host, versions: [.v4]))
    lab.run(.milliseconds(200))
    lab.hear([Web.denial(Web.host, has: [.aaaa]), Web.address(5)])
    #expect(
      lab.events(query) == [.addressAdded(.v4(Inet4Address(192, 0, 2, 5)), ttlSeconds: 120)])
  }

  @Test("B20: a message with several questions for a name reconfirms the records of each type")
  func unansweredTypes() throws {
    var lab = QuerierLab()
    let query = lab.start(.records(Web.host, .any))
    lab.run(.milliseconds(200))
    let text = DNSRecord(name: Web.host, ttlSeconds: 4_500, data: .txt(TXTRecord()))
    let processor = DNSRecord(
      name: Web.host, ttlSeconds: 4_500, data: .hinfo(processor: [65], system: [66]))
    lab.hear([Web.address(5, ttlSeconds: 4_500), text, processor])
    let questions = [DNSType.a, .txt].map { DNSQuestion(name: Web.host, type: $0) }
    for _ in 0..<2 {
      lab.run(.seconds(2))
      lab.hear(DNSMessage(header: .query, questions: questions))
    }
    lab.run(.seconds(11))
    let removed = lab.events(query).compactMap { event in
      if case .recordRemoved(let record) = event { record.type } else { nil }
    }
    #expect(Set(removed) == [.a, .txt])
  }

  @Test("B12: records without a query are not refreshed, and end without a report")
  func noMaintenance() throws {
    var lab = QuerierLab()
    let query = lab.start(.records(Web.host, .a))
    lab.run(.milliseconds(200))
    lab.hear([Web.address(5), try Web.pointer("Hall")])
    lab.handle(.stop(query))
    lab.sent = []
    lab.run(.seconds(5_000))
    #expect(lab.sent.isEmpty)
    #expect(lab.querier.recordCount == 0)
    #expect(lab.events(query).count == 1)
  }

  @Test("B13: a record that isn't received again ends when its TTL is over")
  func expiry() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    lab.run(.milliseconds(200))
    let begin = lab.now
    lab.hear([try Web.pointer("Hall", ttlSeconds: 60)])
    lab.run(.seconds(200))
    let service = try Web.service("Hall")
    #expect(lab.events(query) == [.serviceAdded(service), .serviceRemoved(service)])
    #expect(lab.told.last?.at == begin + .seconds(60))
  }

  @Test("B14: a complete answer ends the series until it grows old")
  func completeAnswer() throws {
    var lab = QuerierLab()
    lab.start(.records(Web.host, .a))
    lab.run(.milliseconds(200))
    lab.hear([Web.address(5, ttlSeconds: 1_000)])
    lab.run(.seconds(799))
    #expect(lab.times(Web.host, .a).count == 1)
    // And it is not asked for at all where it is known.
    lab.start(.records(Web.host, .a))
    lab.run(.milliseconds(500))
    #expect(lab.times(Web.host, .a).count == 1)
    // When it has ended, the series begins anew.
    lab.run(.seconds(205))
    let after = lab.times(Web.host, .a).filter { $0 > .zero + .milliseconds(1_000_200) }
    #expect(after.count == 3)
  }

  @Test("B15: a goodbye takes effect after a second, unless the record is received again")
  func goodbye() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    lab.run(.milliseconds(200))
    lab.hear([try Web.pointer("Hall"), try Web.pointer("Shop")])
    let begin = lab.now
    lab.hear([
      Web.goodbye(try Web.pointer("Hall")), Web.goodbye(try Web.pointer("Shop")),
      Web.goodbye(try Web.pointer("Stranger")),
    ])
    lab.run(.milliseconds(500))
    #expect(lab.events(query).count == 2)
    lab.hear([try Web.pointer("Shop")])
    lab.run(.seconds(10))
    #expect(lab.events(query).dropFirst(2) == [.serviceRemoved(try Web.service("Hall"))])
    #expect(lab.told.last?.at == begin + .seconds(1))
  }

  @Test("B16: a complete answer ends older ones after a second, and none of the last second")
  func flush() {
    var lab = QuerierLab()
    let query = lab.start(.records(Web.host, .a))
    lab.hear([Web.address(1)])
    lab.run(.seconds(2))
    let begin = lab.now
    lab.hear([Web.address(2)])
    lab.run(.milliseconds(100))
    lab.hear([Web.address(3)])
    lab.run(.seconds(5))
    #expect(
      lab.events(query) == [
        .recordAdded(Web.address(1)), .recordAdded(Web.address(2)), .recordAdded(Web.address(3)),
        .recordRemoved(Web.address(1)),
      ])
    #expect(lab.told.last?.at == begin + .seconds(1))
  }

  @Test("B16: a record that is received again in its last second stays")
  func flushAndRepeat() {
    var lab = QuerierLab()
    let query = lab.start(.records(Web.host, .a))
    lab.hear([Web.address(1)])
    lab.run(.seconds(2))
    lab.hear([Web.address(2)])
    lab.run(.milliseconds(900))
    lab.hear([Web.address(1)])
    lab.run(.seconds(50))
    #expect(lab.events(query).count == 2)
  }

  @Test("B17: a complete answer ends no records of another name, type or interface")
  func flushBounds() {
    var lab = QuerierLab(interfaceCount: 2)
    let six = DNSRecord(
      name: Web.host, flushesCache: true, ttlSeconds: 120,
      data: .aaaa(Inet6Address(high: 1, low: 1))
    )
    let query = lab.start(.records(Web.host, .any))
    let other = lab.start(.records("other.local.", .a))
    lab.hear([Web.address(1), six, Web.address(1, name: "other.local.")])
    lab.hear([Web.address(1)], on: QuerierLab.second)
    lab.run(.seconds(2))
    lab.hear([Web.address(2)])
    lab.run(.seconds(3))
    let removed = lab.told.filter { told in
      if case .recordRemoved = told.event { true } else { false }
    }
    #expect(removed.map(\.event) == [.recordRemoved(Web.address(1))])
    #expect(removed.map(\.interface) == [QuerierLab.first])
    #expect(removed.map(\.query) == [query])
    #expect(lab.events(other).count == 1)
  }

  @Test("B18: records of an interface end with it, and on another link unless received again")
  func linkChange() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    lab.run(.milliseconds(200))
    lab.hear([try Web.pointer("Hall"), try Web.pointer("Shop")])
    lab.run(.seconds(100))
    lab.handle(.interfaceRestarted(QuerierLab.first))
    lab.sent = []
    lab.run(.seconds(1))
    #expect(lab.sent.count == 1)
    #expect(lab.sent.first?.message.answers.isEmpty == true)
    lab.hear([try Web.pointer("Shop")])
    lab.run(.seconds(20))
    #expect(lab.events(query).dropFirst(2) == [.serviceRemoved(try Web.service("Hall"))])
    lab.handle(.interfaceGone(QuerierLab.first))
    #expect(lab.events(query).dropFirst(3) == [.serviceRemoved(try Web.service("Shop"))])
    lab.sent = []
    lab.run(.seconds(100))
    #expect(lab.sent.isEmpty)
    lab.handle(.interfaceChanged(QuerierLab.interface(1)))
    lab.run(.seconds(1))
    #expect(lab.sent.count == 1)
  }

  @Test("B18: one more address of the same subnet changes nothing, one of another asks anew")
  func addressChange() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    lab.hear([try Web.pointer("Hall")])
    lab.run(.seconds(5))
    lab.sent = []
    lab.handle(.interfaceChanged(QuerierLab.interface(1, host: 44)))
    lab.run(.seconds(1))
    #expect(lab.sent.isEmpty)
    lab.handle(.interfaceChanged(QuerierLab.interface(1, versions: [.v4, .v6], host: 44)))
    lab.run(.milliseconds(500))
    #expect(lab.sent.map(\.link.version) == [.v4, .v6])
    lab.run(.seconds(11))
    #expect(lab.events(query).last == .serviceRemoved(try Web.service("Hall")))
  }

  @Test("B19: a reconfirmed record is queried, and ends after ten seconds without an answer")
  func reconfirm() throws {
    for isAnswered in [false, true] {
      var lab = QuerierLab()
      let query = lab.start(.records(Web.host, .a))
      lab.hear([Web.address(1)])
      lab.run(.seconds(3))
      lab.sent = []
      let begin = lab.now
      lab.handle(.reconfirm(Web.address(1)))
      lab.handle(.reconfirm(Web.address(9)))
      lab.run(.milliseconds(2_000))
      #expect(lab.times(Web.host, .a).count == 2)
      #expect(lab.sent.allSatisfy { $0.message.answers.isEmpty })
      if isAnswered { lab.hear([Web.address(1)]) }
      lab.run(.milliseconds(8_500))
      #expect(lab.events(query).count == (isAnswered ? 1 : 2))
      if !isAnswered {
        #expect(lab.told.last?.at == begin + .seconds(10))
        #expect(lab.times(Web.host, .a).count >= 3)
      }
    }
  }

  @Test("B20: a record that answers no question of others ends, without our asking")
  func passiveObservation() throws {
    for isAnswered in [false, true] {
      var lab = QuerierLab()
      let query = lab.start(.records(Web.host, .a))
      lab.hear([Web.address(1, ttlSeconds: 10_000)])
      lab.run(.seconds(3))
      lab.sent = []
      lab.hearQuestion(Web.host, .a)
      lab.hearQuestion(Web.host, .a, version: .v6)
      lab.run(.seconds(20))
      #expect(lab.events(query).count == 1, "one question over both versions is one question")
      lab.hearQuestion(Web.host, .a)
      if isAnswered { lab.hear([Web.address(1, ttlSeconds: 10_000)]) }
      lab.run(.milliseconds(9_900))
      #expect(lab.events(query).count == 1)
      #expect(lab.sent.isEmpty)
      lab.run(.milliseconds(110))
      #expect(lab.events(query).count == (isAnswered ? 1 : 2))
    }
  }

  @Test("B20: a question with the record, for unicast or of our own causes no reconfirmation")
  func noPassiveObservation() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    let record = try Web.pointer("Hall")
    lab.hear([record])
    let own = Endpoint(.v4(Inet4Address(192, 0, 2, 1)), port: 5353)
    for _ in 0..<5 {
      lab.run(.seconds(1))
      lab.hearQuestion(Web.type, .ptr, knownAnswers: [record])
      lab.hearQuestion(Web.type, .ptr, isQU: true)
      lab.hearQuestion(Web.type, .ptr, from: own)
    }
    lab.run(.seconds(60))
    #expect(lab.events(query).count == 1)
  }

  @Test("B21: an unsolicited answer serves a later query, at once")
  func unsolicited() throws {
    var lab = QuerierLab()
    lab.hear([try Web.pointer("Hall")])
    lab.run(.seconds(5))
    let query = lab.start(try Web.browse)
    #expect(lab.events(query) == [.serviceAdded(try Web.service("Hall"))])
    #expect(lab.told.last?.at == lab.now)
  }

  @Test("B23: a name's owner that has no such record is believed at once")
  func denial() {
    var lab = QuerierLab()
    let query = lab.start(.addresses(Web.host, versions: [.v4, .v6]))
    lab.run(.milliseconds(200))
    lab.hear([Web.address(5)], additionals: [Web.denial(Web.host, has: [.a])])
    #expect(
      lab.events(query) == [
        .addressAdded(.v4(Inet4Address(192, 0, 2, 5)), ttlSeconds: 120), .addressAbsent(.v6),
      ])
    lab.sent = []
    lab.run(.seconds(90))
    #expect(lab.sent.isEmpty, "there is nothing to ask for")
    lab.run(.seconds(60))
    #expect(lab.times(Web.host, .aaaa).count >= 1)
    // A later query gets it at once, too.
    lab.hear([Web.address(5)], additionals: [Web.denial(Web.host, has: [.a])])
    let later = lab.start(.records(Web.host, .aaaa))
    #expect(lab.events(later) == [.recordAbsent(.aaaa)])
  }

  @Test(
    "B24: NSEC that cannot be read, or is about another name, denies nothing and spoils nothing")
  func oddDenial() throws {
    var lab = QuerierLab()
    let browse = lab.start(try Web.browse)
    let query = lab.start(.records(Web.host, .aaaa))
    var bad = Web.denial(Web.host, has: [.a])
    bad.data = .opaque(.nsec, [0xC0])
    lab.hear([bad, try Web.pointer("Hall"), Web.denial(Web.host, has: [.a], next: "zebra.local.")])
    #expect(lab.events(query).isEmpty)
    #expect(lab.events(browse).count == 1)
  }

  @Test("B26: a service on two links is reported twice, each with its interface")
  func twoLinks() throws {
    var lab = QuerierLab(interfaceCount: 2)
    let query = lab.start(try Web.browse)
    lab.hear([try Web.pointer("Hall")], on: QuerierLab.first)
    lab.hear([try Web.pointer("Hall")], on: QuerierLab.second)
    lab.hear([try Web.pointer("Hall")], on: QuerierLab.second)
    #expect(lab.events(query).count == 2)
    #expect(lab.told.map(\.interface) == [QuerierLab.first, QuerierLab.second])
  }

  @Test("B27: two thousand foreign questions a second don't stop ours, nor their answers")
  func questionFlood() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    for number in 0..<6_000 {
      lab.hearQuestion(DNSName(stringLiteral: "host\(number % 700).local."), .a)
      lab.run(.microseconds(500))
    }
    lab.hear([try Web.pointer("Hall")])
    #expect(lab.pauses(Web.type, .ptr) == [1])
    #expect(lab.events(query) == [.serviceAdded(try Web.service("Hall"))])
    #expect(lab.wakeCount < 10)
  }

  @Test("B28 G11: two hundred thousand records fill the cache to its bound; used ones stay")
  func recordFlood() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    lab.run(.milliseconds(200))
    lab.hear([try Web.pointer("Hall")])
    for batch in 0..<2_000 {
      lab.hear(
        (0..<100).map { number in
          Web.address(UInt8(number), name: DNSName(stringLiteral: "h\(batch)-\(number).local."))
        })
      lab.run(.milliseconds(1))
    }
    #expect(lab.querier.recordCount <= 24_576)
    #expect(lab.querier.recordCount > 20_000)
    lab.hear([try Web.pointer("Shop")])
    #expect(
      lab.events(query) == [
        .serviceAdded(try Web.service("Hall")), .serviceAdded(try Web.service("Shop")),
      ])
    lab.sent = []
    lab.run(.seconds(30))
    #expect(lab.sent.flatMap(\.message.answers).count >= 2)
    lab.run(.seconds(5_000))
    #expect(lab.events(query).count == 4)
    #expect(lab.querier.recordCount == 0)
  }

  @Test("B28 G11: records that answer a question are bounded, too")
  func answerFlood() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    let service = try Web.service("flood").name
    for batch in 0..<520 {
      lab.hear(
        try (0..<50).map { number in
          let target = try service.parent?.prepending("flood \(batch) \(number)".utf8) ?? service
          return DNSRecord(name: Web.type, ttlSeconds: 2, data: .ptr(target))
        })
    }
    #expect(lab.querier.recordCount == 24_576)
    lab.run(.seconds(4))
    lab.hear([try Web.pointer("Hall")])
    #expect(lab.events(query).last == .serviceAdded(try Web.service("Hall")))
  }

  @Test("B15: a query after a goodbye gets nothing, neither at once nor a second later")
  func askedAfterGoodbye() throws {
    var lab = QuerierLab()
    let before = lab.start(try Web.browse)
    lab.hear([try Web.pointer("Hall"), try Web.location("Hall"), try Web.text("Hall", "a=b")])
    lab.run(.seconds(5))
    lab.hear([Web.goodbye(try Web.pointer("Hall")), Web.goodbye(try Web.location("Hall"))])
    lab.run(.milliseconds(500))
    let after = [
      lab.start(try Web.browse), lab.start(.resolve(try Web.service("Hall"))),
      lab.start(.records(Web.type, .any)),
    ]
    // A second goodbye is not reported.
    lab.hear([Web.goodbye(try Web.pointer("Hall"))])
    lab.run(.seconds(10))
    #expect(after.flatMap { lab.events($0) } == [])
    let service = try Web.service("Hall")
    #expect(lab.events(before) == [.serviceAdded(service), .serviceRemoved(service)])
  }

  @Test(
    "B15: a query after a goodbye gets the record if it is received again in time, others don't")
  func restored() throws {
    for pause in [TimeSpan.zero, .milliseconds(1), .milliseconds(900)] {
      var lab = QuerierLab()
      let records = try [Web.pointer("Hall"), Web.location("Hall"), Web.text("Hall", "a=b")]
      let service = try Web.service("Hall")
      let before = [lab.start(try Web.browse), lab.start(.resolve(service))]
      lab.hear(records)
      lab.run(.seconds(5))
      let told = before.map { lab.events($0) }
      #expect(told.map(\.count) == [1, 1])
      lab.hear(records.map(Web.goodbye))
      lab.run(pause)
      let after = [lab.start(try Web.browse), lab.start(.resolve(service))]
      lab.hear(records)
      #expect(after.map { lab.events($0) } == told, "\(pause)")
      lab.run(.seconds(10))
      #expect((before + after).map { lab.events($0) } == told + told)
      // From now on all queries get the same events.
      lab.hear(records.map(Web.goodbye))
      lab.run(.seconds(2))
      for query in [before[0], after[0]] {
        #expect(lab.events(query) == [.serviceAdded(service), .serviceRemoved(service)])
      }
    }
  }

  @Test(
    "B15: an alias with a goodbye is followed again if received in time, without reporting its end"
  )
  func aliasAfterGoodbye() {
    let alias = DNSRecord(
      name: "a.local.", flushesCache: true, ttlSeconds: 120, data: .cname(Web.host))
    for isRescued in [true, false] {
      var lab = QuerierLab()
      let before = lab.start(.records("a.local.", .a))
      lab.hear([alias, Web.address(5)])
      lab.run(.seconds(5))
      lab.hear([Web.goodbye(alias), Web.goodbye(Web.address(5))])
      lab.run(.milliseconds(500))
      let after = lab.start(.records("a.local.", .a))
      if isRescued { lab.hear([alias, Web.address(5)]) }
      lab.run(.seconds(3))
      let found = QueryEvent.recordAdded(Web.address(5))
      #expect(lab.events(after) == (isRescued ? [found] : []))
      #expect(lab.events(before).count == (isRescued ? 1 : 2))
    }
  }

  @Test("B15: an interface that goes removes nothing from a query that began after a goodbye")
  func interfaceAfterGoodbye() throws {
    var lab = QuerierLab()
    lab.hear([try Web.pointer("Hall")])
    lab.run(.seconds(5))
    lab.hear([Web.goodbye(try Web.pointer("Hall"))])
    lab.run(.milliseconds(500))
    let query = lab.start(try Web.browse)
    lab.handle(.interfaceGone(QuerierLab.first))
    #expect(lab.events(query) == [])
  }

  @Test("G11: a record that alternates between goodbye and return uses no more memory")
  func flapping() throws {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    let record = try Web.pointer("Hall")
    for _ in 0..<20_000 {
      lab.hear([record])
      lab.hear([Web.goodbye(record)])
      lab.run(.milliseconds(20))
    }
    #expect(lab.wakeCount < 1_000)
    #expect(lab.querier.recordCount <= 1)
  }
}
