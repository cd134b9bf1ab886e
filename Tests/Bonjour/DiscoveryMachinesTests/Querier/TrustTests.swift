import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Querier: whom it believes")
struct TrustTests {
  private func port(_ number: UInt16) -> Endpoint {
    Endpoint(QuerierLab.peer.address, port: number)
  }

  /// The number of events of a browsing client after a response of this kind.
  private func outcome(_ hear: (inout QuerierLab) throws -> Void) throws -> Int {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    lab.run(.milliseconds(500))
    try hear(&lab)
    return lab.events(query).count
  }

  @Test("A3: an answer by multicast is delivered")
  func multicast() throws {
    #expect(try outcome { $0.hear([try Web.pointer("Hall")]) } == 1)
  }

  @Test("A6: a unicast answer from off this link is dropped; multicast is of this link by nature")
  func offLink() throws {
    let far = Endpoint(.v4(Inet4Address(198, 51, 100, 7)), port: 5353)
    #expect(
      try outcome { $0.hear([try Web.pointer("Hall")], from: far, isMulticast: false) } == 0)
    #expect(try outcome { $0.hear([try Web.pointer("Hall")], from: far) } == 1)
    let near = Endpoint(.v6(Inet6Address(high: 0xFE80 << 48, low: 7)), port: 5353)
    #expect(
      try outcome { $0.hear([try Web.pointer("Hall")], from: near, isMulticast: false) } == 1)
  }

  @Test("A9: a response from another port than 5353 is ignored")
  func otherPort() throws {
    #expect(try outcome { $0.hear([try Web.pointer("Hall")], from: port(40_000)) } == 0)
    let isUnicast = try outcome {
      $0.hear([try Web.pointer("Hall")], from: port(40_000), isMulticast: false)
    }
    #expect(isUnicast == 0)
  }

  @Test("G4: nothing is taken from port 0")
  func portZero() throws {
    #expect(try outcome { $0.hear([try Web.pointer("Hall")], from: port(0)) } == 0)
    var lab = QuerierLab()
    lab.hearQuestion(Web.type, .ptr, from: port(0))
    #expect(lab.querier.nextWake == nil)
  }

  @Test("A11: a unicast answer counts within two seconds of a question that allowed it")
  func unicast() throws {
    for (delay, isHeard) in [(1_900, true), (2_100, false)] as [(Int64, Bool)] {
      var lab = QuerierLab()
      let query = lab.start(try Web.browse)
      lab.run(.milliseconds(500))
      let askedAt = try #require(lab.times(Web.type, .ptr).first)
      lab.run(askedAt + .milliseconds(delay) - lab.now)
      lab.hear([try Web.pointer("Hall")], isMulticast: false)
      #expect(lab.events(query).count == (isHeard ? 1 : 0))
    }
  }

  @Test("A11: a unicast answer that the name is an alias, or has no such record, counts, too")
  func unicastWithoutRecord() throws {
    for record in [
      DNSRecord(name: "www.local.", flushesCache: true, ttlSeconds: 60, data: .cname(Web.host)),
      Web.denial("www.local.", has: [.aaaa]),
    ] {
      var lab = QuerierLab()
      lab.hear([record], isMulticast: false)
      #expect(lab.querier.recordCount == 0)
      lab.start(.records("www.local.", .a))
      lab.run(.milliseconds(500))
      lab.hear([record], isMulticast: false)
      #expect(lab.querier.recordCount == 1)
      lab.run(.seconds(3))
      lab.hear([Web.denial("www.local.", has: [.txt])], isMulticast: false)
      #expect(lab.querier.recordCount == 1)
    }
  }

  @Test("A11: an unsolicited unicast answer is ignored, with all that is beside it")
  func unsolicitedUnicast() throws {
    var lab = QuerierLab()
    lab.hear([try Web.pointer("Hall")], isMulticast: false)
    #expect(lab.querier.recordCount == 0)
    let query = lab.start(.records(Web.host, .a))
    lab.run(.milliseconds(500))
    lab.hear([try Web.pointer("Hall")], additionals: [Web.address(1)], isMulticast: false)
    #expect(lab.querier.recordCount == 0)
    lab.hear([Web.address(1)], additionals: [try Web.pointer("Hall")], isMulticast: false)
    #expect(lab.querier.recordCount == 2)
    #expect(lab.events(query).count == 1)
  }

  @Test(
    "A13 A16 A17 A18: number, AA, TC, RD, RA, Z, AD and CD of a response are ignored",
    arguments: [0x8000, 0x8600, 0x85F0] as [UInt16])
  func ignoredBits(flags: UInt16) throws {
    let header = DNSHeader(id: 0x1234, flags: flags)
    #expect(try outcome { $0.hear([try Web.pointer("Hall")], header: header) } == 1)
  }

  @Test(
    "A15 A19: other operations and errors are ignored, in questions and responses",
    arguments: [0xA400, 0x8403, 0x2000, 0x0003, 0x840F] as [UInt16])
  func otherOperations(flags: UInt16) throws {
    let header = DNSHeader(flags: flags)
    #expect(try outcome { $0.hear([try Web.pointer("Hall")], header: header) } == 0)
  }

  @Test("A20: questions in a response are ignored")
  func questionsInResponse() throws {
    let bogus = [DNSQuestion(name: "bogus.local.", type: .any)]
    #expect(try outcome { $0.hear([try Web.pointer("Hall")], questions: bogus) } == 1)
  }

  @Test("A14: answers in a question are no response, and questions in a response are not answered")
  func mixedUp() throws {
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    lab.hear([try Web.pointer("Hall")], header: .query)
    #expect(lab.events(query).isEmpty)
    let record = try Web.pointer("Shop")
    lab.hear([record])
    // Twice, as a question would put the record in doubt.
    for _ in 0..<3 {
      lab.run(.seconds(1))
      lab.hear([], questions: [DNSQuestion(name: Web.type, type: .ptr)])
    }
    lab.run(.seconds(30))
    #expect(lab.events(query) == [.serviceAdded(try Web.service("Shop"))])
  }

  @Test("A30: records of other classes, and those that only questions have, are not kept")
  func otherClasses() throws {
    var lab = QuerierLab()
    var chaos = try Web.pointer("Hall")
    chaos.recordClass = DNSClass(rawValue: 3)
    let option = DNSRecord(name: .root, ttlSeconds: 9, data: .opt(options: []))
    let any = DNSRecord(name: "a.local.", ttlSeconds: 9, data: .opaque(.any, [1]))
    let bad = DNSRecord(name: "a.local.", ttlSeconds: 9, data: .opaque(.a, [1]))
    lab.hear([chaos, option, any, bad])
    #expect(lab.querier.recordCount == 0)
  }

  @Test("G13: a querier takes a million mutated bytes of packets and goes on")
  func mutations() throws {
    let seed: UInt64 = 13
    var rng = SeededGenerator(seed: seed)
    var lab = QuerierLab()
    let query = lab.start(try Web.browse)
    lab.start(.resolve(try Web.service("Hall")))
    lab.start(.addresses(Web.host, versions: [.v4, .v6]))
    let whole = try DNSMessage(
      header: .response, answers: [try Web.pointer("Hall"), Web.address(1)],
      additionals: [
        try Web.location("Hall"), try Web.text("Hall", "a=b"), Web.denial(Web.host, has: [.a]),
        DNSRecord(name: "alias.local.", ttlSeconds: 9, data: .cname(Web.host)),
      ]
    ).encoded()
    for _ in 0..<4_000 {
      var bytes = whole
      for _ in 0...rng.next() % 5 {
        bytes[Int(rng.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: rng.next())
      }
      let received = ReceivedMessage(
        decoding: bytes[...], on: MulticastLink(QuerierLab.first, .v4), from: QuerierLab.peer,
        isMulticast: rng.next() % 4 > 0)
      if let received { lab.handle(.received(received)) }
      lab.run(.milliseconds(Int64(rng.next() % 3_000)))
    }
    lab.hear([try Web.pointer("After")])
    #expect(lab.events(query).last == .serviceAdded(try Web.service("After")), "seed \(seed)")
  }

  /// More types than a long packet has room for, none of which has a meaning here.
  private static let manyTypes = (0..<1_300).map { DNSType(rawValue: 256 + $0) }

  /// A querier whose cache is nearly full of records of one name.
  private func fullOfOneName() throws -> QuerierLab {
    var lab = QuerierLab()
    lab.start(try Web.browse)
    lab.run(.milliseconds(500))
    for start in stride(from: 0, to: 20_000, by: 200) {
      lab.hear(try (start..<start + 200).map { try Web.pointer("S\($0)") })
    }
    #expect(lab.querier.recordCount == 20_000)
    return lab
  }

  // A second of processor time for each packet would be an attack; here are hundreds.
  @Test(
    "questions for 1,300 types of a name are not each compared with all its records",
    .timeLimit(.minutes(10)))
  func questionsForManyTypes() throws {
    var lab = try fullOfOneName()
    let questions = Self.manyTypes.map { DNSQuestion(name: Web.type, type: $0) }
    for _ in 0..<20 { lab.hear(DNSMessage(header: .query, questions: questions)) }
    #expect(lab.querier.recordCount == 20_000)
  }

  @Test(
    "records of 1,300 types of a name are not each compared with all its records",
    .timeLimit(.minutes(10)))
  func recordsOfManyTypes() throws {
    var lab = try fullOfOneName()
    let records = Self.manyTypes.map {
      DNSRecord(
        name: Web.type, flushesCache: true, ttlSeconds: 120, data: .opaque($0, [1]))
    }
    for _ in 0..<20 { lab.hear(records) }
    #expect(lab.querier.recordCount == 21_300)
  }

  @Test("several negative answers for a name in one message are reported once")
  func manyNegativeAnswers() throws {
    var lab = QuerierLab()
    let query = lab.start(.records(Web.host, .aaaa))
    lab.run(.milliseconds(500))
    lab.hear((0..<50).map { Web.denial(Web.host, has: [.a, DNSType(rawValue: 256 + $0)]) })
    #expect(lab.events(query) == [.recordAbsent(.aaaa)])
  }
}
