import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("The host's name while it is not always needed")
struct HostNameTests {
  private let second = MulticastLink(ResponderRig.eth1, .v4)

  /// A host at 10.0.0.1 on which nothing is registered.
  private func idle() throws -> ResponderRig {
    var rig = try ResponderRig(registersHost: false)
    rig.connect()
    rig.pass(.seconds(5))
    return rig
  }

  @Test("after the name was handed over, an interface that comes adds no addresses of it")
  func interfaceAfterHandOver() throws {
    var rig = try ResponderRig.ready()
    rig.handle(.handOver([.host]))
    rig.pass(.seconds(5))
    rig.sent = []
    rig.connect(ResponderRig.eth1, ["10.0.1.1"])
    rig.pass(.seconds(5))
    #expect(rig.sent.isEmpty)
    #expect(rig.responder.violations() == [])
  }

  @Test("D1: a host on which nothing is registered neither probes for its name nor announces it")
  func silence() throws {
    var rig = try idle()
    rig.query(.ambit, .any)
    rig.connect(ResponderRig.eth0, ["10.0.0.1", "10.0.0.2"])
    rig.pass(.seconds(5))
    rig.handle(.interfaceRestarted(ResponderRig.eth0))
    rig.pass(.seconds(5))
    rig.handle(.setHostLabel(Array("other".utf8)))
    rig.pass(.seconds(5))
    rig.handle(.shutDown)
    #expect(rig.sent.isEmpty && rig.events.isEmpty)
    #expect(rig.responder.nextWake == nil)
  }

  @Test("D4: a host probes for its name together with that of the first service")
  func firstService() throws {
    var rig = try idle()
    let id = try rig.register("Lamp")
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    for probe in rig.probes {
      #expect(Set(probe.message.questions.map(\.name)) == [.ambit, .lamp])
    }
    #expect(rig.answers(.a).count == 2)
    #expect(Set(rig.events) == [.registered(.host, .ambit), .registered(id, .lamp)])
    rig.sent = []
    try rig.register("Torch")
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    #expect(rig.probes.allSatisfy { $0.message.questions.allSatisfy { $0.name != .ambit } })
    #expect(rig.answers(.a).isEmpty)
  }

  @Test("records that lead to the host need its name, those of another host do not")
  func records() throws {
    var rig = try idle()
    try rig.register("Proxied", host: "other.local.")
    rig.register(.a("other.local.", 77), .unique)
    let alias = DNSRecord(name: "www.local.", ttlSeconds: 120, data: .cname("other.local."))
    let id = rig.register(alias, .unique)
    rig.pass(.seconds(5))
    #expect(rig.answers(.a).allSatisfy { $0.name == "other.local." })
    #expect(rig.answer(.ambit, .a).isEmpty)
    rig.handle(.updateRecord(id, .cname(.ambit), ttlSeconds: 120))
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    #expect(rig.answer(.ambit, .a).flatMap(\.message.answers) == [.a(.ambit, 1)])
  }

  @Test func `A host that has its name does not probe for it again, and defends it`() throws {
    var rig = try ResponderRig.registered()
    for _ in 0..<3 {
      rig.handle(.registerHost)
      rig.pass(.milliseconds(100))
      rig.sent = []
      // Of two hosts that probe at one time, the other one would win.
      rig.query(.ambit, .any, proposing: [.a(.ambit, 99)])
      rig.pass(.seconds(2))
      #expect(rig.probes.isEmpty)
      #expect(rig.answers(.a) == [.a(.ambit, 1)])
    }
    #expect(rig.events.isEmpty && rig.responder.hostName == .ambit)
  }

  @Test func `A host that needs its name twice while it probes sends three probes`() throws {
    var rig = try idle()
    rig.handle(.registerHost)
    rig.pass(.milliseconds(400))
    rig.handle(.registerHost)
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    #expect(rig.events == [.registered(.host, .ambit)])
  }

