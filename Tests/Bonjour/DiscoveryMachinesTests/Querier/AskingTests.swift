import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Querier: asking")
struct AskingTests {
  @Test("A1: questions go to the group over every version of IP that the interface has")
  func groups() throws {
    var lab = QuerierLab(versions: [.v4, .v6])
    lab.start(try Web.browse)
    lab.run(.seconds(1))
    #expect(lab.sent.map(\.link.version) == [.v4, .v6])
    #expect(lab.sent.allSatisfy { $0.destination == .multicast })
    var old = QuerierLab(versions: [.v4])
    old.start(try Web.browse)
    old.run(.seconds(1))
    #expect(old.sent.map(\.link.version) == [.v4])
  }

  @Test(
    "A2: names of link-local addresses are asked for by multicast",
    arguments: [
      "1.0.254.169.in-addr.arpa.", "1.0.8.e.f.ip6.arpa.", "b.e.f.ip6.arpa.", "Host.LOCAL.",
    ] as [DNSName])
  func linkLocalNames(name: DNSName) {
    var lab = QuerierLab()
    lab.start(.records(name, .ptr))
    lab.run(.seconds(1))
    #expect(lab.times(name, .ptr).count == 1)
  }

  @Test(
    "B25: other names are never asked for by multicast, and the client hears why",
    arguments: ["example.com.", "1.1.168.192.in-addr.arpa.", "c.e.f.ip6.arpa.", "."] as [DNSName])
  func otherNames(name: DNSName) {
    var lab = QuerierLab()
    let query = lab.start(.records(name, .a))
    lab.run(.seconds(100))
    #expect(lab.sent.isEmpty)
    #expect(lab.events(query) == [.failed(.notOnThisLink(name))])
  }

  @Test("A13 A14 A16 A18 A19: the header of a question is all zero")
  func header() throws {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    lab.run(.seconds(100))
    #expect(lab.sent.count > 3)
    #expect(lab.sent.allSatisfy { $0.message.header == DNSHeader(id: 0, flags: 0) })
  }

  @Test("B1 B2: pauses are at least a second, grow threefold and never exceed an hour")
  func backOff() throws {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    lab.run(.seconds(4 * 3_600))
    let pauses = lab.pauses(Web.type, .ptr)
    #expect(pauses.prefix(8) == [1, 3, 9, 27, 81, 243, 729, 2187])
    #expect(pauses.dropFirst(8).allSatisfy { $0 == 3_600 })
    #expect(pauses.count == 11)
  }

  /// When the first question of each of these runs went out, in milliseconds from its reason on.
  private func firstDelays(_ run: (inout QuerierLab) throws -> Void) rethrows -> [Int64] {
    try (1...40).compactMap { seed in
      var lab = QuerierLab(seed: UInt64(seed))
      try run(&lab)
      let begin = lab.now
      lab.sent = []
      lab.run(.seconds(1))
      return lab.sent.first.map { ($0.at - begin).nanoseconds / 1_000_000 }
    }
  }

  @Test("B3: the first question waits 20 to 120 ms by chance if other hosts may ask the same")
  func firstDelay() throws {
    let restarted = try firstDelays { lab in
      lab.start(try Web.browse)
      lab.run(.seconds(10))
      lab.handle(.interfaceRestarted(QuerierLab.first))
    }
    let toldOfNews = try firstDelays { lab in
      lab.hear([try Web.pointer("Hall")])
      lab.start(.resolve(try ServiceName(instance: "Hall", type: .init(text: "_http._tcp"))))
    }
    for delays in [restarted, toldOfNews] {
      #expect(delays.count == 40)
      #expect(delays.allSatisfy { (20...120).contains($0) })
      let spread = try #require(delays.max()) - #require(delays.min())
      #expect(spread > 50)
    }
  }

  @Test("B3: a question that only this host's client causes is asked within 5 ms")
  func clientsQuestion() throws {
    let delays = try firstDelays { $0.start(try Web.browse) }
    let afterNews = try firstDelays { lab in
      lab.hear([try Web.pointer("Hall")])
      lab.run(.milliseconds(100))
      lab.start(.addresses(Web.host, versions: [.v4]))
    }
    for delays in [delays, afterNews] {
      #expect(delays.count == 40)
      #expect(delays.allSatisfy { (0...5).contains($0) })
    }
  }

