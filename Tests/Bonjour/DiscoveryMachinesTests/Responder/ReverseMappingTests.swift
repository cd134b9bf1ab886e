import DNSWire
import DiscoveryMachines
import Essentials
import Testing

/// A responder beside another one of the same machine, such as Avahi, that has another name for its address.
@Suite("Names of addresses that two responders of a machine share")
struct ReverseMappingTests {
  private let reverse = InetAddress.v4(Inet4Address(10, 0, 0, 1)).reverseName
  private var other: DNSRecord {
    DNSRecord(
      name: reverse, flushesCache: true, ttlSeconds: 120, data: .ptr("avahi.local."))
  }

  /// The packets of ours that have the reverse name as that of a record.
  private func mappings(_ rig: ResponderRig) -> [SentPacket] {
    rig.sent.filter { sent in
      (sent.message.answers + sent.message.authorities + sent.message.additionals).contains {
        $0.name == reverse
      }
    }
  }

  @Test("the name of an address is sent to those that query it only, and never without a question")
  func unasked() throws {
    var rig = try ResponderRig()
    rig.connect()
    rig.pass(.seconds(5))
    try rig.register("Lamp")
    rig.pass(.seconds(5))
    rig.handle(.setHostLabel(Array("other".utf8)))
    rig.connect(ResponderRig.eth0, ["10.0.0.1", "10.0.0.7"])
    rig.pass(.seconds(5))
    rig.handle(.shutDown)
    #expect(rig.answers(.a).contains(.a("other.local.", 7)))
    #expect(mappings(rig).isEmpty)
  }

  @Test(
    "an answer waits for others that may have another name for the address, and gives way to them",
    arguments: 1...20 as ClosedRange<UInt64>)
  func givesWay(seed: UInt64) throws {
    var rig = try ResponderRig.ready(seed: seed)
    rig.query(reverse, .ptr)
    rig.pass(.milliseconds(19))
    #expect(rig.sent.isEmpty)
    rig.say([other])
    rig.pass(.seconds(5))
    #expect(rig.answer(reverse, .ptr).isEmpty)
    #expect(rig.answer(reverse, .any).isEmpty && rig.answer(reverse, .txt).isEmpty)
    #expect(rig.answer(.ambit, .a).flatMap(\.message.answers) == [.a(.ambit, 1)])
  }

  @Test("a responder that probes for another name of the address gets no objection")
  func probe() throws {
    var rig = try ResponderRig.registered()
    #expect(rig.answer(reverse, .ptr).count == 1)
    rig.sent = []
    rig.query(reverse, .any, proposing: [other])
    rig.pass(.seconds(5))
    rig.handle(.shutDown)
    #expect(mappings(rig).allSatisfy { $0.message.answers.allSatisfy { $0.ttlSeconds == 0 } })
    #expect(rig.events.isEmpty)
  }

  @Test("the name of an address is answered again when that of the other is over, or withdrawn")
  func over() throws {
    var rig = try ResponderRig.ready()
    rig.say([other])
    rig.pass(.seconds(100))
    #expect(rig.answer(reverse, .ptr).isEmpty)
    rig.pass(.seconds(18))
    #expect(rig.answer(reverse, .ptr).count == 1)
    rig.say([other])
    rig.pass(.seconds(1))
    var goodbye = other
    goodbye.ttlSeconds = 0
    rig.say([goodbye])
    rig.pass(.seconds(1))
    #expect(rig.answer(reverse, .ptr).count == 1)
    // A time that no cache would use is no reason to be silent for ever.
    var long = other
    long.ttlSeconds = .max
    rig.say([long])
    rig.pass(.seconds(120))
    #expect(rig.answer(reverse, .ptr).count == 1)
  }

  @Test("an address that is lost has its name withdrawn where that was sent")
  func lost() throws {
    var rig = try ResponderRig.ready()
    #expect(rig.answer(reverse, .ptr).count == 1)
    rig.sent = []
    rig.connect(ResponderRig.eth0, ["10.0.0.7"])
    rig.pass(.seconds(3))
    #expect(rig.answers.filter { $0.name == reverse }.map(\.ttlSeconds) == [0])
  }

  @Test("our own answer, which another program of the machine has sent, is no other name")
  func echo() throws {
    var rig = try ResponderRig.ready()
    let own = DNSRecord(
      name: reverse, flushesCache: true, ttlSeconds: 120, data: .ptr(.ambit))
    rig.say([own])
    #expect(rig.answer(reverse, .ptr).count == 1)
  }
}
