import ARPWire
import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("A responder under load and attack")
struct FloodTests {
  @Test("B27: 2,000 queries a second for a shared record are answered, once a second")
  func flood() throws {
    var rig = try ResponderRig.registered()
    for _ in 0..<20_000 {
      rig.query(.http, .ptr)
      rig.pass(.microseconds(500))
    }
    let times = rig.responses.map(\.at)
    #expect((8...11).contains(times.count), "\(times.count) in 10 s")
    for (a, b) in zip(times, times.dropFirst()) { #expect(b - a >= .seconds(1)) }
    #expect(rig.answers.allSatisfy { $0 == .ptr(.http, .lamp) })
  }

  @Test("B27: a flood of other questions delays no answer, and new services are still published")
  func unrelatedFlood() throws {
    var rig = try ResponderRig.registered()
    for number in 0..<6000 {
      rig.query(try DNSName(text: "n\(number).local"), .any)
      if number == 1000 { rig.query(.http, .ptr) }
      if number == 2000 { try rig.register("Torch") }
      rig.pass(.microseconds(500))
    }
    let answered = try #require(rig.responses.first)
    #expect(answered.message.answers == [.ptr(.http, .lamp)])
    #expect((520...621).contains((answered.at - .zero).seconds * 1000 - 10_000))
    #expect(rig.events.last == .registered(RegistrationID(rawValue: 2), "Torch._http._tcp.local."))
  }

  @Test("a question that was quiet is answered with a service that has come since")
  func newServiceDuringFlood() throws {
    var rig = try ResponderRig.registered()
    for number in 0..<8000 {
      rig.query(.http, .ptr)
      if number == 100 { try rig.register("Torch") }
      rig.pass(.microseconds(500))
    }
    let torch = rig.answers.filter { $0.data == .ptr("Torch._http._tcp.local.") }
    #expect(torch.count >= 3)
  }

  @Test(
    "questions for 1,300 types of a name are not each compared with all its services",
    .timeLimit(.minutes(10)))
  func questionsForManyTypes() throws {
    var rig = try ResponderRig.registered()
    for number in 0..<2_000 { try rig.register("S\(number)") }
    rig.pass(.seconds(20))
    rig.sent = []
    let questions = (0..<1_300).map { DNSQuestion(name: .http, type: DNSType(rawValue: 256 + $0)) }
    let stranger = Endpoint(ResponderRig.peer.address, port: 40_000)
    for _ in 0..<20 {
      rig.receive(DNSMessage(header: .query, questions: questions))
      rig.receive(DNSMessage(header: .query, questions: questions), from: stranger)
    }
    #expect(rig.sent.isEmpty)
    #expect(rig.answer(.http, .ptr).first?.message.answers.isEmpty == false)
  }

  @Test("20,000 probes for a name are answered by unicast 200 times a second, else by multicast")
  func probeFlood() throws {
    var rig = try ResponderRig.registered()
    for _ in 0..<20_000 {
      rig.query(.lamp, .any, unicast: true, proposing: [.srv(.lamp)])
      rig.pass(.microseconds(100))
    }
    rig.pass(.seconds(1))
    #expect((390...600).contains(rig.responses.count { !$0.isMulticast }))
    let defences = rig.responses.filter(\.isMulticast)
    #expect((4...10).contains(defences.count), "every 250 ms at most (RFC 6762, §6)")
  }

  @Test("forged addresses get few unicast answers, and delay no multicast answer")
  func forgedAddresses() throws {
    var rig = try ResponderRig.registered()
    for port in [UInt16(5353), 40_000] {
      rig.pass(.seconds(2))
      rig.sent = []
      let start = rig.now
      for number in 2..<UInt8.max {
        let forged = Endpoint(.v4(Inet4Address(10, 0, 0, number)), port: port)
        rig.query(.lamp, .srv, unicast: true, from: forged)
        if number == 200 { rig.query(.http, .ptr) }
        rig.pass(.milliseconds(1))
      }
      rig.pass(.seconds(1))
      let unicast = rig.responses.filter { !$0.isMulticast }
      #expect(unicast.count == ResponderConstants.unicastAddressesMax)
      let answer = rig.responses.first {
        $0.isMulticast && $0.message.answers.contains(.ptr(.http, .lamp))
      }
      #expect(try #require(answer).at - start < .milliseconds(200 + 130))
    }
  }

  @Test("legacy queriers of this host are answered however often they ask, also beside a flood")
  func ownLegacyQuerier() throws {
    var rig = try ResponderRig.registered()
    for number in 2..<UInt8.max {
      rig.query(
        .lamp, .srv, from: Endpoint(.v4(Inet4Address(10, 0, 0, number)), port: 40_000))
    }
    rig.sent = []
    let own = Endpoint(.v4(Inet4Address(10, 0, 0, 1)), port: 40_000)
    for _ in 0..<1_000 { rig.query(.lamp, .srv, from: own) }
    #expect(rig.responses.count == 1_000)
  }

  @Test("a legacy querier of another host gets 200 answers a second")
  func busyLegacyQuerier() throws {
    var rig = try ResponderRig.registered()
    let legacy = Endpoint(ResponderRig.peer.address, port: 40_000)
    for _ in 0..<2 {
      rig.sent = []
      for _ in 0..<1_000 { rig.query(.lamp, .srv, from: legacy) }
      #expect(rig.responses.count == ResponderConstants.unicastResponsesMax)
      rig.pass(ResponderConstants.unicastWindow)
    }
  }

  @Test("G11: 200,000 records of others leave no trace")
  func foreignRecords() throws {
    var rig = try ResponderRig.registered()
    for number in 0..<20_000 {
      let name = try DNSName(text: "n\(number).local")
      rig.say((0..<10).map { .a(name, $0) })
    }
    #expect(rig.responder.nextWake == nil)
    #expect(rig.sent.isEmpty)
    #expect(rig.answer(.lamp, .srv).count == 1)
  }

  @Test("G7: a query of a thousand questions, or one question a thousand times, is answered once")
  func manyQuestions() throws {
    var rig = try ResponderRig.registered()
    let question = DNSQuestion(name: .http, type: .ptr)
    rig.receive(DNSMessage(header: .query, questions: Array(repeating: question, count: 1000)))
    rig.pass(.seconds(2))
    #expect(rig.answers == [.ptr(.http, .lamp)])
    rig.sent = []
    let names = try (0..<1000).map { try DNSName(text: "n\($0).local") }
    rig.receive(
      DNSMessage(
        header: .query,
        questions: names.map { DNSQuestion(name: $0, type: .any) } + [question]))
    rig.pass(.seconds(2))
    #expect(rig.answers == [.ptr(.http, .lamp)])
  }

  @Test("G13: 30,000 mutated packets do no harm, and the next good query is answered")
  func mutations() throws {
    var rng = SeededGenerator(seed: 13)
    var rig = try ResponderRig.registered("Lamp", subtypes: ["_colour"])
    rig.handle(.interfaceRestarted(ResponderRig.eth0))
    rig.pass(.seconds(5))
    rig.query(.http, .ptr)
    rig.pass(.seconds(1))
    let seeds = rig.sent.map(\.packet.bytes)
    var readCount = 0
    for _ in 0..<30_000 {
      var bytes = seeds[Int(rng.next(upperBound: UInt64(seeds.count)))]
      for _ in 0..<(1 + rng.next(upperBound: UInt64(4))) {
        let index = Int(rng.next(upperBound: UInt64(bytes.count)))
        bytes[index] = UInt8(truncatingIfNeeded: rng.next())
      }
      if let message = try? DNSMessage(decoding: bytes[...]) {
        readCount += 1
        let port: UInt16 = rng.next() & 3 == 0 ? 40_000 : 5353
        rig.receive(
          message, from: Endpoint(ResponderRig.peer.address, port: port),
          isMulticast: rng.next() & 1 == 0)
      }
      rig.sent = []
      rig.pass(.milliseconds(1))
    }
    #expect(readCount > 5_000)
    rig.pass(.seconds(30))
    let name = try #require(rig.responder.name(of: RegistrationID(rawValue: 1)))
    #expect(rig.answer(name, .srv).count == 1)
    #expect(rig.responder.nextWake == nil)
  }

  @Test(
    "probes of a host that always wins the tie-break keep a name from us, but cost nothing else")
  func endlessTie() throws {
    var rig = try ResponderRig.registered()
    try rig.register("Torch")
    let name: DNSName = "Torch._http._tcp.local."
    for _ in 0..<1000 {
      rig.query(name, .any, proposing: [.srv(name, port: 65_535, "zzz.local.")])
      rig.pass(.milliseconds(100))
    }
    #expect(rig.probes.count <= 200)
    rig.sent = []
    rig.query(.lamp, .srv)
    #expect(rig.answers.map(\.name) == [.lamp])
    rig.pass(.seconds(10))
    #expect(rig.events.last == .registered(RegistrationID(rawValue: 2), name))
  }

  @Test(
    "F16 F14: with an address of its own making, a host probes for its name only after the claim")
  func linkLocalOrder() throws {
    var machine = LinkLocalMachine(
      hardware: MACAddress(rawValue: 1), rng: SeededGenerator(seed: 5))
    var rig = try ResponderRig()
    var claimedAt: Instant?
    var actions: [LinkLocalMachine.Action] = []
    machine.handle(.linkUp, now: rig.now, into: &actions)
    while claimedAt == nil, let next = machine.nextWake {
      rig.pass(next - rig.now)
      machine.wake(now: rig.now, into: &actions)
      for action in actions {
        guard case .claim(let address) = action else { continue }
        claimedAt = rig.now
        rig.connect(ResponderRig.eth0, ["\(address)"])
      }
      actions = []
    }
    #expect(rig.sent.isEmpty)
    rig.pass(.seconds(5))
    let claimed = try #require(claimedAt)
    #expect(rig.probes.count == 3)
    #expect(rig.sent.allSatisfy { $0.at >= claimed })
    machine.handle(.routableAddress(true), now: rig.now, into: &actions)
    guard case .release(let address, .routableAddress) = actions.first else {
      Issue.record("the address was kept: \(actions)")
      return
    }
    rig.sent = []
    rig.connect(ResponderRig.eth0, ["10.0.0.1"])
    rig.pass(.seconds(5))
    #expect(rig.answers(.a) == [.a(.ambit, 1), .a(.ambit, 1)])
    let reverse = InetAddress.v4(address).reverseName
    #expect(rig.answer(reverse, .ptr).isEmpty)
  }
}
