import DNSWire
import DiscoveryMachines
import Essentials
import Testing

/// Hosts on one link, each with a querier and a responder, and packets that take time and get lost.
struct WholeLink {
  struct Host {
    var querier: Querier
    var responder: Responder
    var endpoint: Endpoint
    /// Which services its browser sees, and since when.
    var found: [ServiceName: Instant] = [:]
    var resolved: [QueryID: (service: ServiceResolution, at: Instant)] = [:]
    var isAlive = true
    /// Whether it resolves each service as soon as it finds it.
    var resolvesAll = false
  }

  static let link = MulticastLink(InterfaceIndex(rawValue: 2), .v4)
  static let browse = QueryID(rawValue: 1)

  private(set) var hosts: [Host] = []
  private(set) var now = Instant.zero
  private(set) var packets: [(at: Instant, from: Int, message: DNSMessage, byteCount: Int)] = []
  let lossProbability: Double
  private var rng: SeededGenerator
  private var inFlight: [(at: Instant, from: Int, packet: OutgoingPacket)] = []

  init(seed: UInt64, lossProbability: Double = 0) {
    rng = SeededGenerator(seed: seed)
    self.lossProbability = lossProbability
  }

  /// A host comes to the link.
  @discardableResult
  mutating func join() throws -> Int {
    let position = hosts.count
    let address = InetAddress.v4(Inet4Address(10, 0, 0, UInt8(position + 1)))
    hosts.append(
      Host(
        querier: Querier(rng: rng.fork()),
        responder: try Responder(hostLabel: Array("host".utf8), rng: rng.fork()),
        endpoint: Endpoint(address, port: 5353)))
    let interface = NetworkInterface(
      Self.link.interface, versions: [.v4], addresses: [.init(address, prefixBitCount: 24)])
    query(.interfaceChanged(interface), at: position)
    answer(.interfaceChanged(interface), at: position)
    return position
  }

  /// The host resolves each service that it finds from now on.
  mutating func resolveAll(at position: Int) { hosts[position].resolvesAll = true }

  /// The host is switched off.
  mutating func crash(_ position: Int) { hosts[position].isAlive = false }

  mutating func query(_ event: Querier.Event, at position: Int) {
    var actions: [Querier.Action] = []
    hosts[position].querier.handle(event, now: now, into: &actions)
    perform(actions, of: position)
  }

  mutating func answer(_ event: Responder.Event, at position: Int) {
    var actions: [Responder.Action] = []
    hosts[position].responder.handle(event, now: now, into: &actions)
    perform(actions, of: position)
  }

  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let next = nextInstant(), next <= end {
      now = max(now, next)
      deliver()
      for position in hosts.indices where hosts[position].isAlive { wake(position) }
    }
    now = end
    for host in hosts {
      #expect(host.querier.violations() + host.responder.violations() == [])
    }
  }

  private func nextInstant() -> Instant? {
    var instants = inFlight.map(\.at)
    for host in hosts where host.isAlive {
      instants += [host.querier.nextWake, host.responder.nextWake].compactMap { $0 }
    }
    return instants.min()
  }

  private mutating func wake(_ position: Int) {
    if let due = hosts[position].querier.nextWake, due <= now {
      var actions: [Querier.Action] = []
      hosts[position].querier.wake(now: now, into: &actions)
      perform(actions, of: position)
    }
    if let due = hosts[position].responder.nextWake, due <= now {
      var actions: [Responder.Action] = []
      hosts[position].responder.wake(now: now, into: &actions)
      perform(actions, of: position)
    }
  }

  private mutating func deliver() {
    let due = inFlight.filter { $0.at <= now }
    inFlight.removeAll { $0.at <= now }
    for (_, from, packet) in due {
      for position in hosts.indices where hosts[position].isAlive {
        guard position == from || rng.unit() >= lossProbability else { continue }
        if case .unicast(let endpoint) = packet.destination, endpoint != hosts[position].endpoint {
          continue
        }
        let received = ReceivedMessage(
          decoding: packet.bytes[...], on: Self.link, from: hosts[from].endpoint,
          isMulticast: packet.destination == .multicast)
        guard let received else { continue }
        query(.received(received), at: position)
        answer(.received(received), at: position)
      }
    }
  }

  private mutating func send(_ packet: OutgoingPacket, from position: Int) {
    if let message = try? DNSMessage(decoding: packet.bytes[...]) {
      packets.append((now, position, message, packet.bytes.count))
    }
    // As on Ethernet, what a host sends arrives in order.
    let last = inFlight.last { $0.from == position }?.at ?? now
    let at = max(last, now + .microseconds(100 + Int64(rng.unit() * 900)))
    inFlight.append((at, position, packet))
  }

  private mutating func perform(_ actions: [DiscoveryAction], of position: Int) {
    for action in actions {
      switch action {
      case .send(let packet): send(packet, from: position)
      case .deliver(_, .serviceAdded(let service), _, _):
        hosts[position].found[service] = now
        if hosts[position].resolvesAll {
          let id = QueryID(rawValue: 1_000 + UInt64(hosts[position].found.count))
          query(.start(id, .resolve(service)), at: position)
        }
      case .deliver(_, .serviceRemoved(let service), _, _): hosts[position].found[service] = nil
      case .deliver(let query, .resolved(let service), _, _):
        hosts[position].resolved[query] = (service, now)
      case .deliver, .registered, .refused: break
      }
    }
  }
}
