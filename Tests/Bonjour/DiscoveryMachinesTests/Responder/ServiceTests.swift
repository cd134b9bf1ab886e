import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Services and negative answers")
struct ServiceTests {
  @Test("E14: the answer to browsing has SRV, TXT and addresses as additional records")
  func browse() throws {
    var rig = try ResponderRig.registered()
    let packet = try #require(rig.answer(.http, .ptr).first)
    #expect(packet.message.answers == [.ptr(.http, .lamp)])
    #expect(packet.message.additionals.map(\.type).sorted() == [.a, .txt, .srv, .nsec])
  }

  @Test("E14: each packet of a long answer to browsing has complete services, and one the address")
  func browseMany() throws {
    var rig = try ResponderRig.ready()
    for number in 0..<100 { try rig.register("Lamp \(number)") }
    rig.pass(.seconds(5))
    let packets = rig.answer(.http, .ptr)
    #expect(packets.count <= 5)
    for packet in packets {
      #expect(packet.packet.bytes.count <= 1452)
      for case .ptr(let name) in packet.message.answers.map(\.data) {
        let types = packet.message.additionals.filter { $0.name == name }.map(\.type)
        #expect(types.sorted() == [.txt, .srv], "\(name)")
      }
    }
    #expect(Set(packets.flatMap(\.message.answers).map(\.data)).count == 100)
    #expect(packets.flatMap(\.message.additionals).filter { $0.type == .a }.count == 1)
  }

  @Test("an answer to browsing has what fits of a service that no packet holds whole")
  func browseLarge() throws {
    var rig = try ResponderRig.ready()
    try rig.register("Small")
    let text = try TXTRecord(strings: (0..<8).map { _ in [UInt8](repeating: 67, count: 250) })
    try rig.register("Large", text: text)
    try rig.register("Other")
    rig.pass(.seconds(5))
    let packets = rig.answer(.http, .ptr)
    #expect(packets.flatMap(\.message.answers).count == 3)
    let additionals = packets.flatMap(\.message.additionals)
    #expect(additionals.filter { $0.type == .srv }.count == 3)
    #expect(additionals.filter { $0.type == .txt }.map(\.data.wireBytes) == [[0], [0]])
    #expect(packets.allSatisfy { $0.packet.bytes.count <= 1452 })
  }

  @Test("E15: the answer to resolving has the addresses as additional records")
  func resolve() throws {
    var rig = try ResponderRig()
    rig.connect(ResponderRig.eth0, ["10.0.0.1", "fe80::1"])
    try rig.register("Lamp")
    rig.pass(.seconds(5))
    let packet = try #require(rig.answer(.lamp, .srv).first)
    #expect(packet.message.additionals.map(\.type) == [.a, .aaaa])
  }

  @Test("a record that was multicast within the last second is not added to an answer")
  func recentAdditionals() throws {
    var rig = try ResponderRig.registered()
    rig.query(.ambit, .a)
    rig.pass(.milliseconds(100))
    rig.sent = []
    rig.query(.lamp, .srv)
    #expect(rig.responses.first?.message.additionals.isEmpty == true)
  }

