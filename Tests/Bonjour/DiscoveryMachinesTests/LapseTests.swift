import DNSWire
import Essentials
import Testing

@testable import DiscoveryMachines

/// A machine that has taken over from a process that ended, on two interfaces.
@Suite("Records of an ended process of this host")
struct LapseTests {
  private static let eth0 = InterfaceIndex(rawValue: 1)
  private static let eth1 = InterfaceIndex(rawValue: 2)
  private var machine: DiscoveryMachine
  private var now = Instant.zero
  private let type: ServiceType
  private let query = QueryID(rawValue: 1)

  init() throws {
    type = try ServiceType(text: "_light._tcp")
    machine = try DiscoveryMachine(hostLabel: Array("here".utf8), rng: SeededGenerator(seed: 1))
    for (number, index) in [Self.eth0, Self.eth1].enumerated() {
      let address = InetAddress.v4(Inet4Address(10, 0, UInt8(number), 1))
      _ = handle(
        .interfaceChanged(
          NetworkInterface(
            index, versions: [.v4], addresses: [.init(address, prefixBitCount: 24)])))
    }
  }

  /// An event of the query, and its interface.
  struct Delivered: Hashable {
    var event: QueryEvent
    var interface: InterfaceIndex?
  }

  private func delivered(_ actions: [DiscoveryMachine.Action]) -> [Delivered] {
    actions.compactMap { action in
      if case .deliver(_, let event, let interface, _) = action {
        Delivered(event: event, interface: interface)
      } else {
        nil
      }
    }
  }

  private mutating func handle(_ event: DiscoveryMachine.Event) -> [Delivered] {
    var actions: [DiscoveryMachine.Action] = []
    machine.handle(event, now: now, into: &actions)
    return delivered(actions)
  }

  private mutating func pass(_ span: TimeSpan) -> [Delivered] {
    let end = now + span
    var actions: [DiscoveryMachine.Action] = []
    while let next = machine.nextWake, next <= end {
      now = max(now, next)
      machine.wake(now: now, into: &actions)
    }
    now = end
    return delivered(actions)
  }

  private func service(
    _ instance: String, on interface: InterfaceIndex? = nil
  ) throws -> ServiceRegistration {
    try ServiceRegistration(
      ServiceName(instance: instance, type: type), port: 80, interface: interface)
  }

  private func comings(
    _ instance: String, on interfaces: [InterfaceIndex] = [eth0, eth1]
  ) throws -> [Delivered] {
    let name = try service(instance).name
    return interfaces.flatMap { index in
      [QueryEvent.serviceAdded(name), .serviceRemoved(name)].map {
        Delivered(event: $0, interface: index)
      }
    }
  }

  @Test("services of an owner end on all their interfaces for queries that may have known them")
  mutating func services() throws {
    _ = handle(.startQuery(query, .browse(type), on: nil))
    _ = handle(.withdrawService(try service("Lamp"), addedRecords: []))
    let early = pass(.milliseconds(599))
    let inTime = pass(.milliseconds(1))
    #expect(early == [])
    #expect(inTime == (try comings("Lamp")))
    _ = handle(.withdrawService(try service("Chair", on: Self.eth1), addedRecords: []))
    let other = pass(.seconds(1))
    #expect(other == (try comings("Chair", on: [Self.eth1])))
    let later = pass(.seconds(100))
    #expect(later == [], "once")
  }

  @Test("single records of an owner end, and those that it added to a service")
  mutating func records() throws {
    let name: DNSName = "x.local."
    let record = DNSRecord(name: name, ttlSeconds: 120, data: .a(Inet4Address(10, 9, 9, 9)))
    let lamp = try service("Lamp")
    let added = DNSRecordData.hinfo(processor: [1], system: [2])
    _ = handle(.startQuery(query, .records(name, .a), on: nil))
    _ = handle(
      .startQuery(QueryID(rawValue: 2), .records(lamp.name.name, .hinfo), on: Self.eth0))
    _ = handle(.withdrawRecord(RecordRegistration(record, .unique)))
    _ = handle(.withdrawService(lamp, addedRecords: [(data: added, ttlSeconds: UInt32(120))]))
    let events = pass(.seconds(1)).map(\.event)
    let removed = events.compactMap { event in
      if case .recordRemoved(let record) = event { record.data } else { nil }
    }
    #expect(removed == [record.data, added, record.data])
    #expect(events.count == 6, "each was added before")
  }

  @Test("what another process of the host registers again in time stays, even while it is probed")
  mutating func registeredAgain() throws {
    _ = handle(.startQuery(query, .browse(type), on: nil))
    _ = handle(.withdrawService(try service("Lamp"), addedRecords: []))
    _ = handle(.withdrawService(try service("Chair"), addedRecords: []))
    _ = pass(.milliseconds(599))
    _ = handle(.registerService(RegistrationID(rawValue: 1), try service("Lamp")))
    let gone = pass(.milliseconds(100))
    #expect(gone == (try comings("Chair")))
  }

  @Test("what another host answers in time stays on the interface of the answer")
  mutating func answered() throws {
    let lamp = try service("Lamp")
    _ = handle(.startQuery(query, .browse(type), on: nil))
    _ = handle(.withdrawService(lamp, addedRecords: []))
    _ = pass(.milliseconds(200))
    var encoder = DNSMessageEncoder(header: .response)
    let record = DNSRecord(
      name: try type.name(in: .local), ttlSeconds: 4_500, data: .ptr(lamp.name.name))
    let hasRoom = encoder.append(record, to: .answer)
    try #require(hasRoom)
    let answer = try #require(
      ReceivedMessage(
        decoding: encoder.bytes[...], on: MulticastLink(Self.eth0, .v4),
        from: Endpoint(.v4(Inet4Address(10, 0, 0, 9)), port: 5353), isMulticast: true))
    let found = handle(.received(answer))
    #expect(found == [Delivered(event: .serviceAdded(lamp.name), interface: Self.eth0)])
    let gone = pass(.seconds(1))
    #expect(gone == (try comings("Lamp", on: [Self.eth1])))
  }

  @Test("ten thousand records of which none is queried cause nothing")
  mutating func unqueried() throws {
    for number in 1...2_000 {
      _ = handle(.withdrawService(try service("Lamp \(number)"), addedRecords: []))
    }
    let events = pass(.seconds(1))
    #expect(events == [] && machine.lapses == nil)
  }
}
