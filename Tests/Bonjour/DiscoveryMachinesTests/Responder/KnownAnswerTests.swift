import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Known answers")
struct KnownAnswerTests {
  @Test(
    "C8 C9: an answer is left out if the querier knows it for at least half of its time",
    arguments: [(UInt32(4500), true), (2250, true), (2249, false), (1125, false), (10, false)])
  func suppression(ttlSeconds: UInt32, isSuppressed: Bool) throws {
    var rig = try ResponderRig.registered()
    let answers = rig.answer(
      .http, .ptr, known: [.ptr(.http, .lamp, ttlSeconds: ttlSeconds)])
    #expect(answers.isEmpty == isSuppressed)
  }

  @Test("only known answers are left out")
  func partly() throws {
    var rig = try ResponderRig.registered()
    try rig.register("Torch")
    rig.pass(.seconds(5))
    let answers = rig.answer(.http, .ptr, known: [.ptr(.http, .lamp)])
    #expect(answers.flatMap(\.message.answers).map(\.data) == [.ptr("Torch._http._tcp.local.")])
  }

  @Test("C5: a query with TC is answered after 400 to 500 ms")
  func truncated() throws {
    var delays: [Double] = []
    for seed in UInt64(1)...20 {
      var rig = try ResponderRig.registered(seed: seed)
      let start = rig.now
      rig.query(seed % 2 == 0 ? .http : .lamp, .any, truncated: true)
      rig.pass(.seconds(1))
      delays.append((try #require(rig.responses.first).at - start).seconds * 1000)
    }
    #expect(delays.allSatisfy { (400...500).contains($0) })
    #expect((delays.max() ?? 0) - (delays.min() ?? 0) > 50)
  }

  private func known(_ records: [DNSRecord], truncated: Bool = false) -> DNSMessage {
    var header = DNSHeader.query
    header.isTruncated = truncated
    return DNSMessage(header: header, answers: records)
  }

  @Test("C6: an answer that the querier's next packet lists as known is left out")
  func secondPacket() throws {
    var rig = try ResponderRig.registered()
    rig.query(.http, .ptr, truncated: true)
    rig.pass(.milliseconds(50))
    rig.receive(known([.ptr(.http, .lamp)]))
    rig.pass(.seconds(2))
    #expect(rig.responses.isEmpty)
    rig.query(.http, .ptr, truncated: true)
    rig.receive(
      known([.ptr(.http, .lamp)]),
      from: Endpoint(.v4(Inet4Address(10, 0, 0, 10)), port: 5353))
    rig.pass(.seconds(2))
    #expect(rig.responses.count == 1, "somebody else's knowledge does not count")
  }

  @Test("C7: each following packet with TC makes the wait 400 to 500 ms longer")
  func thirdPacket() throws {
    var rig = try ResponderRig.registered()
    rig.query(.http, .ptr, truncated: true)
    for _ in 0..<3 {
      rig.pass(.milliseconds(300))
      rig.receive(known([.ptr(.http, "Torch._http._tcp.local.")], truncated: true))
    }
    rig.pass(.milliseconds(300))
    #expect(rig.responses.isEmpty)
    rig.receive(known([.ptr(.http, .lamp)]))
    rig.pass(.seconds(2))
    #expect(rig.responses.isEmpty)
  }

  @Test("B10 C1: known answers of other hosts never become answers of ours")
  func foreignKnowledge() throws {
    var rig = try ResponderRig.registered()
    rig.query(.http, .ptr, known: [.ptr(.http, "Torch._http._tcp.local.")])
    rig.pass(.seconds(2))
    #expect(rig.answers == [.ptr(.http, .lamp)])
    #expect(rig.answer("Torch._http._tcp.local.", .any).isEmpty)
  }

  @Test(
    "G11: 50,000 queriers with TC cost no more memory than 64, and are answered")
  func floodOfTruncated() throws {
    var rig = try ResponderRig.registered()
    for number in 0..<50_000 {
      let source = Inet4Address(rawValue: 0x0A00_0000 + UInt32(number % 65_536))
      rig.query(.http, .ptr, truncated: true, from: Endpoint(.v4(source), port: 5353))
      if number % 50 == 0 { rig.pass(.milliseconds(1)) }
    }
    rig.pass(.seconds(2))
    #expect(rig.responses.count >= 1)
    #expect(rig.responses.count <= 4)
    #expect(rig.responder.nextWake == nil)
    #expect(rig.answer(.http, .ptr).count == 1)
  }
}