  @Test("E7 A27: the longest text is announced in one message, and a longer one is refused")
  func longText() throws {
    let longest = ServiceRegistration.Limits.textByteCountMax
    let name = try ServiceName(
      instance: String(repeating: "x", count: 63),
      type: ServiceType(text: "_a23456789012345._tcp"))
    func registration(byteCount: Int) throws -> ServiceRegistration {
      let strings = (0..<byteCount / 256).map { _ in [UInt8](repeating: 7, count: 255) }
      let rest = byteCount % 256
      let last = rest == 0 ? [] : [[UInt8](repeating: 7, count: rest - 1)]
      return try ServiceRegistration(name, port: 80, text: TXTRecord(strings: strings + last))
    }
    #expect(throws: DNSWireError.messageTooLong(byteCountMax: longest)) {
      try registration(byteCount: longest + 1)
    }
    var rig = try ResponderRig.ready()
    rig.handle(.registerService(RegistrationID(rawValue: 77), try registration(byteCount: longest)))
    rig.pass(.seconds(5))
    let texts = rig.answers.filter { $0.type == .txt }
    #expect(!texts.isEmpty)
    #expect(texts.allSatisfy { $0.name == name.name })
  }

  @Test("a service that names a subtype twice lists it once, and says goodbye for it")
  func sameSubtypeTwice() throws {
    var rig = try ResponderRig.registered(subtypes: ["_dim", "_dim"])
    let subtype: DNSName = "_dim._sub._http._tcp.local."
    #expect(rig.answer(subtype, .ptr).first?.message.answers == [.ptr(subtype, .lamp)])
    rig.pass(.seconds(2))
    rig.sent = []
    rig.handle(.unregister(RegistrationID(rawValue: 1)))
    rig.pass(.seconds(1))
    #expect(rig.answers.contains { $0.name == subtype && $0.ttlSeconds == 0 })
  }

  @Test("E11: a subtype lists the services that have it, and the type lists them too")
  func subtypes() throws {
    var rig = try ResponderRig.ready()
    try rig.register("Lamp", subtypes: ["_colour", "_dim"])
    try rig.register("Torch")
    rig.pass(.seconds(5))
    for subtype in ["_colour", "_dim"] {
      let name = try DNSName(text: "\(subtype)._sub._http._tcp.local")
      #expect(rig.answer(name, .ptr).flatMap(\.message.answers).map(\.data) == [.ptr(.lamp)])
    }
    #expect(rig.answer(.http, .ptr).flatMap(\.message.answers).count == 2)
  }

  @Test("E12: each type is listed once, until its last service goes")
  func types() throws {
    var rig = try ResponderRig.ready()
    let first = try rig.register("Lamp")
    let second = try rig.register("Torch")
    rig.pass(.seconds(5))
    #expect(
      rig.answer(.serviceTypes, .ptr).flatMap(\.message.answers) == [.ptr(.serviceTypes, .http)])
    rig.sent = []
    rig.handle(.unregister(first))
    rig.pass(.seconds(1))
    #expect(!rig.answers.contains { $0.name == .serviceTypes })
    #expect(rig.answer(.serviceTypes, .ptr).count == 1)
    rig.sent = []
    rig.handle(.unregister(second))
    rig.pass(.seconds(1))
    #expect(rig.answers.contains(.ptr(.serviceTypes, .http, ttlSeconds: 0)))
    #expect(rig.answer(.serviceTypes, .ptr).isEmpty)
  }

  @Test("E6: a service without a text has a TXT record of one empty string")
  func emptyText() throws {
    var rig = try ResponderRig.registered()
    let record = try #require(rig.answer(.lamp, .txt).flatMap(\.message.answers).first)
    #expect(record.data.wireBytes == [0])
  }

  @Test("A24: a name is sent precomposed, in whichever form it was given")
  func precomposed() throws {
    var rig = try ResponderRig.registered("Zoe\u{308} 你好")
    let listed = rig.answer(.http, .ptr).flatMap(\.message.answers)
    guard case .ptr(let name) = listed.first?.data else {
      Issue.record("nothing listed")
      return
    }
    #expect(try #require(name.firstLabel).elementsEqual("Zo\u{EB} 你好".utf8))
  }

  @Test("C17 C18: a name of ours without the queried type is answered with its types")
  func negative() throws {
    var rig = try ResponderRig.registered()
    let cases: [(DNSName, DNSType, DNSTypeBitmap)] = [
      (.ambit, .aaaa, [.a]), (.lamp, .a, [.txt, .srv]), (.lamp, .aaaa, [.txt, .srv]),
      (.ambit, .srv, [.a]),
      (try #require(InetAddress(text: "10.0.0.1")).reverseName, .txt, [.ptr]),
    ]
    for (name, type, types) in cases {
      let packet = try #require(rig.answer(name, type).first)
      let record = try #require(packet.message.answers.first)
      #expect(packet.message.answers.count == 1)
      #expect(record.data == .nsec(next: name, types: types))
      #expect(record.name == name && record.flushesCache && record.ttlSeconds == 120)
      guard case .nsec(_, let bitmap) = record.data else { continue }
      #expect(bitmap.wireBytes.first == 0, "block 0 only")
      #expect(!bitmap.contains(.nsec))
    }
  }

  @Test("C17: a negative answer comes at once, and once a second")
  func negativeTimes() throws {
    var rig = try ResponderRig.registered()
    for _ in 0..<5 {
      rig.query(.ambit, .aaaa)
      #expect(rig.responses.count == 1)
      rig.pass(.milliseconds(150))
    }
  }

  @Test(
    "C20: an address comes with those of the other version, or with their denial")
  func otherVersion() throws {
    var rig = try ResponderRig.registered()
    #expect(rig.answer(.ambit, .a).first?.message.additionals.map(\.type) == [.nsec])
    rig.connect(ResponderRig.eth0, ["10.0.0.1", "fe80::1"])
    rig.pass(.seconds(5))
    #expect(rig.answer(.ambit, .a).first?.message.additionals.map(\.type) == [.aaaa])
    rig.pass(.seconds(5))
    #expect(rig.answer(.ambit, .aaaa).first?.message.additionals.map(\.type) == [.a])
  }

  @Test("names that others may have too are never denied")
  func noDenialOfShared() throws {
    var rig = try ResponderRig.registered()
    #expect(rig.answer(.http, .txt).isEmpty)
    #expect(rig.answer(.serviceTypes, .a).isEmpty)
  }

  @Test("A21: repeated names are written once")
  func compression() throws {
    var rig = try ResponderRig.registered()
    let packet = try #require(rig.answer(.http, .ptr).first)
    let uncompressed = try packet.message.encoded(compression: .none)
    #expect(packet.packet.bytes.count < uncompressed.count * 7 / 10)
    let again = try packet.message.encoded(compression: .multicast)
    #expect(packet.packet.bytes.count == again.count)
  }
}
