import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("A host with several links")
struct InterfaceTests {
  private let second = MulticastLink(ResponderRig.eth1, .v4)

  private func twoInterfaces() throws -> ResponderRig {
    var rig = try ResponderRig()
    rig.connect(ResponderRig.eth0, versions: [.v4, .v6], ["10.0.0.1", "10.0.0.2", "fe80::1"])
    rig.connect(ResponderRig.eth1, ["172.16.0.1"])
    rig.pass(.seconds(5))
    return rig
  }

  @Test("C19 C28: a host has on each link the addresses of that interface and no others")
  func addressesPerLink() throws {
    var rig = try twoInterfaces()
    for packet in rig.responses {
      let data = Set((packet.message.answers + packet.message.additionals).map(\.data))
      let isSecond = packet.packet.link.interface == ResponderRig.eth1
      #expect(data.contains(.a(Inet4Address(172, 16, 0, 1))) == isSecond)
      #expect(data.contains(.a(Inet4Address(10, 0, 0, 1))) == !isSecond)
    }
    rig.sent = []
    rig.query(.ambit, .any)
    rig.query(.ambit, .any, on: second)
    #expect(rig.responses.count == 2)
    #expect(
      Set(rig.responses[0].message.answers.map(\.data)) == [
        .a(Inet4Address(10, 0, 0, 1)), .a(Inet4Address(10, 0, 0, 2)),
        .aaaa(Inet6Address(high: 0xFE80_0000_0000_0000, low: 1)),
      ])
    #expect(rig.responses[1].message.answers.map(\.data) == [.a(Inet4Address(172, 16, 0, 1))])
  }

  @Test("A29: IPv6 is a link like IPv4: probed on, announced on, answered on, each by itself")
  func bothVersions() throws {
    var rig = try twoInterfaces()
    let links = [ResponderRig.link, MulticastLink(ResponderRig.eth0, .v6), second]
    for link in links {
      #expect(rig.probes.filter { $0.packet.link == link }.count == 3)
      #expect(rig.responses.filter { $0.packet.link == link }.count == 2)
    }
    rig.sent = []
    let peer = Endpoint(.v6(Inet6Address(high: 0xFE80_0000_0000_0000, low: 9)), port: 5353)
    rig.query(.ambit, .aaaa, on: links[1], from: peer)
    #expect(rig.responses.map(\.packet.link) == [links[1]])
    rig.query(.ambit, .aaaa)
    #expect(rig.responses.map(\.packet.link) == [links[1], links[0]])
  }

  @Test("C29: a conflict on one link costs the name on all")
  func conflictOnOne() throws {
    var rig = try twoInterfaces()
    for _ in 0..<2 {
      rig.say([.a(.ambit, 99)], on: second)
      rig.pass(.milliseconds(600))
    }
    rig.pass(.seconds(5))
    #expect(rig.events.last == .registered(.host, "ambit-2.local."))
    rig.sent = []
    for link in [ResponderRig.link, second] {
      rig.query("ambit-2.local.", .a, on: link)
      rig.query(.ambit, .a, on: link)
    }
    #expect(rig.answers.count == 3)
    #expect(rig.answers.allSatisfy { $0.name == "ambit-2.local." })
  }

  @Test("C31: a new address is announced at once, a lost one is no longer sent")
  func addressesChange() throws {
    var rig = try ResponderRig.registered()
    rig.connect(ResponderRig.eth0, ["10.0.0.1", "10.0.0.7"])
    rig.pass(.seconds(3))
    #expect(rig.probes.isEmpty)
    let told = rig.answers(.a)
    #expect(told.filter { $0 == .a(.ambit, 7) }.count == 2)
    #expect(told.filter { $0 == .a(.ambit, 1) }.count == 2, "the set is told whole")
    rig.sent = []
    rig.connect(ResponderRig.eth0, ["10.0.0.7"])
    rig.pass(.seconds(3))
    #expect(rig.answers(.a) == [.a(.ambit, 7), .a(.ambit, 7)])
    #expect(rig.answers(.ptr).isEmpty, "the way back from the lost one was never sent")
    #expect(rig.answer(.lamp, .srv).count == 1)
  }

  @Test("F14: the loss of a host's only address of a version is announced with a goodbye")
  func lastAddress() throws {
    var rig = try ResponderRig()
    rig.connect(ResponderRig.eth0, ["169.254.7.7", "fe80::1"])
    rig.pass(.seconds(5))
    rig.sent = []
    rig.connect(ResponderRig.eth0, ["fe80::1"])
    rig.pass(.seconds(5))
    #expect(rig.answers(.a).map(\.ttlSeconds) == [0])
    let answers = rig.answer(.ambit, .a).flatMap(\.message.answers)
    #expect(answers.map(\.type) == [.nsec])
  }

  @Test("C31 D19: an interface that goes and comes back is probed on and announced on again")
  func flap() throws {
    var rig = try ResponderRig.registered()
    rig.handle(.interfaceGone(ResponderRig.eth0))
    rig.query(.lamp, .srv)
    rig.pass(.seconds(10))
    #expect(rig.sent.isEmpty)
    #expect(rig.responder.nextWake == nil)
    rig.connect()
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    #expect(rig.answers(.srv).count == 2)
    #expect(rig.events.isEmpty)
    #expect(rig.answer(.lamp, .a).flatMap(\.message.answers).map(\.type) == [.nsec])
  }

  @Test("a service that is for one interface is known on that alone")
  func oneInterface() throws {
    var rig = try twoInterfaces()
    rig.sent = []
    try rig.register("Lamp", interface: ResponderRig.eth1)
    rig.pass(.seconds(5))
    #expect(rig.sent.allSatisfy { $0.packet.link == second })
    rig.sent = []
    rig.query(.lamp, .srv)
    rig.query(.http, .ptr)
    rig.pass(.seconds(1))
    #expect(rig.sent.isEmpty)
    rig.query(.lamp, .srv, on: second)
    #expect(rig.responses.count == 1)
  }

  @Test("a host with another name sends goodbyes for the old one")
  func newHostName() throws {
    var rig = try ResponderRig.registered()
    rig.handle(.setHostLabel(Array("Küche".utf8)))
    rig.pass(.seconds(5))
    #expect(rig.events == [.registered(.host, "Küche.local.")])
    #expect(rig.answers(.a).first == .a(.ambit, 1, ttlSeconds: 0))
    #expect(rig.answers(.srv).last?.data == .srv(DNSService(port: 80, target: "Küche.local.")))
    #expect(rig.answer("Küche.local.", .a).count == 1)
  }

  @Test("without an interface a service has its name at once, and keeps it when one comes")
  func noInterface() throws {
    var rig = try ResponderRig()
    let id = try rig.register("Lamp")
    #expect(rig.events == [.registered(id, .lamp)])
    rig.connect()
    rig.pass(.seconds(5))
    #expect(rig.events == [.registered(id, .lamp), .registered(.host, .ambit)])
    #expect(rig.answers(.srv).count == 2)
  }
}

