import DNSWire
import DiscoveryMachines
import Essentials

extension FuzzTarget {
  /// A querier whose clients, interfaces and peers are controlled by the input.
  static let querier = FuzzTarget(name: "Querier") { bytes in
    var victim = QuerierVictim()
    var reader = ByteReader(bytes)
    while let choice = try? reader.uint8() { victim.act(choice, &reader) }
    victim.end()
  }
}

private struct QuerierVictim {
  private struct Sighting: Hashable {
    var query: QueryID
    var interface: InterfaceIndex?
    var what: QueryEvent
  }

  private static let names: [DNSName] = [
    "_http._tcp.local.", "Hall._http._tcp.local.", "host.local.", "HOST.local.", "b.local.",
    "_services._dns-sd._udp.local.", "_printer._sub._http._tcp.local.", "example.com.",
  ]

  private var querier = Querier(rng: SeededGenerator(seed: 1))
  private var now = Instant.zero
  private var lastQuery: UInt64 = 0
  private var open: Set<QueryID> = []
  /// The services and types reported to clients as added, and not yet as removed.
  private var seen: Set<Sighting> = []

  mutating func act(_ choice: UInt8, _ reader: inout ByteReader) {
    let argument = Int(choice >> 4)
    switch choice & 15 {
    case 0, 1:
      lastQuery += 1
      let id = QueryID(rawValue: lastQuery)
      open.insert(id)
      handle(.start(id, request(argument), on: argument > 12 ? link(argument).interface : nil))
    case 2:
      let id = QueryID(rawValue: UInt64(argument))
      open.remove(id)
      seen = seen.filter { $0.query != id }
      handle(.stop(id))
    case 3: handle(.interfaceChanged(interface(argument)))
    case 4: handle(.interfaceGone(link(argument).interface))
    case 5: handle(.interfaceRestarted(link(argument).interface))
    case 6: receive((try? reader.slice(min(reader.count, 40 + 8 * argument))) ?? [], argument)
    case 7...11: receive(message(argument, &reader), argument)
    case 12: handle(.reconfirm(record(&reader)))
    case 13, 14: pass(.milliseconds(Int64(argument) * 70))
    default: pass(.seconds(Int64(argument) * 40))
    }
  }

  /// All reported results are removed when the interfaces go.
  mutating func end() {
    for number in 0..<2 { handle(.interfaceGone(link(number).interface)) }
    precondition(seen.isEmpty, "never told to be gone: \(seen)")
    for id in open { handle(.stop(id)) }
    precondition(querier.recordCount == 0)
    pass(.seconds(10))
    precondition(querier.nextWake == nil, "nobody is there, and it wants to be woken")
  }

  private func link(_ argument: Int) -> MulticastLink {
    MulticastLink(InterfaceIndex(rawValue: UInt32(argument & 1) + 1), argument & 2 == 0 ? .v4 : .v6)
  }

  private func interface(_ argument: Int) -> NetworkInterface {
    NetworkInterface(
      link(argument).interface, versions: argument & 4 == 0 ? [.v4] : [.v4, .v6],
      addresses: [
        .init(.v4(Inet4Address(192, 0, 2, UInt8(argument >> 3))), prefixBitCount: 24)
      ])
  }

  private func request(_ argument: Int) -> QueryRequest {
    let name = Self.names[argument % Self.names.count]
    switch argument {
    case 0, 1: return (try? .browse(ServiceType(text: "_http._tcp"))) ?? .serviceTypes()
    case 2, 3: return ServiceName(Self.names[1]).map { .resolve($0) } ?? .serviceTypes()
    case 4, 5: return .addresses(name, versions: [.v4, .v6])
    case 6: return .serviceTypes()
    case 7: return .domains(.browsing)
    case 8...10: return .records(name, .any)
    default: return .records(name, .a)
    }
  }

