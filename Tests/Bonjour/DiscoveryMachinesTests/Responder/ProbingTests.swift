import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Probing for a name")
struct ProbingTests {
  @Test("D1: the first probe comes after a pause of up to 250 ms that chance decides")
  func firstProbe() throws {
    var pauses: [Double] = []
    for seed in UInt64(1)...40 {
      var rig = try ResponderRig.ready(seed: seed)
      let start = rig.now
      try rig.register("Lamp")
      rig.pass(.seconds(1))
      pauses.append((try #require(rig.probes.first).at - start).seconds)
    }
    #expect(pauses.allSatisfy { (0...0.25).contains($0) })
    #expect((pauses.max() ?? 0) - (pauses.min() ?? 0) > 0.2)
  }

  @Test(
    "D2 D3 D4 D5: three probes, 250 ms apart, query any type and list the proposed records")
  func threeProbes() throws {
    var rig = try ResponderRig.ready()
    try rig.register("Lamp", subtypes: ["_colour"])
    rig.pass(.seconds(3))
    #expect(rig.probes.count == 3)
    for (a, b) in zip(rig.probes, rig.probes.dropFirst()) {
      #expect(b.at - a.at == .milliseconds(250))
    }
    for probe in rig.probes {
      #expect(probe.isMulticast)
      #expect(
        probe.message.questions == [
          DNSQuestion(name: .lamp, type: .any, wantsUnicastResponse: true)
        ])
      #expect(probe.message.answers.isEmpty)
      #expect(Set(probe.message.authorities.map(\.type)) == [.srv, .txt])
      #expect(probe.message.authorities.allSatisfy { $0.name == .lamp && !$0.flushesCache })
    }
    let first = try #require(rig.responses.first)
    #expect(first.at - rig.probes[2].at == .milliseconds(250))
  }

  @Test("D5: the host's name is probed for with all its addresses, its reverse mappings are not")
  func hostName() throws {
    var rig = try ResponderRig()
    rig.connect(versions: [.v4], ["10.0.0.1", "10.0.0.2", "fe80::1"])
    rig.pass(.seconds(1))
    let probe = try #require(rig.probes.first).message
    #expect(probe.questions.map(\.name) == [.ambit])
    #expect(probe.authorities.map(\.type).sorted() == [.a, .a, .aaaa])
    rig.pass(.seconds(3))
    #expect(rig.answers(.ptr).filter(\.flushesCache).isEmpty)
  }

  @Test("nothing is answered before the name is ours", arguments: [0, 200, 500, 700])
  func silenceWhileProbing(_ milliseconds: Int64) throws {
    var rig = try ResponderRig.ready()
    try rig.register("Lamp")
    rig.pass(.milliseconds(milliseconds))
    rig.query(.lamp, .srv)
    rig.query(.http, .ptr)
    #expect(rig.responses.isEmpty)
    #expect(rig.events == [.registered(.host, .ambit)])
  }

  @Test("the name is reported once it is registered")
  func report() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp")
    rig.pass(.milliseconds(740))
    #expect(!rig.events.contains(.registered(id, .lamp)))
    rig.pass(.seconds(10))
    #expect(rig.events.filter { $0 == .registered(id, .lamp) }.count == 1)
  }

  @Test("D6: any record of another host for the name during probing leads to another name")
  func conflict() throws {
    let records: [DNSRecord] = [
      .srv(.lamp), .a(.lamp, 7),
      DNSRecord(name: .lamp, ttlSeconds: 4500, data: .txt(try TXTRecord(strings: ["a=1".utf8]))),
    ]
    for record in records {
      for isMulticast in [true, false] {
        var rig = try ResponderRig.ready()
        let id = try rig.register("Lamp")
        rig.pass(.milliseconds(500))
        rig.say([record], isMulticast: isMulticast)
        rig.pass(.seconds(3))
        #expect(rig.events.last == .registered(id, "Lamp\\ (2)._http._tcp.local."))
        #expect(rig.probes.last?.message.questions.first?.name == "Lamp\\ (2)._http._tcp.local.")
        #expect(!rig.answers.contains { $0.name == .lamp })
      }
    }
  }

  @Test("D7: records received before the first probe are no conflict")
  func earlyResponse() throws {
    for seed in UInt64(1)...20 {
      var rig = try ResponderRig.ready(seed: seed)
      let id = try rig.register("Lamp")
      rig.say([.srv(.lamp)])
      rig.pass(.seconds(3))
      #expect(rig.events.last == .registered(id, .lamp))
    }
  }

  @Test("D8: records of a host that has left don't keep the name from being probed for")
  func noCache() throws {
    var rig = try ResponderRig.ready()
    rig.say([.srv(.lamp)])
    rig.pass(.seconds(10))
    let id = try rig.register("Lamp")
    rig.pass(.seconds(3))
    #expect(rig.probes.count == 3)
    #expect(rig.events.last == .registered(id, .lamp))
  }

  @Test("D9: after 15 conflicts in 10 s there are 5 s between attempts, until one succeeds")
  func rateLimit() throws {
    var rig = try ResponderRig.ready()
    try rig.register("Lamp")
    let gaps = try gapsOfAttempts(24, &rig)
    #expect(gaps.prefix(14).allSatisfy { $0 < 0.3 })
    #expect(gaps.dropFirst(14).allSatisfy { $0 >= 5 })
    // No host has that name, and ten seconds later all conflicts are forgotten.
    rig.pass(.seconds(18))
    #expect(try gapsOfAttempts(14, &rig).allSatisfy { $0 < 0.8 })
  }

