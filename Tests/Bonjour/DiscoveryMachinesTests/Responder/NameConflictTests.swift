import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Conflicts about a name")
struct NameConflictTests {
  @Test(
    "D20: a conflict about an established record is answered with probes, not with another name")
  func backToProbing() throws {
    var rig = try ResponderRig.registered()
    rig.say([.srv(.lamp)])
    #expect(rig.answer(.lamp, .srv).filter { $0.at == rig.now }.isEmpty)
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    #expect(rig.probes.allSatisfy { $0.message.questions.map(\.name) == [.lamp] })
    #expect(rig.events.isEmpty)
    #expect(rig.answer(.lamp, .srv).count == 1)
  }

  @Test("D21: a host that answers them keeps the name, and we take \"Name (2)\", \"(3)\" and so on")
  func rename() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp")
    rig.pass(.seconds(5))
    for name in [.lamp, "Lamp\\ (2)._http._tcp.local.", "Lamp\\ (3)._http._tcp.local."] as [DNSName]
    {
      #expect(rig.events.last == .registered(id, name))
      rig.sent = []
      rig.say([.srv(name)])
      rig.pass(.milliseconds(600))
      rig.say([.srv(name)])
      rig.pass(.seconds(5))
      #expect(rig.answer(name, .srv).isEmpty, "the loser is silent about the name")
    }
    #expect(rig.responder.name(of: id) == "Lamp\\ (4)._http._tcp.local.")
    let listed = rig.answer(.http, .ptr).flatMap(\.message.answers)
    #expect(listed.map(\.data) == [.ptr("Lamp\\ (4)._http._tcp.local.")])
  }

  @Test(
    "D21: a pointer to a service under the name that it lost gets a goodbye",
    arguments: [
      ConflictPolicy.rename, .refuse,
    ])
  func lostListings(policy: ConflictPolicy) throws {
    var rig = try ResponderRig.ready()
    try rig.register("Lamp", subtypes: ["_dim"], policy)
    rig.pass(.seconds(5))
    rig.say([.srv(.lamp)])
    rig.pass(.milliseconds(600))
    rig.sent = []
    rig.say([.srv(.lamp)])
    rig.pass(.milliseconds(100))
    let goodbyes = rig.answers.filter { $0.ttlSeconds == 0 }
    var names = [DNSName.http, "_dim._sub._http._tcp.local."]
    if policy == .refuse { names.append(.serviceTypes) }
    #expect(Set(goodbyes.map(\.name)) == Set(names))
    #expect(goodbyes.allSatisfy { $0.type == .ptr }, "the rest is what the other host says now")
  }

  @Test("a record that can't be decoded is no conflict")
  func malformedRival() throws {
    var rig = try ResponderRig.registered()
    rig.say([
      DNSRecord(name: .lamp, flushesCache: true, ttlSeconds: 120, data: .opaque(.srv, [0, 0, 0]))
    ])
    rig.pass(.seconds(5))
    #expect(rig.probes.isEmpty && rig.events.isEmpty)
  }

  @Test("D22: a host becomes \"host-2\", and its services' targets change without new probes")
  func hostRename() throws {
    var rig = try ResponderRig.registered()
    rig.say([.a(.ambit, 99)])
    rig.pass(.milliseconds(600))
    rig.sent = []
    rig.say([.a(.ambit, 99)])
    rig.pass(.seconds(5))
    #expect(rig.events == [.registered(.host, "ambit-2.local.")])
    #expect(rig.probes.allSatisfy { $0.message.questions.map(\.name) == ["ambit-2.local."] })
    let service = DNSRecordData.srv(DNSService(port: 80, target: "ambit-2.local."))
    #expect(rig.answers(.srv).map(\.data) == [service, service])
    let reverse = try #require(InetAddress(text: "10.0.0.1")).reverseName
    #expect(
      rig.answer(reverse, .ptr).flatMap(\.message.answers).map(\.data)
        == [.ptr("ambit-2.local.")])
    #expect(rig.answer(.ambit, .a).isEmpty)
  }

  @Test("D23: with the policy to refuse the conflict is reported, and the registration ends")
  func refusal() throws {
    for milliseconds in [Int64(500), 5000] {
      var rig = try ResponderRig.ready()
      let id = try rig.register("Lamp", .refuse)
      rig.pass(.milliseconds(milliseconds))
      rig.say([.srv(.lamp)])
      rig.pass(.milliseconds(600))
      rig.say([.srv(.lamp)])
      rig.pass(.seconds(5))
      #expect(rig.events.last == .refused(id, .lamp))
      #expect(rig.responder.name(of: id) == nil)
      #expect(rig.answer(.lamp, .srv).isEmpty)
      #expect(rig.answer(.http, .ptr).isEmpty)
    }
  }

  @Test("a record that another host has is refused")
  func recordRefusal() throws {
    var rig = try ResponderRig.ready()
    let id = rig.register(.a("alias.local.", 1), .unique)
    rig.pass(.milliseconds(500))
    rig.say([.a("alias.local.", 2)])
    rig.pass(.seconds(1))
    #expect(rig.events.last == .refused(id, "alias.local."))
  }

  @Test("D24: a renamed label has at most 63 bytes and ends between characters")
  func longNames() throws {
    let label = String(repeating: "💡", count: 15) + "abc"
    var rig = try ResponderRig.ready()
    let id = try rig.register(label)
    for number in 2...12 {
      rig.pass(.milliseconds(600))
      rig.say([.srv(try #require(rig.responder.name(of: id)))])
      rig.pass(.seconds(5))
      let name = try #require(rig.responder.name(of: id))
      let instance = try #require(name.firstLabel)
      #expect(instance.count <= 63)
      let text = try #require(String(validating: instance, as: UTF8.self))
      #expect(text.hasSuffix("💡 (\(number))"))
      rig.say([.srv(name)])
    }
  }

  @Test("the name of a host that was renamed has at most 63 bytes")
  func longHostName() throws {
    var rig = try ResponderRig(host: String(repeating: "h", count: 63))
    rig.connect()
    rig.pass(.milliseconds(500))
    rig.say([.a(rig.responder.hostName, 99)])
    rig.pass(.seconds(5))
    let label = try #require(rig.responder.hostName.firstLabel)
    #expect(String(decoding: label, as: UTF8.self) == String(repeating: "h", count: 61) + "-2")
  }

  @Test(
    "D27: a host that is back within a second, even after a crash, keeps its name",
    arguments: 1...50)
  func restarts(_ seed: UInt64) throws {
    var before = try ResponderRig.registered(seed: seed)
    before.query(.lamp, .any)
    before.query(.ambit, .any)
    var rig = try ResponderRig(seed: seed &+ 1000)
    rig.connect()
    let id = try rig.register("Lamp", port: 81)
    // The crashed host's last packet is still under way; it is not repeated.
    rig.receive(before.responses[0].message)
    rig.pass(.seconds(5))
    #expect(rig.responder.name(of: id) == .lamp, "seed \(seed)")
    #expect(rig.responder.hostName == .ambit)
  }

  @Test("D27: a stale record of ours that turns up once costs no name")
  func staleRecord() throws {
    var rig = try ResponderRig.registered()
    let stale = DNSRecord.srv(.lamp, port: 79, .ambit)
    rig.say([stale])
    rig.pass(.seconds(10))
    #expect(rig.events.isEmpty)
    #expect(rig.responder.name(of: RegistrationID(rawValue: 1)) == .lamp)
  }

  @Test("D27: a new IPv6 address costs no name")
  func newAddress() throws {
    var rig = try ResponderRig()
    rig.connect(versions: [.v4, .v6], ["10.0.0.1", "fe80::1"])
    rig.pass(.seconds(5))
    for number in 2...20 {
      rig.connect(versions: [.v4, .v6], ["10.0.0.1", "fe80::1", "2001:db8::\(number)"])
      rig.pass(.seconds(10))
    }
    #expect(rig.events == [.registered(.host, .ambit)])
  }

  @Test("D28: another host with the same record is no rival")
  func cooperation() throws {
    var rig = try ResponderRig.registered()
    rig.say([.srv(.lamp, port: 80, .ambit), .a(.ambit, 1)])
    rig.pass(.seconds(5))
    #expect(rig.sent.isEmpty)
  }

  @Test("a goodbye of a rival, and an NSEC record, are no conflict")
  func harmless() throws {
    var rig = try ResponderRig.registered()
    var goodbye = DNSRecord.srv(.lamp)
    goodbye.ttlSeconds = 0
    rig.say([goodbye])
    rig.say([
      DNSRecord(
        name: .ambit, flushesCache: true, ttlSeconds: 120, data: .nsec(next: .ambit, types: [.aaaa])
      )
    ])
    rig.pass(.seconds(5))
    #expect(rig.sent.isEmpty)
  }

  @Test("G14 D12: every packet of ours, repeated by another host for ten minutes, costs no name")
  func reflector() throws {
    var rig = try ResponderRig()
    rig.connect(versions: [.v4, .v6], ["10.0.0.1", "fe80::1"])
    let id = try rig.register("Lamp")
    var seen = 0
    let links = [MulticastLink(ResponderRig.eth0, .v4), MulticastLink(ResponderRig.eth0, .v6)]
    for round in 0..<6000 {
      rig.pass(.milliseconds(100))
      if round % 50 == 0 { rig.query(.lamp, .any) }
      if round % 70 == 0 { rig.query(.ambit, .aaaa) }
      if round % 400 == 0 {
        rig.handle(.updateText(id, try TXTRecord(strings: ["n=\(round)".utf8])))
      }
      let new = rig.sent.dropFirst(seen)
      seen = rig.sent.count
      for packet in new where packet.isMulticast {
        for link in links { rig.receive(packet.message, on: link) }
      }
    }
    #expect(rig.events == [.registered(.host, .ambit), .registered(id, .lamp)])
    #expect(rig.sent.count < 2000)
  }

  @Test("two services of one host that want the same name get two, at once")
  func sameHost() throws {
    var rig = try ResponderRig.ready()
    let first = try rig.register("Lamp")
    let second = try rig.register("Lamp", port: 81)
    let third = try rig.register("Lamp", port: 82, .refuse)
    rig.pass(.seconds(5))
    #expect(rig.responder.name(of: first) == .lamp)
    #expect(rig.responder.name(of: second) == "Lamp\\ (2)._http._tcp.local.")
    #expect(rig.events.contains(.refused(third, .lamp)))
    #expect(rig.answer(.http, .ptr).flatMap(\.message.answers).count == 2)
  }

  @Test("E17: one instance name may be used with several types; one with port 0 is only held")
  func flagship() throws {
    var rig = try ResponderRig.ready()
    let first = try rig.register("Printer", type: "_ipp._tcp")
    let second = try rig.register("Printer", type: "_printer._tcp", port: 0)
    rig.pass(.seconds(5))
    #expect(rig.responder.name(of: first) == "Printer._ipp._tcp.local.")
    #expect(rig.responder.name(of: second) == "Printer._printer._tcp.local.")
    let service = rig.answer("Printer._printer._tcp.local.", .srv).flatMap(\.message.answers)
    #expect(service.map(\.data) == [.srv(DNSService(port: 0, target: .ambit))])
    // It only holds the name: browsing doesn't find it.
    #expect(rig.answer("_printer._tcp.local.", .ptr).isEmpty)
    let types = rig.answer(.serviceTypes, .ptr).flatMap(\.message.answers)
    #expect(types.map(\.data) == [.ptr("_ipp._tcp.local.")])
  }
}

@Suite("The next name")
struct NameRevisionTests {
  @Test("the next name counts on from a number that the name has already, as Apple's does")
  func numbers() throws {
    let table = [
      ("Lamp (2)", "Lamp (3)"), ("Lamp (9)", "Lamp (10)"), ("Lamp (1)", "Lamp (1) (2)"),
      ("Lamp (02)", "Lamp (02) (2)"), ("(2)", "(2) (2)"), ("Lamp(2)", "Lamp(2) (2)"),
    ]
    for (name, next) in table {
      var rig = try ResponderRig.ready()
      let id = try rig.register(name)
      rig.pass(.milliseconds(600))
      rig.say([.srv(try #require(rig.responder.name(of: id)))])
      rig.pass(.seconds(3))
      let label = try #require(rig.responder.name(of: id)?.firstLabel)
      #expect(String(decoding: label, as: UTF8.self) == next)
    }
  }

  @Test("the next name is refused if the domain leaves no room for it")
  func noRoom() throws {
    let label = String(repeating: "d", count: 60)
    let domain = try DNSName(
      text: "\(label).\(label).\(label).\(String(repeating: "d", count: 55))")
    let name = try ServiceName(
      instance: "Lamp", type: ServiceType(text: "_a._tcp"), domain: domain)
    #expect(name.name.wireBytes.count >= 253)
    var rig = try ResponderRig.ready()
    for number in UInt64(1)...2 {
      rig.handle(
        .registerService(
          RegistrationID(rawValue: number), try ServiceRegistration(name, port: UInt16(number))))
    }
    rig.pass(.seconds(3))
    #expect(rig.events.contains(.refused(RegistrationID(rawValue: 2), name.name)))
    #expect(rig.responder.name(of: RegistrationID(rawValue: 1)) == name.name)
  }
}