  private func record(_ reader: inout ByteReader) -> DNSRecord {
    let kind = (try? reader.uint8()) ?? 0
    let detail = (try? reader.uint8()) ?? 0
    let name = Self.names[Int(kind >> 4) % Self.names.count]
    let other = Self.names[Int(detail >> 4) % Self.names.count]
    let data: DNSRecordData =
      switch kind & 7 {
      case 0: .a(Inet4Address(192, 0, 2, detail & 3))
      case 1: .aaaa(Inet6Address(high: 1, low: UInt64(detail & 3)))
      case 2: .ptr(other)
      case 3: .srv(DNSService(priority: UInt16(detail & 1), port: 80, target: other))
      case 4: .txt((try? TXTRecord(decoding: [1, detail & 3])) ?? TXTRecord())
      case 5: .cname(other)
      case 6: .nsec(next: detail & 1 == 0 ? name : other, types: detail & 2 == 0 ? [.a] : [.ptr])
      default: .opaque(DNSType(rawValue: UInt16(detail)), [detail])
      }
    return DNSRecord(
      name: name, flushesCache: kind & 8 != 0, ttlSeconds: [120, 0, 1, 4500][Int(detail >> 2) & 3],
      data: data)
  }

  private func message(_ argument: Int, _ reader: inout ByteReader) -> ArraySlice<UInt8> {
    var message = DNSMessage(header: argument & 4 == 0 ? .response : .query)
    if argument & 4 != 0 {
      let name = Self.names[argument % Self.names.count]
      message.questions = [
        DNSQuestion(name: name, type: .any), DNSQuestion(name: name, type: .ptr),
      ]
    }
    for _ in 0..<argument & 3 + 1 { message.answers.append(record(&reader)) }
    return ((try? message.encoded()) ?? [])[...]
  }

  private mutating func receive(_ bytes: ArraySlice<UInt8>, _ argument: Int) {
    let received = ReceivedMessage(
      decoding: bytes, on: link(argument),
      from: Endpoint(.v4(Inet4Address(192, 0, 2, 9)), port: argument == 15 ? 0 : 5353),
      isMulticast: argument & 8 == 0)
    if let received { handle(.received(received)) }
  }

  private mutating func handle(_ event: Querier.Event) {
    var actions: [Querier.Action] = []
    querier.handle(event, now: now, into: &actions)
    check(actions)
  }

  private mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let wake = querier.nextWake, wake <= end {
      now = max(now, wake)
      var actions: [Querier.Action] = []
      querier.wake(now: now, into: &actions)
      check(actions)
      precondition(querier.nextWake.map { $0 > now } ?? true, "woken at once, for ever")
    }
    now = end
  }

  private mutating func check(_ actions: [Querier.Action]) {
    for action in actions {
      switch action {
      case .send(let packet):
        precondition(packet.bytes.count <= DNSMessageEncoder.Limits.unfragmentedByteCount)
        precondition((try? DNSMessage(decoding: packet.bytes[...])) != nil)
      case .deliver(let query, let event, let interface, _):
        precondition(open.contains(query), "told after its end")
        check(event, of: query, on: interface)
      case .registered, .refused: preconditionFailure("a querier registers nothing")
      }
    }
  }

  /// A removed result was added before, and an added one was not.
  private mutating func check(_ event: QueryEvent, of query: QueryID, on interface: InterfaceIndex?)
  {
    func sighting(_ what: QueryEvent) -> Sighting {
      Sighting(query: query, interface: interface, what: what)
    }
    switch event {
    case .serviceAdded: precondition(seen.insert(sighting(event)).inserted, "told twice: \(event)")
    case .typeAdded(let type): seen.insert(sighting(.typeAdded(type)))
    case .serviceRemoved(let service):
      precondition(seen.remove(sighting(.serviceAdded(service))) != nil, "was not there: \(event)")
    case .typeRemoved(let type): seen.remove(sighting(.typeAdded(type)))
    case .recordAdded, .recordRemoved, .recordAbsent, .resolved, .addressAdded, .addressRemoved,
      .addressAbsent, .domainAdded, .domainRemoved, .failed:
      break
    }
  }
}
