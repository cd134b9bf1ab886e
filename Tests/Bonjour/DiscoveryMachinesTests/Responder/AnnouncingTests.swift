import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Announcing, changing and withdrawing")
struct AnnouncingTests {
  @Test("a record that two registrations have since an update stays valid until both end")
  func sameRecordAfterUpdate() throws {
    var rig = try ResponderRig.ready()
    let first = rig.register(.ptr(.http, .lamp), .shared)
    let second = rig.register(.ptr(.http, "Torch._http._tcp.local."), .shared)
    rig.pass(.seconds(5))
    rig.handle(.updateRecord(second, .ptr(.lamp), ttlSeconds: 4500))
    rig.pass(.seconds(5))
    rig.sent = []
    rig.handle(.unregister(second))
    rig.pass(.seconds(5))
    #expect(!rig.answers.contains { $0.ttlSeconds == 0 })
    #expect(rig.answer(.http, .ptr).first?.message.answers == [.ptr(.http, .lamp)])
    rig.pass(.seconds(5))
    rig.sent = []
    rig.handle(.unregister(first))
    rig.pass(.seconds(1))
    #expect(rig.answers == [.ptr(.http, .lamp, ttlSeconds: 0)])
  }

  @Test("D14 D15: everything is announced twice, a second apart, unique records flushing caches")
  func announcements() throws {
    var rig = try ResponderRig.ready()
    try rig.register("Lamp", subtypes: ["_colour"])
    rig.pass(.seconds(10))
    let packets = rig.responses
    #expect(packets.count == 2)
    #expect(packets[1].at - packets[0].at == .seconds(1))
    for packet in packets {
      let message = packet.message
      #expect(packet.isMulticast)
      #expect(
        Set(message.answers.map { "\($0.name) \($0.type)" }) == [
          "_http._tcp.local. PTR", "_colour._sub._http._tcp.local. PTR",
          "_services._dns-sd._udp.local. PTR", "Lamp._http._tcp.local. SRV",
          "Lamp._http._tcp.local. TXT",
        ])
      for record in message.answers { #expect(record.flushesCache == (record.type != .ptr)) }
    }
  }

  @Test(
    "A13 A14 A16 A17 A18 A19 A20 A28: a response has an empty head but for QR and AA, no questions")
  func header() throws {
    var rig = try ResponderRig.ready()
    try rig.register("Lamp")
    rig.pass(.seconds(3))
    rig.query(.http, .ptr)
    rig.pass(.seconds(1))
    #expect(rig.responses.count == 3)
    for packet in rig.responses {
      #expect(packet.message.header == DNSHeader(id: 0, flags: 0x8400))
      #expect(packet.message.questions.isEmpty)
    }
    #expect(rig.probes.allSatisfy { $0.message.header == DNSHeader(id: 0, flags: 0) })
  }

  @Test("D16: nothing is announced periodically")
  func noPeriodicAnnouncements() throws {
    var rig = try ResponderRig.registered()
    rig.pass(.seconds(86_400))
    #expect(rig.sent.isEmpty)
    #expect(rig.responder.nextWake == nil)
  }

