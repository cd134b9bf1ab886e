import DNSWire
import DiscoveryMachines
import Essentials
import Testing

/// A querier in virtual time, on interface 1 by default, and its output.
struct QuerierLab {
  struct Sent {
    var at: Instant
    var message: DNSMessage
    var byteCount: Int
    var link: MulticastLink
    var destination: OutgoingPacket.Destination
  }

  struct ReportedResult: Equatable {
    var at: Instant
    var query: QueryID
    var event: QueryEvent
    var interface: InterfaceIndex?
    var moreComing: Bool
  }

  static let first = InterfaceIndex(rawValue: 1)
  static let second = InterfaceIndex(rawValue: 2)
  static let peer = Endpoint(.v4(Inet4Address(192, 0, 2, 7)), port: 5353)

  var querier: Querier
  var now = Instant.zero
  var sent: [Sent] = []
  var told: [ReportedResult] = []
  var wakeCount = 0
  private var lastID: UInt64 = 0

  init(seed: UInt64 = 1, versions: Set<IPVersion> = [.v4], interfaceCount: UInt32 = 1) {
    querier = Querier(rng: SeededGenerator(seed: seed))
    for number in 1...interfaceCount {
      handle(.interfaceChanged(Self.interface(number, versions: versions)))
    }
  }

  static func interface(
    _ number: UInt32, versions: Set<IPVersion> = [.v4], host: UInt8 = 1
  ) -> NetworkInterface {
    let network = UInt8(truncatingIfNeeded: number + 1)
    var addresses: [NetworkInterface.Address] = []
    if versions.contains(.v4) {
      addresses.append(.init(.v4(Inet4Address(192, 0, network, host)), prefixBitCount: 24))
    }
    if versions.contains(.v6) {
      let address = Inet6Address(high: 0xFE80 << 48, low: UInt64(host))
      addresses.append(.init(.v6(address), prefixBitCount: 64))
    }
    return NetworkInterface(
      InterfaceIndex(rawValue: number), versions: versions, addresses: addresses)
  }

  mutating func handle(_ event: Querier.Event) {
    var actions: [Querier.Action] = []
    querier.handle(event, now: now, into: &actions)
    take(actions)
  }

  mutating func run(_ span: TimeSpan) {
    let end = now + span
    while let wake = querier.nextWake, wake <= end {
      now = max(now, wake)
      var actions: [Querier.Action] = []
      querier.wake(now: now, into: &actions)
      take(actions)
      wakeCount += 1
      #expect(querier.nextWake.map { $0 > now } ?? true, "it asks to be woken at once, for ever")
      if querier.nextWake.map({ $0 <= now }) ?? false { return }
    }
    now = end
    #expect(querier.violations(perTable: 64) == [])
  }

  private mutating func take(_ actions: [Querier.Action]) {
    for action in actions {
      switch action {
      case .send(let packet):
        guard let message = try? DNSMessage(decoding: packet.bytes[...]) else {
          Issue.record("a packet that cannot be read")
          continue
        }
        sent.append(
          Sent(
            at: now, message: message, byteCount: packet.bytes.count, link: packet.link,
            destination: packet.destination))
      case .deliver(let query, let event, let interface, let moreComing):
        told.append(
          ReportedResult(
            at: now, query: query, event: event, interface: interface, moreComing: moreComing))
      case .registered, .refused: Issue.record("a querier registers nothing")
      }
    }
  }

  @discardableResult
  mutating func start(
    _ request: QueryRequest, on interface: InterfaceIndex? = nil,
    options: QueryOptions = QueryOptions()
  ) -> QueryID {
    lastID += 1
    let id = QueryID(rawValue: lastID)
    handle(.start(id, request, on: interface, options: options))
    return id
  }

  /// Receives a response of a peer, by multicast unless given otherwise.
  mutating func hear(
    _ answers: [DNSRecord], additionals: [DNSRecord] = [], header: DNSHeader = .response,
    questions: [DNSQuestion] = [], from source: Endpoint = peer,
    on interface: InterfaceIndex = first, isMulticast: Bool = true
  ) {
    hear(
      DNSMessage(header: header, questions: questions, answers: answers, additionals: additionals),
      from: source, on: interface, isMulticast: isMulticast)
  }

