import DNSWire
import DiscoveryMachines
import Essentials
import Testing

/// Programs on one link, each with a machine: two of one host, with its name and address, and one of another
/// host. Multicast packets arrive at all of them, and unicast packets to the first host at its last program
/// only, as with sockets that share a port.
private struct SharedPort {
  static let link = MulticastLink(InterfaceIndex(rawValue: 1), .v4)
  /// The program of the other host.
  static let other = 2

  private(set) var now = Instant.zero
  private(set) var told: [[DiscoveryMachine.Action]] = [[], [], []]
  private(set) var sent: [(program: Int, at: Instant, message: DNSMessage)] = []
  private var machines: [DiscoveryMachine] = []
  private var inFlight: [(at: Instant, from: Int, packet: OutgoingPacket)] = []
  private var rng: SeededGenerator

  init(seed: UInt64) throws {
    rng = SeededGenerator(seed: seed)
    for (number, name) in ["lamp", "lamp", "phone"].enumerated() {
      machines.append(try DiscoveryMachine(hostLabel: Array(name.utf8), rng: rng.fork()))
      let interface = NetworkInterface(
        Self.link.interface, versions: [.v4],
        addresses: [.init(.v4(Self.address(number)), prefixBitCount: 24)], receivesUnicast: false)
      handle(number, .interfaceChanged(interface))
    }
  }

  static func address(_ program: Int) -> Inet4Address {
    Inet4Address(10, 0, 0, program == other ? 2 : 1)
  }

  mutating func handle(_ number: Int, _ event: DiscoveryMachine.Event) {
    var actions: [DiscoveryMachine.Action] = []
    machines[number].handle(event, now: now, into: &actions)
    take(actions, of: number)
  }

  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let next = (machines.compactMap(\.nextWake) + inFlight.map(\.at)).min(), next <= end {
      now = max(now, next)
      deliver()
      for number in machines.indices {
        var actions: [DiscoveryMachine.Action] = []
        machines[number].wake(now: now, into: &actions)
        take(actions, of: number)
      }
    }
    now = end
  }

  private mutating func deliver() {
    let due = inFlight.filter { $0.at <= now }
    inFlight.removeAll { $0.at <= now }
    for (_, sender, packet) in due {
      let source = Endpoint(.v4(Self.address(sender)), port: 5353)
      let message = ReceivedMessage(
        decoding: packet.bytes[...], on: Self.link, from: source,
        isMulticast: packet.destination == .multicast)
      guard let message else {
        Issue.record("A program sent an invalid packet.")
        continue
      }
      sent.append((sender, now, message.message))
      for number in receivers(of: packet.destination) { handle(number, .received(message)) }
    }
  }

  private func receivers(of destination: OutgoingPacket.Destination) -> [Int] {
    guard case .unicast(let endpoint) = destination else { return Array(machines.indices) }
    let last = machines.indices.last { .v4(Self.address($0)) == endpoint.address }
    return last.map { [$0] } ?? []
  }

  private mutating func take(_ actions: [DiscoveryMachine.Action], of sender: Int) {
    for action in actions {
      guard case .send(let packet) = action else {
        told[sender].append(action)
        continue
      }
      inFlight.append((now + .microseconds(Int64(100 + rng.unit() * 900)), sender, packet))
    }
  }

  /// The events of a program's query.
  func events(_ program: Int, _ query: QueryID) -> [QueryEvent] {
    told[program].compactMap { action in
      if case .deliver(query, let event, _, _) = action { event } else { nil }
    }
  }

  /// The last name of a program's registration.
  func name(_ program: Int, _ registration: RegistrationID) -> DNSName? {
    told[program].compactMap { action in
      if case .registered(registration, let name) = action { name } else { nil }
    }.last
  }
}

@Suite("Programs of one host that use the port by themselves")
struct SameHostTests {
  private let type: ServiceType
  private let id = RegistrationID(rawValue: 1)
  private let query = QueryID(rawValue: 1)

