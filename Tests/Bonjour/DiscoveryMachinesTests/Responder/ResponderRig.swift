import DNSWire
import DiscoveryMachines
import Essentials
import Testing

/// A packet that a responder sent, with its message.
struct SentPacket {
  var at: Instant
  var packet: OutgoingPacket
  var message: DNSMessage

  var isMulticast: Bool { packet.destination == .multicast }
  var isResponse: Bool { message.header.isResponse }
}

/// One responder with a tester that records every packet sent and feeds it packets.
struct ResponderRig {
  static let eth0 = InterfaceIndex(rawValue: 2)
  static let eth1 = InterfaceIndex(rawValue: 3)
  static let link = MulticastLink(eth0, .v4)
  static let peer = Endpoint(.v4(Inet4Address(10, 0, 0, 9)), port: 5353)

  var responder: Responder
  var now = Instant.zero
  var sent: [SentPacket] = []
  var events: [Responder.Action] = []
  private var lastID: UInt64 = 0

  /// - Parameter registersHost: Whether the host's name is registered before something needs it.
  init(host: String = "ambit", seed: UInt64 = 1, registersHost: Bool = true) throws {
    responder = try Responder(hostLabel: Array(host.utf8), rng: SeededGenerator(seed: seed))
    if registersHost { handle(.registerHost) }
  }

  /// A host at 10.0.0.1 on one link that has its name already.
  static func ready(seed: UInt64 = 1) throws -> ResponderRig {
    var rig = try ResponderRig(seed: seed)
    rig.connect()
    rig.pass(.seconds(5))
    rig.sent = []
    return rig
  }

  /// The same with a service that was announced a while ago.
  static func registered(
    seed: UInt64 = 1, _ instance: String = "Lamp", subtypes: [DNSLabel] = []
  ) throws -> ResponderRig {
    var rig = try ready(seed: seed)
    try rig.register(instance, subtypes: subtypes)
    rig.pass(.seconds(5))
    rig.sent = []
    rig.events = []
    return rig
  }

  // MARK: What happens

  mutating func handle(_ event: Responder.Event) {
    var actions: [Responder.Action] = []
    responder.handle(event, now: now, into: &actions)
    take(actions)
  }

  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let next = responder.nextWake, next <= end {
      precondition(next >= now, "woken in the past")
      now = next
      var actions: [Responder.Action] = []
      responder.wake(now: now, into: &actions)
      take(actions)
      precondition(responder.nextWake.map { $0 > now } ?? true, "a wake-up that does nothing")
    }
    now = end
  }

  private mutating func take(_ actions: [Responder.Action]) {
    for action in actions {
      guard case .send(let packet) = action else {
        events.append(action)
        continue
      }
      do {
        let message = try DNSMessage(decoding: packet.bytes[...])
        sent.append(SentPacket(at: now, packet: packet, message: message))
      } catch {
        Issue.record("sent what nobody can read: \(error)")
      }
    }
  }

  mutating func connect(
    _ index: InterfaceIndex = eth0, versions: Set<IPVersion> = [.v4],
    _ addresses: [String] = ["10.0.0.1"]
  ) {
    let list = addresses.compactMap { InetAddress(text: $0) }.map {
      NetworkInterface.Address($0, prefixBitCount: $0.version == .v4 ? 24 : 64)
    }
    handle(.interfaceChanged(NetworkInterface(index, versions: versions, addresses: list)))
  }

  @discardableResult
  mutating func register(
    _ instance: String, type: String = "_http._tcp", subtypes: [DNSLabel] = [], port: UInt16 = 80,
    text: TXTRecord = TXTRecord(), interface: InterfaceIndex? = nil, host: DNSName? = nil,
    _ policy: ConflictPolicy = .rename
  ) throws -> RegistrationID {
    let name = try ServiceName(instance: instance, type: ServiceType(text: type))
    let id = newID()
    handle(
      .registerService(
        id,
        try ServiceRegistration(
          name, subtypes: subtypes, host: host, port: port, text: text, interface: interface,
          conflictPolicy: policy)))
    return id
  }

  @discardableResult
  mutating func register(
    _ record: DNSRecord, _ ownership: RecordRegistration.Ownership
  ) -> RegistrationID {
    let id = newID()
    handle(.registerRecord(id, RecordRegistration(record, ownership)))
    return id
  }

  private mutating func newID() -> RegistrationID {
    lastID += 1
    return RegistrationID(rawValue: lastID)
  }

  mutating func receive(
    _ message: DNSMessage, on link: MulticastLink = link, from source: Endpoint = peer,
    isMulticast: Bool = true
  ) {
    handle(.received(ReceivedMessage(message, on: link, from: source, isMulticast: isMulticast)))
  }

  mutating func query(
    _ name: DNSName, _ type: DNSType, unicast: Bool = false, known: [DNSRecord] = [],
    truncated: Bool = false, on link: MulticastLink = link, from source: Endpoint = peer,
    isMulticast: Bool = true, proposing: [DNSRecord] = []
  ) {
    var header = DNSHeader.query
    header.isTruncated = truncated
    receive(
      DNSMessage(
        header: header,
        questions: [DNSQuestion(name: name, type: type, wantsUnicastResponse: unicast)],
        answers: known, authorities: proposing),
      on: link, from: source, isMulticast: isMulticast)
  }

  mutating func say(
    _ records: [DNSRecord], on link: MulticastLink = link, from source: Endpoint = peer,
    isMulticast: Bool = true
  ) {
    receive(
      DNSMessage(header: .response, answers: records), on: link, from: source,
      isMulticast: isMulticast)
  }

  // MARK: What came of it

  var probes: [SentPacket] { sent.filter { !$0.isResponse } }
  var responses: [SentPacket] { sent.filter(\.isResponse) }
  var answers: [DNSRecord] { responses.flatMap(\.message.answers) }

  func answers(_ type: DNSType) -> [DNSRecord] { answers.filter { $0.type == type } }

  /// Sends a query, and returns the responses of the next two seconds with their times.
  mutating func answer(
    _ name: DNSName, _ type: DNSType, unicast: Bool = false, known: [DNSRecord] = []
  ) -> [SentPacket] {
    sent = []
    query(name, type, unicast: unicast, known: known)
    pass(.seconds(2))
    return responses
  }
}

extension DNSRecord {
  /// A record of another host.
  static func srv(_ name: DNSName, port: UInt16 = 9, _ target: DNSName = "rival.local.") -> Self {
    DNSRecord(
      name: name, flushesCache: true, ttlSeconds: 120,
      data: .srv(DNSService(port: port, target: target)))
  }

  static func a(_ name: DNSName, _ d: UInt8, ttlSeconds: UInt32 = 120) -> Self {
    DNSRecord(
      name: name, flushesCache: true, ttlSeconds: ttlSeconds, data: .a(Inet4Address(10, 0, 0, d)))
  }

  static func ptr(_ name: DNSName, _ target: DNSName, ttlSeconds: UInt32 = 4500) -> Self {
    DNSRecord(name: name, ttlSeconds: ttlSeconds, data: .ptr(target))
  }
}

extension DNSName {
  static let http: DNSName = "_http._tcp.local."
  static let lamp: DNSName = "Lamp._http._tcp.local."
  static let ambit: DNSName = "ambit.local."
}