  /// Another host has each name that is tried: returns the seconds between the attempts.
  private func gapsOfAttempts(_ count: Int, _ rig: inout ResponderRig) throws -> [Double] {
    var attempts: [Instant] = []
    while attempts.count < count {
      let count = rig.probes.count
      while rig.probes.count == count, let next = rig.responder.nextWake {
        rig.pass(next - rig.now)
      }
      attempts.append(rig.now)
      let name = try #require(rig.probes.last?.message.questions.first?.name)
      rig.say([.srv(name)])
    }
    return zip(attempts.dropFirst(), attempts).map { ($0 - $1).seconds }
  }

  private let theirsLater: [DNSRecord] = [
    .srv(.lamp, port: 65_535, "zzz.local."),
    DNSRecord(name: .lamp, ttlSeconds: 4500, data: .txt(TXTRecord())),
  ]

  @Test("D10: the loser of a tie-break waits a second, then probes for the same name again")
  func lostTie() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp")
    rig.pass(.milliseconds(400))
    let count = rig.probes.count
    // SRV comes after TXT, and ours has the smaller port.
    rig.query(.lamp, .any, unicast: true, proposing: theirsLater)
    let time = rig.now
    rig.pass(.milliseconds(999))
    #expect(rig.probes.count == count)
    rig.pass(.seconds(4))
    let next = rig.probes[count]
    #expect(next.at - time == .seconds(1))
    #expect(next.message.questions.first?.name == .lamp)
    #expect(rig.probes.count == count + 3)
    #expect(rig.events.last == .registered(id, .lamp))
  }

  @Test("D11: the winner of a tie-break carries on as if nothing had happened")
  func wonTie() throws {
    var rig = try ResponderRig.ready()
    let id = try rig.register("Lamp", port: 80)
    rig.pass(.milliseconds(400))
    rig.query(.lamp, .any, proposing: [.srv(.lamp, port: 1, "aaa.local."), theirsLater[1]])
    rig.pass(.seconds(1))
    #expect(rig.probes.count == 3)
    #expect(rig.events.last == .registered(id, .lamp))
  }

  @Test("D12: our own probe that comes back, here or on another of our links, is no rival")
  func echo() throws {
    var rig = try ResponderRig()
    rig.connect(ResponderRig.eth0, ["10.0.0.1"])
    rig.connect(ResponderRig.eth1, ["10.0.0.2"])
    let end = rig.now + .seconds(3)
    var echoed = 0
    while rig.now < end {
      rig.pass(.milliseconds(1))
      let new = rig.sent.dropFirst(echoed)
      echoed = rig.sent.count
      // Both interfaces are on one bridge: each receives the other's packets, and its own.
      for packet in new {
        for interface in [ResponderRig.eth0, ResponderRig.eth1] {
          rig.receive(packet.message, on: MulticastLink(interface, .v4))
        }
      }
    }
    #expect(rig.events == [.registered(.host, .ambit)])
    #expect(rig.probes.count == 6, "three on each link")
  }

  @Test("D13: proposed records are compared in order of class, type and data; a longer list wins")
  func order() {
    func txt(_ text: String) -> DNSRecord {
      let record = try? TXTRecord(strings: [Array(text.utf8)])
      return DNSRecord(name: .lamp, ttlSeconds: 4500, data: .txt(record ?? TXTRecord()))
    }
    let table: [(ours: [DNSRecord], theirs: [DNSRecord], order: Int)] = [
      ([.a(.lamp, 1)], [.a(.lamp, 1)], 0),
      ([.a(.lamp, 1)], [.a(.lamp, 2)], -1),
      ([.a(.lamp, 200)], [.a(.lamp, 99)], 1),
      ([.a(.lamp, 1)], [txt("")], -1),
      ([.srv(.lamp, port: 1)], [txt("zzz")], 1),
      ([.a(.lamp, 1), .a(.lamp, 3)], [.a(.lamp, 3), .a(.lamp, 1)], 0),
      ([.a(.lamp, 1), .a(.lamp, 3)], [.a(.lamp, 2), .a(.lamp, 1)], 1),
      ([.a(.lamp, 1)], [.a(.lamp, 1), .a(.lamp, 2)], -1),
      ([.a(.lamp, 1), txt("")], [.a(.lamp, 1)], 1),
      ([], [.a(.lamp, 1)], -1),
      ([.srv(.lamp, port: 80)], [.srv(.lamp, port: 81)], -1),
      ([txt("a")], [txt("B")], 1),
      ([txt("B")], [txt("C")], -1),
    ]
    for row in table {
      #expect(DNSRecord.tieBreak(ours: row.ours, theirs: row.theirs).signum() == row.order)
      #expect(DNSRecord.tieBreak(ours: row.theirs, theirs: row.ours).signum() == -row.order)
    }
  }

  @Test("a thousand services are probed for and announced in few packets")
  func thousand() throws {
    var rig = try ResponderRig.ready()
    let start = rig.now
    for number in 0..<1000 { try rig.register("Service \(number)", port: UInt16(number + 1)) }
    rig.pass(.milliseconds(1250))
    #expect(rig.events.count == 1001)
    rig.pass(.seconds(3))
    #expect(rig.sent.count <= 300, "\(rig.sent.count) packets")
    #expect(rig.sent.allSatisfy { $0.packet.bytes.count <= 1452 })
    let named = Set(rig.answers(.srv).map(\.name))
    #expect(named.count == 1000)
    #expect((rig.probes[0].at - start).seconds <= 0.25)
  }

  @Test("D29: a record that is known to be unique is announced without a probe")
  func knownUnique() throws {
    var rig = try ResponderRig.ready()
    let id = rig.register(.a("proxied.local.", 77), .knownUnique)
    #expect(rig.events.last == .registered(id, "proxied.local."))
    rig.pass(.seconds(3))
    #expect(rig.probes.isEmpty)
    #expect(rig.answers == [.a("proxied.local.", 77), .a("proxied.local.", 77)])
  }
}