@Suite("A host whose addresses come late")
struct LateAddressTests {
  @Test("F16: a host probes for its name when it gets its first address, not before")
  func firstAddress() throws {
    var rig = try ResponderRig()
    rig.connect(ResponderRig.eth0, [])
    rig.pass(.seconds(10))
    #expect(rig.sent.isEmpty)
    #expect(rig.events.isEmpty)
    rig.query(.ambit, .a)
    #expect(rig.sent.isEmpty)
    rig.connect(ResponderRig.eth0, ["10.0.0.1"])
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    #expect(rig.events == [.registered(.host, .ambit)])
    #expect(rig.answers(.a).count == 2)
  }

  @Test("a host that loses its last address is silent about itself until it has one again")
  func noAddress() throws {
    var rig = try ResponderRig.registered()
    rig.connect(ResponderRig.eth0, [])
    rig.pass(.seconds(5))
    #expect(rig.answers.allSatisfy { $0.ttlSeconds == 0 })
    #expect(rig.answers(.a).count == 1)
    #expect(rig.answer(.ambit, .a).isEmpty)
    rig.sent = []
    rig.connect(ResponderRig.eth0, ["10.0.0.1"])
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    #expect(rig.answer(.ambit, .a).count == 1)
  }

  @Test("D25: a name that is unregistered during a conflict gets goodbyes all the same")
  func goodbyeDuringDispute() throws {
    var rig = try ResponderRig.registered()
    rig.say([.srv(.lamp)])
    rig.pass(.milliseconds(400))
    rig.handle(.unregister(RegistrationID(rawValue: 1)))
    rig.pass(.seconds(5))
    #expect(rig.answers.map(\.ttlSeconds) == [0, 0, 0, 0])
    #expect(rig.responder.nextWake == nil)
  }
}