  @Test("a service for one interface needs the name on that one only")
  func oneInterface() throws {
    var rig = try idle()
    rig.connect(ResponderRig.eth1, ["172.16.0.1"])
    try rig.register("Lamp", interface: ResponderRig.eth1)
    rig.pass(.seconds(5))
    #expect(rig.sent.allSatisfy { $0.packet.link == second })
    #expect(
      rig.answers(.a).map(\.data) == Array(repeating: .a(Inet4Address(172, 16, 0, 1)), count: 2))
    rig.sent = []
    try rig.register("Torch")
    rig.pass(.seconds(5))
    let named = rig.probes.filter { $0.message.questions.contains { $0.name == .ambit } }
    #expect(named.count == 3 && named.allSatisfy { $0.packet.link == ResponderRig.link })
  }

  @Test("D6: another host's records of the name have no effect until the name is needed")
  func conflict() throws {
    var rig = try idle()
    for _ in 0..<3 {
      rig.say([.a(.ambit, 99)])
      rig.query(.ambit, .any, unicast: true, proposing: [.a(.ambit, 99)])
      rig.pass(.seconds(1))
    }
    #expect(rig.sent.isEmpty && rig.responder.hostName == .ambit)
    try rig.register("Lamp")
    rig.pass(.milliseconds(600))
    rig.say([.a(.ambit, 99)])
    rig.pass(.seconds(5))
    #expect(rig.events.contains(.registered(.host, "ambit-2.local.")))
    #expect(
      rig.answers(.srv).last?.data == .srv(DNSService(port: 80, target: "ambit-2.local.")))
    #expect(!rig.answers(.a).contains { $0.name == .ambit })
  }

  @Test("D25: the name outlives the last service on its link, with a goodbye only at the end")
  func lastService() throws {
    var rig = try idle()
    for _ in 0..<2 {
      let id = try rig.register("Lamp")
      rig.pass(.seconds(5))
      rig.sent = []
      rig.handle(.unregister(id))
      rig.pass(.seconds(5))
      #expect(rig.answers.allSatisfy { $0.ttlSeconds == 0 && $0.type != .a })
      #expect(rig.answer(.ambit, .a).count == 1)
    }
    // As for any registered name: it is defended, and lost to a host that insists.
    rig.sent = []
    rig.say([.a(.ambit, 99)])
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    rig.sent = []
    rig.handle(.shutDown)
    #expect(rig.answers(.a) == [.a(.ambit, 1, ttlSeconds: 0)])
  }

  @Test("D19: a name is not announced again on a link that restarts while nothing is registered")
  func restart() throws {
    var rig = try idle()
    let id = try rig.register("Lamp")
    rig.pass(.seconds(5))
    rig.handle(.unregister(id))
    rig.pass(.seconds(5))
    rig.sent = []
    rig.handle(.interfaceRestarted(ResponderRig.eth0))
    rig.pass(.seconds(5))
    #expect(rig.sent.isEmpty && rig.answer(.ambit, .a).isEmpty)
    try rig.register("Lamp")
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    #expect(rig.answer(.ambit, .a).count == 1)
  }

  @Test("a name lost to another host while no record needs it is not replaced")
  func lostWithoutNeed() throws {
    var rig = try idle()
    let id = try rig.register("Lamp")
    rig.pass(.seconds(5))
    rig.handle(.unregister(id))
    rig.pass(.seconds(5))
    for _ in 0..<2 {
      rig.say([.a(.ambit, 99)])
      rig.pass(.milliseconds(600))
    }
    rig.sent = []
    rig.pass(.seconds(10))
    #expect(rig.sent.isEmpty && rig.responder.hostName == "ambit-2.local.")
    try rig.register("Lamp")
    rig.pass(.seconds(5))
    #expect(rig.events.contains(.registered(.host, "ambit-2.local.")))
  }

  @Test(
    "records handed over to another process get goodbyes unless a service that needs them goes on",
    arguments: [true, false])
  func handOver(isNeeded: Bool) throws {
    var rig = try idle()
    let id = try rig.register("Lamp")
    rig.pass(.seconds(5))
    rig.sent = []
    if !isNeeded { rig.handle(.unregister(id)) }
    rig.handle(.handOver([.host]))
    if isNeeded { rig.handle(.handOver([id])) }
    rig.handle(.shutDown)
    #expect(rig.answers(.a) == (isNeeded ? [] : [.a(.ambit, 1, ttlSeconds: 0)]))
    #expect(rig.answers(.srv).isEmpty == isNeeded)
  }
}
