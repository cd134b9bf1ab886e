import DNSWire
import DiscoveryMachines
import Essentials
import Testing

/// Hosts on one link that loses and delays packets.
struct SimulatedNetwork {
  struct Host {
    var responder: Responder
    var endpoint: Endpoint
    var told: [RegistrationID: DNSName] = [:]
  }

  static let link = MulticastLink(InterfaceIndex(rawValue: 2), .v4)

  var hosts: [Host] = []
  var now = Instant.zero
  var lossProbability: Double
  var packetCount = 0
  private var rng: SeededGenerator
  private var inFlight: [(at: Instant, from: Int, packet: OutgoingPacket)] = []

  init(seed: UInt64, lossProbability: Double) {
    rng = SeededGenerator(seed: seed)
    self.lossProbability = lossProbability
  }

  mutating func join(_ label: String) throws {
    let number = UInt8(hosts.count + 1)
    let address = InetAddress.v4(Inet4Address(10, 0, 0, number))
    hosts.append(
      Host(
        responder: try Responder(hostLabel: Array(label.utf8), rng: rng.fork()),
        endpoint: Endpoint(address, port: 5353)))
    let interface = NetworkInterface(
      Self.link.interface, versions: [.v4], addresses: [.init(address, prefixBitCount: 24)])
    handle(.interfaceChanged(interface), at: hosts.count - 1)
  }

  mutating func handle(_ event: Responder.Event, at index: Int) {
    var actions: [Responder.Action] = []
    hosts[index].responder.handle(event, now: now, into: &actions)
    perform(actions, of: index)
  }

  /// Sends a query for a name by multicast.
  mutating func query(_ name: DNSName) {
    let message = DNSMessage(header: .query, questions: [DNSQuestion(name: name, type: .any)])
    let stranger = Endpoint(.v4(Inet4Address(10, 0, 0, 250)), port: 5353)
    for index in hosts.indices where rng.unit() >= lossProbability {
      handle(
        .received(ReceivedMessage(message, on: Self.link, from: stranger, isMulticast: true)),
        at: index)
    }
  }

  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while true {
      let next = [hosts.compactMap(\.responder.nextWake).min(), inFlight.map(\.at).min()]
        .compactMap { $0 }.min()
      guard let next, next <= end else { break }
      now = max(now, next)
      deliver()
      for index in hosts.indices where hosts[index].responder.nextWake.map({ $0 <= now }) ?? false {
        var actions: [Responder.Action] = []
        hosts[index].responder.wake(now: now, into: &actions)
        perform(actions, of: index)
      }
    }
    now = end
    for host in hosts { #expect(host.responder.violations() == []) }
  }

  private mutating func deliver() {
    let due = inFlight.filter { $0.at <= now }
    inFlight.removeAll { $0.at <= now }
    for (_, from, packet) in due {
      guard let message = try? DNSMessage(decoding: packet.bytes[...]) else { continue }
      // The sender of a multicast packet receives it, too.
      for index in hosts.indices where index == from || rng.unit() >= lossProbability {
        switch packet.destination {
        case .multicast: break
        case .unicast(let endpoint): guard endpoint == hosts[index].endpoint else { continue }
        }
        handle(
          .received(
            ReceivedMessage(
              message, on: Self.link, from: hosts[from].endpoint,
              isMulticast: packet.destination == .multicast)),
          at: index)
      }
    }
  }

  private mutating func perform(_ actions: [Responder.Action], of index: Int) {
    for action in actions {
      switch action {
      case .send(let packet):
        packetCount += 1
        inFlight.append((now + .microseconds(100 + Int64(rng.unit() * 3000)), index, packet))
      case .registered(let id, let name): hosts[index].told[id] = name
      case .refused(let id, _): hosts[index].told[id] = nil
      case .deliver: Issue.record("a responder finds nothing")
      }
    }
  }
}
