import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Answering")
struct AnsweringTests {
  @Test("C1 C2: names of other hosts, or of none, are not answered")
  func silence() throws {
    var rig = try ResponderRig.registered()
    rig.say([.srv("Other._http._tcp.local."), .ptr(.http, "Other._http._tcp.local.")])
    #expect(rig.answer("Other._http._tcp.local.", .srv).isEmpty)
    #expect(rig.answer("nobody.local.", .a).isEmpty)
    #expect(rig.answer("_ipp._tcp.local.", .ptr).isEmpty)
    #expect(rig.answer(.http, .ptr).flatMap(\.message.answers) == [.ptr(.http, .lamp)])
  }

  @Test("an alias answers questions of any type for its name")
  func alias() throws {
    var rig = try ResponderRig.ready()
    let alias = DNSRecord(name: "www.local.", ttlSeconds: 120, data: .cname("host.local."))
    rig.register(alias, .unique)
    rig.pass(.seconds(3))
    for type in [DNSType.a, .txt, .cname, .any] {
      #expect(rig.answer("www.local.", type).flatMap(\.message.answers).map(\.type) == [.cname])
    }
  }

  @Test("C3: an answer that only we can give comes at once")
  func unique() throws {
    var rig = try ResponderRig.registered()
    for (name, type) in [(DNSName.lamp, DNSType.srv), (.ambit, .a), (.lamp, .txt)] {
      rig.pass(.seconds(2))
      rig.sent = []
      rig.query(name, type)
      #expect(rig.answers.map(\.type) == [type])
    }
  }