  @Test("B4: only the first question of a series has the QU bit, and again on another link")
  func unicastBit() throws {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    lab.run(.seconds(60))
    let bits = lab.sent.flatMap { $0.message.questions.map(\.wantsUnicastResponse) }
    #expect(bits == [true, false, false, false, false])
    lab.sent = []
    lab.handle(.interfaceRestarted(QuerierLab.first))
    lab.run(.seconds(10))
    let again = lab.sent.flatMap { $0.message.questions.map(\.wantsUnicastResponse) }
    #expect(again == [true, false, false])
  }

  @Test("B5 B7: known answers are listed, without the cache-flush bit")
  func knownAnswers() throws {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    lab.start(.records(Web.host, .any))
    lab.run(.milliseconds(500))
    lab.hear([try Web.pointer("Hall"), Web.address(5)])
    lab.sent = []
    lab.run(.milliseconds(1_000))
    let known = lab.sent.flatMap(\.message.answers)
    #expect(known.contains { $0.hasSameContent(as: Web.address(5)) })
    #expect(known.contains { $0.data == .ptr("Hall._http._tcp.local.") })
    #expect(known.allSatisfy { !$0.flushesCache })
  }

  @Test("B6: a known answer is listed with the rest of its time, and not once half is gone")
  func knownAnswerAge() throws {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    lab.run(.milliseconds(200))
    let begin = lab.now
    lab.hear([try Web.pointer("Hall", ttlSeconds: 40)])
    lab.run(.seconds(60))
    var listedCount = 0
    for packet in lab.sent.dropFirst() where packet.at - begin < .seconds(40) {
      let age = (packet.at - begin).seconds
      #expect(packet.message.answers.isEmpty == (age > 20))
      for answer in packet.message.answers {
        listedCount += 1
        #expect(answer.ttlSeconds == UInt32(40 - age))
      }
    }
    #expect(listedCount >= 3)
  }