  /// A question of a peer to all.
  mutating func hearQuestion(
    _ name: DNSName, _ type: DNSType, knownAnswers: [DNSRecord] = [], isQU: Bool = false,
    isTruncated: Bool = false, from source: Endpoint = peer, version: IPVersion = .v4
  ) {
    var header = DNSHeader.query
    header.isTruncated = isTruncated
    let question = DNSQuestion(name: name, type: type, wantsUnicastResponse: isQU)
    hear(
      DNSMessage(header: header, questions: [question], answers: knownAnswers), from: source,
      version: version)
  }

  /// Everything goes through bytes, as from a socket.
  mutating func hear(
    _ message: DNSMessage, from source: Endpoint = peer, on interface: InterfaceIndex = first,
    isMulticast: Bool = true, version: IPVersion = .v4
  ) {
    guard let bytes = try? message.encoded(),
      let received = ReceivedMessage(
        decoding: bytes[...], on: MulticastLink(interface, version), from: source,
        isMulticast: isMulticast)
    else { return }
    handle(.received(received))
  }

  /// When each question about this was sent.
  func times(_ name: DNSName, _ type: DNSType) -> [Instant] {
    sent.filter { packet in
      packet.message.questions.contains { $0.name == name && $0.type == type }
    }.map(\.at)
  }

  /// The pauses between the questions about this, in seconds.
  func pauses(_ name: DNSName, _ type: DNSType) -> [Double] {
    let times = times(name, type)
    return zip(times.dropFirst(), times).map { ($0 - $1).seconds }
  }

  func events(_ query: QueryID) -> [QueryEvent] {
    told.filter { $0.query == query }.map(\.event)
  }
}

/// Names and records that many tests use.
enum Web {
  static let type: DNSName = "_http._tcp.local."
  static let host: DNSName = "host.local."

  static var browse: QueryRequest {
    get throws { .browse(try ServiceType(text: "_http._tcp")) }
  }

  static func service(_ instance: String) throws -> ServiceName {
    try ServiceName(instance: instance, type: try ServiceType(text: "_http._tcp"))
  }

  static func pointer(_ instance: String, ttlSeconds: UInt32 = 4500) throws -> DNSRecord {
    DNSRecord(
      name: type, ttlSeconds: ttlSeconds, data: .ptr(try service(instance).name))
  }

  static func location(
    _ instance: String, port: UInt16 = 80, priority: UInt16 = 0, weight: UInt16 = 0,
    target: DNSName = host, ttlSeconds: UInt32 = 120
  ) throws -> DNSRecord {
    DNSRecord(
      name: try service(instance).name, flushesCache: true, ttlSeconds: ttlSeconds,
      data: .srv(DNSService(priority: priority, weight: weight, port: port, target: target)))
  }

  static func text(
    _ instance: String, _ strings: String..., ttlSeconds: UInt32 = 4500
  ) throws -> DNSRecord {
    DNSRecord(
      name: try service(instance).name, flushesCache: true, ttlSeconds: ttlSeconds,
      data: .txt(try TXTRecord(strings: strings.map { Array($0.utf8) })))
  }

  static func address(
    _ last: UInt8, name: DNSName = host, flushesCache: Bool = true, ttlSeconds: UInt32 = 120
  ) -> DNSRecord {
    DNSRecord(
      name: name, flushesCache: flushesCache, ttlSeconds: ttlSeconds,
      data: .a(Inet4Address(192, 0, 2, last)))
  }

  static func denial(
    _ name: DNSName, has types: DNSTypeBitmap, next: DNSName? = nil, ttlSeconds: UInt32 = 120
  ) -> DNSRecord {
    DNSRecord(
      name: name, flushesCache: true, ttlSeconds: ttlSeconds,
      data: .nsec(next: next ?? name, types: types))
  }

  static func goodbye(_ record: DNSRecord) -> DNSRecord {
    var record = record
    record.ttlSeconds = 0
    return record
  }
}