  @Test("D17 E18: a changed TXT record is announced again within 1.5 s, without a goodbye")
  func changedText() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp")
    rig.pass(.milliseconds(1200))
    rig.sent = []
    let text = try TXTRecord(strings: ["on=1".utf8])
    rig.handle(.updateText(id, text))
    rig.pass(.milliseconds(1500))
    let told = rig.answers(.txt).filter { $0.data == .txt(text) }
    #expect(!told.isEmpty)
    rig.pass(.seconds(5))
    let all = rig.answers(.txt)
    #expect(all.filter { $0.data == .txt(text) }.count == 2)
    #expect(all.allSatisfy { $0.ttlSeconds == 4500 && $0.flushesCache })
  }

  @Test("D17: a shared record that changes gets a goodbye for its old data")
  func changedSharedRecord() throws {
    var rig = try ResponderRig.ready()
    let id = rig.register(.ptr(.http, .lamp), .shared)
    rig.pass(.seconds(5))
    rig.sent = []
    rig.handle(.updateRecord(id, .ptr("Torch._http._tcp.local."), ttlSeconds: 4500))
    rig.pass(.seconds(5))
    #expect(rig.answers.first == .ptr(.http, .lamp, ttlSeconds: 0))
    #expect(
      rig.answers.dropFirst().map(\.data) == [
        .ptr("Torch._http._tcp.local."), .ptr("Torch._http._tcp.local."),
      ])
  }

  @Test("D18: changes are announced at most ten times a minute, the last one always")
  func rateOfChanges() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp")
    rig.pass(.seconds(5))
    rig.sent = []
    for number in 0..<100 {
      rig.handle(.updateText(id, try TXTRecord(strings: ["n=\(number)".utf8])))
      rig.pass(.milliseconds(200))
    }
    rig.pass(.seconds(120))
    let start = rig.sent[0].at
    let first = rig.responses.filter { $0.at < start + .seconds(60) }.flatMap(\.message.answers)
    #expect(Set(first.map(\.data)).count <= 10)
    let last = try TXTRecord(strings: ["n=99".utf8])
    #expect(rig.answers(.txt).last?.data == .txt(last))
    for (a, b) in zip(rig.responses, rig.responses.dropFirst()) {
      #expect(b.at - a.at >= .seconds(1))
    }
  }

  @Test("D19: an interface that comes back is probed and announced on again")
  func restart() throws {
    var rig = try ResponderRig.registered()
    rig.handle(.interfaceRestarted(ResponderRig.eth0))
    rig.query(.lamp, .srv)
    #expect(rig.sent.isEmpty)
    rig.pass(.seconds(5))
    #expect(rig.probes.count == 3)
    #expect(Set(rig.probes[0].message.questions.map(\.name)) == [.ambit, .lamp])
    #expect(rig.answers(.srv).count == 2)
    #expect(rig.answers(.a).count == 2)
    #expect(rig.events.isEmpty, "the names are the same")
  }

  @Test("D25 D26: unregistering sends goodbyes with a TTL of 0, for unique and shared records")
  func goodbye() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp", subtypes: ["_colour"])
    rig.pass(.seconds(5))
    rig.sent = []
    rig.handle(.unregister(id))
    rig.pass(.seconds(10))
    #expect(rig.sent.count == 1)
    #expect(rig.answers.count == 5)
    #expect(rig.answers.allSatisfy { $0.ttlSeconds == 0 })
    #expect(rig.answer(.http, .ptr).isEmpty)
    #expect(rig.answer(.lamp, .srv).isEmpty)
  }

  @Test("D25: shutting down sends goodbyes for everything at once")
  func shutDown() throws {
    var rig = try ResponderRig.registered()
    rig.handle(.shutDown)
    #expect(rig.sent.count == 1)
    #expect(Set(rig.answers.map(\.type)) == [.ptr, .srv, .txt, .a])
    #expect(rig.answers.allSatisfy { $0.ttlSeconds == 0 })
    #expect(rig.responder.nextWake == nil)
    rig.query(.ambit, .a)
    try rig.register("Late")
    rig.pass(.seconds(5))
    #expect(rig.sent.count == 1)
  }

  @Test("a record that was never announced gets no goodbye")
  func goodbyeWhileProbing() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp")
    rig.pass(.milliseconds(500))
    rig.handle(.unregister(id))
    rig.pass(.seconds(5))
    #expect(rig.responses.isEmpty)
    #expect(rig.probes.count <= 3)
    #expect(rig.responder.nextWake == nil)
  }

  @Test("a thousand services that end together send their goodbyes in few packets")
  func manyGoodbyes() throws {
    var rig = try ResponderRig.ready()
    let ids = try (0..<1000).map { try rig.register("Service \($0)") }
    rig.pass(.seconds(5))
    rig.sent = []
    for id in ids { rig.handle(.unregister(id)) }
    rig.pass(.seconds(1))
    #expect(rig.sent.count <= 60, "\(rig.sent.count) packets")
    #expect(rig.answers.count == 3001)
  }

  @Test("C27: records with a host's name are valid for 120 s, all others for 4,500 s")
  func timesToLive() throws {
    var rig = try ResponderRig()
    rig.connect(ResponderRig.eth0, ["10.0.0.1", "fe80::1"])
    try rig.register("Lamp")
    rig.pass(.seconds(3))
    for record in rig.answers {
      let isShared = record.type == .ptr && !record.flushesCache
      #expect(record.ttlSeconds == (record.type == .txt || isShared ? 4500 : 120))
    }
    #expect(Set(rig.answers.map(\.type)) == [.a, .aaaa, .ptr, .srv, .txt])
  }

  @Test("an added record of a service is announced, answered, changed and removed")
  func furtherRecord() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp")
    rig.pass(.seconds(5))
    let type = DNSType(rawValue: 10)
    rig.sent = []
    rig.handle(.setRecord(id, 1, .opaque(type, [1, 2]), ttlSeconds: 60))
    rig.pass(.seconds(5))
    #expect(rig.answers.map(\.data) == [.opaque(type, [1, 2]), .opaque(type, [1, 2])])
    rig.handle(.setRecord(id, 1, .opaque(type, [3]), ttlSeconds: 60))
    rig.pass(.seconds(5))
    #expect(rig.answer(.lamp, type).first?.message.answers.map(\.data) == [.opaque(type, [3])])
    rig.sent = []
    rig.handle(.setRecord(id, 1, nil, ttlSeconds: 0))
    rig.pass(.seconds(1))
    #expect(rig.answers.map(\.ttlSeconds) == [0])
  }

  @Test("A27: packets fit a frame; only a record that is larger itself goes alone in a larger one")
  func packetSizes() throws {
    var rig = try ResponderRig.ready()
    for number in 0..<40 {
      let text = try TXTRecord(strings: [
        [UInt8](repeating: 65, count: 250), [UInt8](repeating: 66, count: 148),
      ])
      try rig.register("Big \(number)", text: text)
    }
    rig.pass(.seconds(5))
    #expect(rig.sent.allSatisfy { $0.packet.bytes.count <= 1452 })
    #expect(Set(rig.answers(.txt).map(\.name)).count == 40)
    rig.sent = []
    let huge = try TXTRecord(strings: (0..<12).map { _ in [UInt8](repeating: 67, count: 250) })
    try rig.register("Huge", text: huge)
    rig.pass(.seconds(5))
    let large = rig.responses.filter { $0.packet.bytes.count > 1452 }
    #expect(large.count == 2)
    #expect(large.allSatisfy { $0.message.answers.count == 1 && $0.packet.bytes.count <= 9000 })
  }
}