  @Test("B8: known answers that don't fit follow in packets without a question; TC on all but one")
  func manyKnownAnswers() throws {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    lab.run(.milliseconds(200))
    for batch in 0..<6 {
      lab.hear(try (0..<50).map { try Web.pointer("A service with number \(batch * 50 + $0)") })
    }
    lab.sent = []
    lab.run(.seconds(1))
    #expect(lab.sent.count > 4)
    #expect(Set(lab.sent.map(\.at)).count == 1)
    #expect(lab.sent.map(\.message.questions.count) == [1] + lab.sent.dropFirst().map { _ in 0 })
    #expect(
      lab.sent.map(\.message.header.isTruncated) == lab.sent.dropLast().map { _ in true } + [false])
    #expect(lab.sent.allSatisfy { $0.byteCount <= 1_452 })
    #expect(Set(lab.sent.flatMap(\.message.answers).map(\.data)).count == 300)
  }

  @Test("B9: a question that another host has just asked is not asked again")
  func duplicateQuestion() throws {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    lab.run(.milliseconds(200))
    lab.hear([try Web.pointer("Hall")])
    lab.run(.milliseconds(1_300))
    let second = try #require(lab.times(Web.type, .ptr).last)
    #expect(lab.times(Web.type, .ptr).count == 2)
    lab.run(second + .milliseconds(2_950) - lab.now)
    lab.hearQuestion(Web.type, .ptr, knownAnswers: [try Web.pointer("Hall")])
    lab.run(.seconds(8))
    #expect(lab.times(Web.type, .ptr).count == 2)
    lab.run(.seconds(2))
    // The next one comes when it would have come.
    #expect(lab.pauses(Web.type, .ptr) == [1, 12])
  }

  @Test("B9: a question with known answers that we lack, with QU or with TC is no substitute")
  func noDuplicate() throws {
    for kind in 0..<5 {
      var lab = QuerierLab(versions: [.v4, .v6])
      lab.start(try Web.browse)
      lab.run(.milliseconds(1_500))
      lab.run(lab.times(Web.type, .ptr)[2] + .milliseconds(2_950) - lab.now)
      switch kind {
      case 0: lab.hearQuestion(Web.type, .ptr, knownAnswers: [try Web.pointer("New")])
      case 1: lab.hearQuestion(Web.type, .ptr, isQU: true)
      case 2: lab.hearQuestion(Web.type, .ptr, isTruncated: true)
      case 3:
        // Our own, come back.
        let own = Endpoint(.v4(Inet4Address(192, 0, 2, 1)), port: 5353)
        lab.hearQuestion(Web.type, .ptr, from: own)
      default: lab.hearQuestion(Web.type, .srv)
      }
      lab.sent = []
      lab.run(.seconds(1))
      #expect(lab.sent.map(\.link.version) == [.v4, .v6])
    }
  }

  @Test("B9: a question that was asked over IPv4 only is still asked over IPv6")
  func duplicateOnOneVersion() throws {
    var lab = QuerierLab(versions: [.v4, .v6])
    lab.start(try Web.browse)
    lab.run(.milliseconds(1_500))
    lab.run(lab.times(Web.type, .ptr)[2] + .milliseconds(2_950) - lab.now)
    lab.hearQuestion(Web.type, .ptr, version: .v4)
    lab.sent = []
    lab.run(.seconds(1))
    #expect(lab.sent.map(\.link.version) == [.v6])
  }

  @Test("B22: questions that begin together go in one packet")
  func aggregation() throws {
    var lab = QuerierLab()
    for number in 0..<5 {
      lab.start(.browse(try ServiceType(text: "_type\(number)._tcp")))
    }
    lab.run(.seconds(60))
    // As many packets as one question alone would take, and one more if chance split the first.
    #expect(lab.sent.count <= 6)
    #expect(lab.sent.last?.message.questions.count == 5)
  }

  @Test("clients that want the same share one question; it ends with the last of them")
  func sharedQuestion() throws {
    var lab = QuerierLab()
    let queries = try (0..<100).map { _ in lab.start(try Web.browse) }
    lab.run(.seconds(20))
    #expect(lab.pauses(Web.type, .ptr) == [1, 3, 9])
    lab.hear([try Web.pointer("Hall")])
    #expect(queries.allSatisfy { lab.events($0).count == 1 })
    for query in queries.dropLast() { lab.handle(.stop(query)) }
    lab.run(.seconds(30))
    #expect(lab.pauses(Web.type, .ptr) == [1, 3, 9, 27])
    lab.handle(.stop(queries[99]))
    lab.handle(.stop(queries[99]))
    lab.run(.seconds(10_000))
    #expect(lab.pauses(Web.type, .ptr) == [1, 3, 9, 27])
    #expect(lab.querier.nextWake == nil)
  }

  @Test("questions for many names stay within the size of a packet")
  func manyQuestions() {
    var lab = QuerierLab()
    for number in 0..<300 {
      lab.start(.records(DNSName(stringLiteral: "a-host-with-number-\(number).local."), .a))
    }
    lab.run(.seconds(3))
    #expect(lab.sent.allSatisfy { $0.byteCount <= 1_452 && !$0.message.questions.isEmpty })
    #expect(Set(lab.sent.flatMap { $0.message.questions.map(\.name) }).count == 300)
    #expect(lab.sent.count < 30)
  }

  @Test("a client may listen to one interface only")
  func scope() throws {
    var lab = QuerierLab(interfaceCount: 2)
    let query = lab.start(try Web.browse, on: QuerierLab.second)
    lab.run(.seconds(1))
    #expect(lab.sent.map(\.link.interface) == [QuerierLab.second])
    lab.hear([try Web.pointer("Hall")], on: QuerierLab.first)
    #expect(lab.events(query).isEmpty)
    lab.hear([try Web.pointer("Hall")], on: QuerierLab.second)
    #expect(lab.events(query) == [.serviceAdded(try Web.service("Hall"))])
  }

  @Test("a seed determines the packets")
  func determinism() throws {
    func run() throws -> [Instant] {
      var lab = QuerierLab(seed: 77, versions: [.v4, .v6], interfaceCount: 2)
      for number in 0..<20 { lab.start(.browse(try ServiceType(text: "_t\(number)._udp"))) }
      lab.run(.seconds(1))
      lab.handle(.interfaceRestarted(QuerierLab.first))
      lab.run(.seconds(300))
      return lab.sent.map(\.at)
    }
    #expect(try run() == run())
  }
}