  @Test("C4: an answer that others may give too comes after 20 to 120 ms, evenly spread")
  func shared() throws {
    var rig = try ResponderRig.registered()
    var delays: [Double] = []
    for _ in 0..<200 {
      rig.pass(.seconds(2))
      rig.sent = []
      let start = rig.now
      rig.query(.http, .ptr)
      rig.pass(.milliseconds(150))
      delays.append((try #require(rig.responses.first).at - start).seconds * 1000)
    }
    #expect(delays.allSatisfy { (20...120).contains($0) })
    for quarter in 0..<4 {
      let low = 20 + Double(quarter) * 25
      let share = delays.filter { $0 >= low && $0 < low + 25 }.count
      #expect((10...90).contains(share), "5 to 45 % in each quarter")
    }
  }

  @Test("C10: a record is not multicast again within a second")
  func oncePerSecond() throws {
    for (name, type) in [(DNSName.http, DNSType.ptr), (.lamp, .srv)] {
      var rig = try ResponderRig.registered()
      rig.query(name, type)
      rig.pass(.milliseconds(350))
      rig.query(name, type)
      rig.pass(.milliseconds(500))
      #expect(rig.responses.count == 1)
      rig.pass(.milliseconds(300))
      rig.query(name, type)
      rig.pass(.milliseconds(200))
      #expect(rig.responses.count == 2)
    }
  }

  @Test(
    "C11: a probe for our name is answered within 250 ms, even if the record was just multicast")
  func probeOfOurs() throws {
    var rig = try ResponderRig.registered()
    rig.query(.lamp, .srv)
    #expect(rig.responses.count == 1)
    rig.pass(.milliseconds(300))
    rig.query(.lamp, .any, proposing: [.srv(.lamp)])
    #expect(rig.responses.count == 2)
    #expect(rig.responses.last?.message.answers.contains { $0.type == .srv } == true)
    rig.pass(.milliseconds(100))
    rig.query(.lamp, .any, proposing: [.srv(.lamp)])
    #expect(rig.responses.count == 2, "not within 250 ms")
    rig.pass(.milliseconds(150))
    rig.query(.lamp, .any, proposing: [.srv(.lamp)])
    #expect(rig.responses.count == 3)
    rig.query(.lamp, .any, unicast: true, proposing: [.srv(.lamp)])
    #expect(rig.responses.last?.packet.destination == .unicast(ResponderRig.peer))
  }

  @Test("C21 A14: every question of a query is answered, all with the delay of the shared one")
  func severalQuestions() throws {
    var rig = try ResponderRig.registered()
    let start = rig.now
    rig.receive(
      DNSMessage(
        header: .query,
        questions: [
          DNSQuestion(name: .ambit, type: .a), DNSQuestion(name: .http, type: .ptr),
          DNSQuestion(name: "nobody.local.", type: .a),
        ]))
    #expect(rig.responses.isEmpty)
    rig.pass(.seconds(1))
    #expect(rig.responses.count == 1)
    #expect(Set(rig.answers.map(\.type)) == [.a, .ptr])
    #expect((20...120).contains((rig.responses[0].at - start).seconds * 1000))
  }

  @Test("C22: answers to several askers share packets")
  func aggregation() throws {
    var rig = try ResponderRig.ready()
    for number in 0..<10 { try rig.register("Lamp \(number)", type: "_t\(number)._tcp") }
    rig.pass(.seconds(5))
    #expect(rig.answer(.serviceTypes, .ptr).count == 1)
    #expect(rig.answers.count == 10)
    rig.sent = []
    for number in 0..<10 {
      rig.query(try ServiceType(text: "_t\(number)._tcp").name(in: .local), .ptr)
      rig.pass(.milliseconds(2))
    }
    rig.pass(.seconds(1))
    #expect(rig.answers.count == 10)
    #expect(rig.responses.count <= 2)
  }

  @Test("C23: ANY is answered with everything that the name has")
  func any() throws {
    var rig = try ResponderRig.registered()
    let answers = rig.answer(.lamp, .any).flatMap(\.message.answers)
    #expect(Set(answers.map(\.type)) == [.srv, .txt])
  }

  @Test("C24: an answer is not given if another host just gave it, with at least our TTL")
  func duplicateAnswer() throws {
    for (ttlSeconds, isSuppressed) in [(UInt32(4500), true), (5000, true), (4499, false)] {
      var rig = try ResponderRig.registered()
      rig.query(.http, .ptr)
      rig.say([.ptr(.http, .lamp, ttlSeconds: ttlSeconds)])
      rig.pass(.seconds(1))
      #expect(rig.responses.isEmpty == isSuppressed)
    }
  }

  @Test("our record is sent again when another host withdraws it or lets it expire")
  func rescue() throws {
    for ttlSeconds in [UInt32(0), 1, 2249] {
      var rig = try ResponderRig.registered()
      rig.say([.ptr(.http, .lamp, ttlSeconds: ttlSeconds)])
      rig.pass(.seconds(1))
      #expect(rig.answers(.ptr) == [.ptr(.http, .lamp)])
    }
  }

  @Test("our record is sent again within a second of its goodbye, however short ago it was sent")
  func rescueSoonAfterAnswer() throws {
    for milliseconds in stride(from: Int64(0), through: 1_000, by: 50) {
      var rig = try ResponderRig.registered()
      rig.query(.http, .ptr)
      while rig.answers(.ptr).isEmpty { rig.pass(.milliseconds(1)) }
      rig.pass(.milliseconds(milliseconds))
      rig.sent = []
      rig.say([.ptr(.http, .lamp, ttlSeconds: 0)])
      rig.pass(.milliseconds(500))
      #expect(rig.answers(.ptr) == [.ptr(.http, .lamp)], "after \(milliseconds) ms")
    }
  }

  @Test("C25: all addresses of the host are in every answer, each flushing caches")
  func wholeSet() throws {
    var rig = try ResponderRig()
    rig.connect(ResponderRig.eth0, ["10.0.0.1", "10.0.0.2"])
    rig.pass(.seconds(5))
    for known in [[], [DNSRecord.a(.ambit, 1)]] {
      let answers = rig.answer(.ambit, .a, known: known).flatMap(\.message.answers)
      #expect(Set(answers) == [.a(.ambit, 1), .a(.ambit, 2)])
    }
    #expect(rig.answer(.ambit, .a, known: [.a(.ambit, 1), .a(.ambit, 2)]).isEmpty)
  }

  @Test("C26: PTR records that others may have too never flush caches")
  func sharedNeverFlush() throws {
    var rig = try ResponderRig.registered("Lamp", subtypes: ["_colour"])
    for name in [DNSName.http, "_colour._sub._http._tcp.local.", .serviceTypes] {
      let answers = rig.answer(name, .ptr).flatMap(\.message.answers)
      #expect(answers.count == 1)
      #expect(answers.allSatisfy { !$0.flushesCache })
    }
  }

  @Test("C30: an address is answered with the host's name")
  func reverseMapping() throws {
    var rig = try ResponderRig()
    rig.connect(ResponderRig.eth0, ["10.0.0.1", "fe80::1"])
    rig.pass(.seconds(5))
    for text in ["10.0.0.1", "fe80::1"] {
      let name = try #require(InetAddress(text: text)).reverseName
      let answers = rig.answer(name, .ptr).flatMap(\.message.answers)
      #expect(answers.map(\.data) == [.ptr(.ambit)])
      #expect(answers.allSatisfy { $0.flushesCache && $0.ttlSeconds == 120 })
    }
  }

  @Test("A25: names are found in any case of their ASCII letters, and sent as registered")
  func letterCase() throws {
    var rig = try ResponderRig.registered("Lämp")
    let name = try DNSName(text: "LäMP._HTTP._tcp.LOCAL")
    let answer = rig.answer(name, .srv).flatMap(\.message.answers)
    #expect(answer.first?.name.description == "Lämp._http._tcp.local.")
    let other = try DNSName(text: "LÄMP._http._tcp.local")
    #expect(rig.answer(other, .srv).isEmpty)
  }

  @Test("A30: only class IN and ANY are answered")
  func classes() throws {
    var rig = try ResponderRig.registered()
    for (number, isAnswered) in [(UInt16(1), true), (255, true), (3, false), (254, false)] {
      rig.pass(.seconds(2))
      rig.sent = []
      rig.receive(
        DNSMessage(
          header: .query,
          questions: [
            DNSQuestion(name: .ambit, type: .a, questionClass: DNSClass(rawValue: number))
          ]))
      #expect(rig.responses.isEmpty != isAnswered)
    }
  }

  @Test("A14 A15 A18 A19: operation and response code have to be 0, other bits mean nothing")
  func headers() throws {
    let cases: [(flags: UInt16, isAnswered: Bool)] = [
      (0, true), (0x07B0, true), (0x0400, true), (0x2000, false), (0x0003, false),
      (0x8000, false), (0x7800, false),
    ]
    for (flags, isAnswered) in cases {
      var rig = try ResponderRig.registered()
      rig.receive(
        DNSMessage(
          header: DNSHeader(id: 0x1234, flags: flags),
          questions: [DNSQuestion(name: .ambit, type: .a)]))
      rig.pass(.seconds(1))
      #expect(rig.responses.isEmpty != isAnswered, "\(flags)")
      #expect(rig.responses.allSatisfy { $0.message.header == .response })
    }
  }
}
