import DNSWire
import Essentials
import Testing

@testable import DiscoveryMachines

/// What a host with many interfaces costs: counted, not timed.
@Suite("The work of a host with many interfaces")
struct ManyInterfacesTests {
  /// A responder on many links of which two and two are connected, as the ends of virtual Ethernet
  /// devices are: every packet comes back as an echo, and arrives at the other end, too.
  private struct Ring {
    let count: Int
    var responder: Responder
    let work = WorkCounter()
    var now = Instant.zero
    var packetCount = 0
    var names: Set<DNSName> = []

    init(count: Int) throws {
      self.count = count
      responder = try Responder(hostLabel: Array("here".utf8), rng: SeededGenerator(seed: 1))
      responder.store.work = work
    }

    static func address(_ number: Int) -> Inet4Address {
      Inet4Address(10, 0, UInt8(number / 2), UInt8(1 + number % 2))
    }

    mutating func connect(_ number: Int) {
      handle(
        .interfaceChanged(
          NetworkInterface(
            InterfaceIndex(rawValue: UInt32(number + 1)), versions: [.v4],
            addresses: [.init(.v4(Self.address(number)), prefixBitCount: 24)])))
    }

    mutating func handle(_ event: Responder.Event) {
      var actions: [Responder.Action] = []
      responder.handle(event, now: now, into: &actions)
      take(actions)
    }

    mutating func pass(_ span: TimeSpan) {
      let end = now + span
      while let next = responder.nextWake, next <= end {
        now = max(now, next)
        var actions: [Responder.Action] = []
        responder.wake(now: now, into: &actions)
        take(actions)
      }
      now = end
    }

    private mutating func take(_ actions: [Responder.Action]) {
      for action in actions {
        switch action {
        case .registered(_, let name): names.insert(name)
        case .send(let packet): carry(packet)
        case .refused, .deliver: break
        }
      }
    }

    private mutating func carry(_ packet: OutgoingPacket) {
      packetCount += 1
      let number = Int(packet.link.interface.rawValue) - 1
      let source = Endpoint(.v4(Self.address(number)), port: multicastDNSPort)
      for receiver in [number, number ^ 1] where packet.destination == .multicast {
        let link = MulticastLink(InterfaceIndex(rawValue: UInt32(receiver + 1)), .v4)
        guard
          let message = ReceivedMessage(
            decoding: packet.bytes[...], on: link, from: source, isMulticast: true)
        else { continue }
        handle(.received(message))
      }
    }
  }

  /// The work of interfaces that come up one after another, of a service on all of them, of a
  /// question on each, and of the end.
  private func work(interfaces count: Int) throws -> (work: Int, packets: Int) {
    var ring = try Ring(count: count)
    let service = try ServiceRegistration(
      ServiceName(instance: "Lamp", type: ServiceType(text: "_light._tcp")), port: 80)
    ring.handle(.registerService(RegistrationID(rawValue: 1), service))
    for number in 0..<count { ring.connect(number) }
    ring.pass(.seconds(10))
    #expect(ring.names == ["here.local.", service.name.name], "nothing was taken for a rival's")
    for number in 0..<count {
      let question = DNSQuestion(name: "here.local.", type: .a)
      let link = MulticastLink(InterfaceIndex(rawValue: UInt32(number + 1)), .v4)
      let peer = Endpoint(.v4(Inet4Address(10, 0, UInt8(number / 2), 9)), port: multicastDNSPort)
      ring.handle(
        .received(
          ReceivedMessage(
            DNSMessage(header: .query, questions: [question]), on: link, from: peer,
            isMulticast: true)))
    }
    ring.pass(.seconds(10))
    ring.handle(.shutDown)
    return (ring.work.count, ring.packetCount)
  }

  @Test("the work grows as the number of interfaces does, up to two hundred")
  func linear() throws {
    let (few, many) = (try work(interfaces: 50), try work(interfaces: 200))
    #expect(many.packets >= 200 * 6, "probes, announcements, an answer")
    #expect(many.packets <= few.packets * 5)
    #expect(many.work <= few.work * 5, "\(many.work) sets, and \(few.work) for a quarter of them")
    #expect(many.work <= many.packets * 200)
  }

  @Test("proposals that come from another interface of this host are no rival's")
  func otherInterface() throws {
    // The lower address would lose the comparison.
    var ring = try Ring(count: 2)
    ring.handle(.registerHost)
    for number in [0, 1] { ring.connect(number) }
    let start = ring.now
    while ring.names.isEmpty, let next = ring.responder.nextWake, next <= start + .seconds(5) {
      ring.pass(next - ring.now)
    }
    #expect(ring.names == ["here.local."])
    #expect(ring.now - start <= .milliseconds(1_000), "none waited for a second")
  }
}
