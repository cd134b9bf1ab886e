import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Answering one asker alone")
struct UnicastTests {
  private let legacy = Endpoint(.v4(Inet4Address(10, 0, 0, 9)), port: 40_000)
  private let offLink = InetAddress.v4(Inet4Address(198, 51, 100, 7))

  @Test(
    "C12: a QU question is answered by unicast after a multicast in the last quarter of the TTL")
  func recent() throws {
    var rig = try ResponderRig.registered()
    for (name, type) in [(DNSName.lamp, DNSType.srv), (.http, .ptr)] {
      let answers = rig.answer(name, type, unicast: true)
      #expect(answers.map(\.packet.destination) == [.unicast(ResponderRig.peer)])
    }
  }

  @Test("C13: else the answer is multicast")
  func longAgo() throws {
    var rig = try ResponderRig.registered()
    rig.pass(.seconds(31))
    let answers = rig.answer(.lamp, .srv, unicast: true)
    #expect(answers.map(\.packet.destination) == [.multicast])
    #expect(rig.answer(.lamp, .srv, unicast: true).first?.isMulticast == false)
    #expect(rig.answer(.http, .ptr, unicast: true).first?.isMulticast == false, "4500 s")
  }

  @Test("C16: a unicast query is answered by unicast, and by multicast if it was not recently")
  func direct() throws {
    var rig = try ResponderRig.registered()
    rig.query(.lamp, .srv, isMulticast: false)
    #expect(rig.responses.map(\.packet.destination) == [.unicast(ResponderRig.peer)])
    rig.pass(.seconds(60))
    rig.sent = []
    rig.query(.lamp, .srv, isMulticast: false)
    #expect(
      Set(rig.responses.map(\.packet.destination)) == [.unicast(ResponderRig.peer), .multicast])
  }

  @Test("C14 C15 A23: a query from another port gets an ordinary answer, valid for ten seconds")
  func legacyQuery() throws {
    var rig = try ResponderRig.registered()
    for (name, type) in [(DNSName.lamp, DNSType.srv), (.http, .ptr), (.ambit, .a)] {
      rig.sent = []
      var question = DNSQuestion(name: name, type: type, wantsUnicastResponse: true)
      rig.receive(
        DNSMessage(header: DNSHeader(id: 0xBEEF, flags: 0x0100), questions: [question]),
        from: legacy)
      #expect(rig.responses.count == 1)
      let reply = try #require(rig.responses.first)
      question.wantsUnicastResponse = false
      #expect(reply.packet.destination == .unicast(legacy))
      #expect(reply.message.header == DNSHeader(id: 0xBEEF, flags: 0x8400))
      #expect(reply.message.questions == [question])
      #expect(reply.message.answers.map(\.type) == [type])
      for record in reply.message.answers + reply.message.additionals {
        #expect(record.ttlSeconds <= 10)
        #expect(!record.flushesCache)
      }
    }
  }

  @Test("A23: the target of SRV is not compressed for legacy queriers")
  func legacyCompression() throws {
    var rig = try ResponderRig.registered()
    rig.query(.lamp, .srv, from: legacy)
    let bytes = try #require(rig.responses.first).packet.bytes
    let target = DNSName.ambit.wireBytes
    let isThere = bytes.indices.contains { bytes[$0...].starts(with: target) }
    #expect(isThere)
  }

  @Test("an answer to a legacy querier does not count as multicast")
  func legacyIsNotMulticast() throws {
    var rig = try ResponderRig.registered()
    rig.pass(.seconds(100))
    rig.query(.lamp, .srv, from: legacy)
    rig.sent = []
    rig.query(.lamp, .srv)
    #expect(rig.responses.map(\.isMulticast) == [true])
  }

  @Test("an answer that does not fit has TC set")
  func legacyTruncation() throws {
    var rig = try ResponderRig.ready()
    for number in 0..<200 { try rig.register("Service number \(number)") }
    rig.pass(.seconds(5))
    rig.sent = []
    rig.query(.http, .ptr, from: legacy)
    #expect(rig.responses.count == 1)
    #expect(rig.responses[0].message.header.isTruncated)
    #expect(rig.responses[0].packet.bytes.count <= 1452)
  }

  @Test("A7 A8 G6: a host that is not on the link is never answered by unicast")
  func offLinkAskers() throws {
    for port in [UInt16(5353), 40_000] {
      for isMulticast in [true, false] {
        var rig = try ResponderRig.registered()
        rig.query(
          .lamp, .srv, unicast: true, from: Endpoint(offLink, port: port), isMulticast: isMulticast)
        rig.pass(.seconds(1))
        #expect(rig.responses.allSatisfy { $0.isMulticast })
        if !isMulticast || port != 5353 { #expect(rig.responses.isEmpty) }
      }
    }
  }

  @Test(
    "G6: a query from a broadcast or network address is not answered",
    arguments: ["10.0.0.255", "10.0.0.0", "169.254.255.255"])
  func nobodysAddress(text: String) throws {
    var rig = try ResponderRig.registered()
    rig.query(.lamp, .srv, from: Endpoint(try #require(InetAddress(text: text)), port: 40_000))
    rig.pass(.seconds(3))
    #expect(rig.responses.isEmpty)
  }

  @Test("a subnet of two hosts, or of one, has no broadcast address")
  func smallSubnets() throws {
    for (own, bitCount, other, isOnLink) in [
      ("10.0.0.0", 31, "10.0.0.1", true), ("10.0.0.1", 31, "10.0.0.0", true),
      ("10.0.0.7", 32, "10.0.0.7", true), ("10.0.0.1", 30, "10.0.0.3", false),
      ("10.0.0.1", 30, "10.0.0.2", true), ("10.0.0.1", 0, "198.51.100.7", true),
      ("10.0.0.1", 0, "255.255.255.255", false), ("fe80::1", 64, "fe80::", true),
    ] {
      let interface = NetworkInterface(
        InterfaceIndex(rawValue: 1), versions: [.v4, .v6],
        addresses: [.init(try #require(InetAddress(text: own)), prefixBitCount: bitCount)])
      #expect(interface.isOnLink(try #require(InetAddress(text: other))) == isOnLink, "\(other)")
    }
  }

  @Test("G4: a query from port 0 is not answered")
  func portZero() throws {
    var rig = try ResponderRig.registered()
    rig.query(.lamp, .srv, from: Endpoint(ResponderRig.peer.address, port: 0))
    rig.say([.srv(.lamp)], from: Endpoint(ResponderRig.peer.address, port: 0))
    rig.pass(.seconds(3))
    #expect(rig.sent.isEmpty)
    #expect(rig.answer(.lamp, .srv).count == 1)
  }

  @Test("A9: a response from another port than 5353 is ignored")
  func responseFromElsewhere() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp")
    rig.pass(.milliseconds(500))
    rig.say([.srv(.lamp)], from: legacy)
    rig.pass(.seconds(3))
    #expect(rig.events.last == .registered(id, .lamp))
  }
}