  init() throws { type = try ServiceType(text: "_light._tcp") }

  private func service(_ instance: String, port: UInt16) throws -> ServiceRegistration {
    try ServiceRegistration(ServiceName(instance: instance, type: type), port: port)
  }

  @Test(
    "programs of one host have one host name, and services of one name get two, whenever they begin",
    arguments: 1...60 as ClosedRange<UInt64>)
  func names(seed: UInt64) throws {
    var port = try SharedPort(seed: seed)
    port.handle(0, .registerService(id, try service("Lamp", port: 80)))
    port.pass(.milliseconds(Int64(seed - 1) * 50))
    port.handle(1, .registerService(id, try service("Lamp", port: 81)))
    port.pass(.seconds(20))
    let second = try ServiceName(instance: "Lamp (2)", type: type).name
    let first = try ServiceName(instance: "Lamp", type: type).name
    #expect(Set([port.name(0, id), port.name(1, id)]) == [first, second])
    #expect(port.name(0, .host) == port.name(1, .host))
    #expect(port.name(0, .host) == "lamp.local.")
    let sentCount = port.sent.count
    port.pass(.seconds(600))
    #expect(port.sent.count == sentCount, "nothing is sent without a reason")
  }

  @Test("each program finds the services of the others, and no question wants an answer by unicast")
  func browsing() throws {
    var port = try SharedPort(seed: 1)
    for program in 0..<3 {
      let own = try service("Lamp \(program)", port: 80)
      port.handle(program, .registerService(id, own))
      port.handle(program, .startQuery(query, .browse(type), on: nil))
    }
    port.pass(.seconds(20))
    let all: Set<QueryEvent> = Set(
      try (0..<3).map { .serviceAdded(try ServiceName(instance: "Lamp \($0)", type: type)) })
    for program in 0..<3 { #expect(Set(port.events(program, query)) == all) }
    let questions = port.sent.flatMap(\.message.questions)
    #expect(!questions.isEmpty && !questions.contains(where: \.wantsUnicastResponse))
    port.handle(0, .request(.unregister(id)))
    port.pass(.seconds(5))
    let gone = QueryEvent.serviceRemoved(try ServiceName(instance: "Lamp 0", type: type))
    for program in 0..<3 { #expect(port.events(program, query).last == gone) }
  }

  @Test(
    "one that ends takes its service along, but neither the addresses nor the type of the others",
    arguments: 0..<60 as Range<UInt64>)
  func end(seed: UInt64) throws {
    var port = try SharedPort(seed: seed)
    let (addresses, types) = (QueryID(rawValue: 2), QueryID(rawValue: 3))
    port.handle(SharedPort.other, .startQuery(query, .browse(type), on: nil))
    port.handle(
      SharedPort.other, .startQuery(addresses, .addresses("lamp.local.", versions: [.v4]), on: nil))
    port.handle(SharedPort.other, .startQuery(types, .serviceTypes(), on: nil))
    for program in 0..<2 {
      port.handle(program, .registerService(id, try service("Lamp \(program)", port: 80)))
    }
    // Also less than a second after the other program has sent the same records.
    port.pass(.seconds(1) + .milliseconds(Int64(seed) * 50))
    port.handle(0, .shutDown)
    port.pass(.seconds(200))
    let address = InetAddress.v4(SharedPort.address(0))
    #expect(port.events(SharedPort.other, addresses) == [.addressAdded(address, ttlSeconds: 120)])
    #expect(port.events(SharedPort.other, types) == [.typeAdded(type)])
    let left = try ServiceName(instance: "Lamp 1", type: type)
    let events = port.events(SharedPort.other, query)
    #expect(events.contains(.serviceAdded(left)) && !events.contains(.serviceRemoved(left)))
    #expect(events.last != .serviceAdded(try ServiceName(instance: "Lamp 0", type: type)))
  }
}
