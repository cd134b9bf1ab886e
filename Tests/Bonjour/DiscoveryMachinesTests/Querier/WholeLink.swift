import DNSWire
import DiscoveryMachines
import Essentials

/// Hosts on one link, each with a querier and a responder, and packets that take time and get lost.
struct WholeLink {
  struct Host {
    var querier: Querier
    var responder: Responder
    var endpoint: Endpoint
    /// Which services its browser sees, and since when.
    var found: [ServiceName: Instant] = [:]
    var resolved: [QueryID: (service: ResolvedService, at: Instant)] = [:]
    var isAlive = true
  }

  static let link = Link(InterfaceIndex(rawValue: 2), .v4)
  static let browse = QueryID(rawValue: 1)

  private(set) var hosts: [Host] = []
  private(set) var now = Instant.zero
  private(set) var packets: [(at: Instant, from: Int, message: DNSMessage, byteCount: Int)] = []
  let lossProbability: Double
  private var chance: SeededGenerator
  private var inFlight: [(at: Instant, from: Int, packet: OutgoingPacket)] = []

  init(seed: UInt64, lossProbability: Double = 0) {
    chance = SeededGenerator(seed: seed)
    self.lossProbability = lossProbability
  }

  /// A host comes to the link.
  @discardableResult
  mutating func join() throws -> Int {
    let place = hosts.count
    let address = IPAddress.v4(IPv4Address(10, 0, 0, UInt8(place + 1)))
    hosts.append(
      Host(
        querier: Querier(chance: chance.fork()),
        responder: try Responder(hostLabel: Array("host".utf8), chance: chance.fork()),
        endpoint: Endpoint(address, port: 5353)))
    let interface = NetworkInterface(
      Self.link.interface, versions: [.v4], addresses: [.init(address, prefixBitCount: 24)])
    ask(.interfaceChanged(interface), at: place)
    answer(.interfaceChanged(interface), at: place)
    return place
  }

  /// The host is switched off.
  mutating func crash(_ place: Int) { hosts[place].isAlive = false }

  mutating func ask(_ event: Querier.Event, at place: Int) {
    var actions: [Querier.Action] = []
    hosts[place].querier.handle(event, now: now, into: &actions)
    perform(actions, of: place)
  }

  mutating func answer(_ event: Responder.Event, at place: Int) {
    var actions: [Responder.Action] = []
    hosts[place].responder.handle(event, now: now, into: &actions)
    perform(actions, of: place)
  }

  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let next = nextInstant(), next <= end {
      now = max(now, next)
      deliver()
      for place in hosts.indices where hosts[place].isAlive { wake(place) }
    }
    now = end
  }

  private func nextInstant() -> Instant? {
    var instants = inFlight.map(\.at)
    for host in hosts where host.isAlive {
      instants += [host.querier.nextWake, host.responder.nextWake].compactMap { $0 }
    }
    return instants.min()
  }

  private mutating func wake(_ place: Int) {
    if let due = hosts[place].querier.nextWake, due <= now {
      var actions: [Querier.Action] = []
      hosts[place].querier.wake(now: now, into: &actions)
      perform(actions, of: place)
    }
    if let due = hosts[place].responder.nextWake, due <= now {
      var actions: [Responder.Action] = []
      hosts[place].responder.wake(now: now, into: &actions)
      perform(actions, of: place)
    }
  }

  private mutating func deliver() {
    let due = inFlight.filter { $0.at <= now }
    inFlight.removeAll { $0.at <= now }
    for (_, from, packet) in due {
      for place in hosts.indices where hosts[place].isAlive {
        guard place == from || chance.unit() >= lossProbability else { continue }
        if case .unicast(let endpoint) = packet.destination, endpoint != hosts[place].endpoint {
          continue
        }
        let received = ReceivedMessage(
          decoding: packet.bytes[...], on: Self.link, from: hosts[from].endpoint,
          isMulticast: packet.destination == .multicast)
        guard let received else { continue }
        ask(.received(received), at: place)
        answer(.received(received), at: place)
      }
    }
  }

  private mutating func send(_ packet: OutgoingPacket, from place: Int) {
    if let message = try? DNSMessage(decoding: packet.bytes[...]) {
      packets.append((now, place, message, packet.bytes.count))
    }
    inFlight.append((now + .microseconds(100 + Int64(chance.unit() * 900)), place, packet))
  }

  private mutating func perform(_ actions: [Querier.Action], of place: Int) {
    for action in actions {
      switch action {
      case .send(let packet): send(packet, from: place)
      case .deliver(_, .serviceAdded(let service), _, _): hosts[place].found[service] = now
      case .deliver(_, .serviceRemoved(let service), _, _): hosts[place].found[service] = nil
      case .deliver(let query, .resolved(let service), _, _):
        hosts[place].resolved[query] = (service, now)
      case .deliver: break
      }
    }
  }

  private mutating func perform(_ actions: [Responder.Action], of place: Int) {
    for action in actions {
      switch action {
      case .send(let packet): send(packet, from: place)
      case .registered, .refused: break
      }
    }
  }
}
