import DNSWire
import DiscoveryMachines
import Essentials
import Testing

/// Two hosts on one link on which every packet arrives at both at once.
private struct Pair {
  static let link = MulticastLink(InterfaceIndex(rawValue: 1), .v4)

  var hosts: [DiscoveryMachine] = []
  var now = Instant.zero
  var told: [[DiscoveryMachine.Action]] = [[], []]
  var questions: [DNSQuestion] = []

  init(receivesUnicast: Bool = true) throws {
    for (number, name) in ["lamp", "phone"].enumerated() {
      hosts.append(
        try DiscoveryMachine(
          hostLabel: Array(name.utf8), rng: SeededGenerator(seed: UInt64(number))))
      let address = Inet4Address(10, 0, 0, UInt8(number + 1))
      let interface = NetworkInterface(
        Self.link.interface, versions: [.v4],
        addresses: [.init(.v4(address), prefixBitCount: 24)], receivesUnicast: receivesUnicast)
      handle(number, .interfaceChanged(interface))
    }
  }

  mutating func handle(_ number: Int, _ event: DiscoveryMachine.Event) {
    var actions: [DiscoveryMachine.Action] = []
    hosts[number].handle(event, now: now, into: &actions)
    take(actions, of: number)
  }

  mutating func pass(_ span: TimeSpan) {
    let end = now + span
    while let next = hosts.compactMap(\.nextWake).min(), next <= end {
      now = max(now, next)
      for number in hosts.indices {
        var actions: [DiscoveryMachine.Action] = []
        hosts[number].wake(now: now, into: &actions)
        take(actions, of: number)
      }
    }
    now = end
  }

  private mutating func take(_ actions: [DiscoveryMachine.Action], of sender: Int) {
    for action in actions {
      guard case .send(let packet) = action else {
        told[sender].append(action)
        continue
      }
      let source = Endpoint(.v4(Inet4Address(10, 0, 0, UInt8(sender + 1))), port: 5353)
      guard
        let message = ReceivedMessage(
          decoding: packet.bytes[...], on: Self.link, from: source,
          isMulticast: packet.destination == .multicast)
      else {
        Issue.record("sent what nobody can read")
        continue
      }
      questions += message.message.questions
      for number in hosts.indices
      where packet.destination == .multicast || number != sender {
        handle(number, .received(message))
      }
    }
  }
}

@Suite("A host's Multicast DNS as a whole")
struct DiscoveryMachineTests {
  private let type: ServiceType
  private let service: ServiceRegistration

  init() throws {
    type = try ServiceType(text: "_light._tcp")
    service = try ServiceRegistration(ServiceName(instance: "Lamp", type: type), port: 80)
  }

  @Test("a service that one host publishes is found by another, and removed after the goodbye")
  func published() throws {
    var pair = try Pair()
    let (id, query) = (RegistrationID(rawValue: 1), QueryID(rawValue: 1))
    pair.handle(0, .registerService(id, service))
    pair.handle(1, .startQuery(query, .browse(type), on: nil))
    pair.pass(.seconds(5))
    #expect(pair.told[0].contains(.registered(id, service.name.name)))
    let interface = Pair.link.interface
    #expect(
      pair.told[1].last
        == .deliver(query, .serviceAdded(service.name), on: interface, moreComing: false))
    pair.handle(0, .shutDown)
    pair.pass(.seconds(2))
    #expect(
      pair.told[1].last
        == .deliver(query, .serviceRemoved(service.name), on: interface, moreComing: false))
  }

  @Test("A12: a host that shares the port requests no unicast response")
  func sharedPort() throws {
    for receivesUnicast in [true, false] {
      var pair = try Pair(receivesUnicast: receivesUnicast)
      pair.handle(0, .registerService(RegistrationID(rawValue: 1), service))
      pair.handle(1, .startQuery(QueryID(rawValue: 1), .browse(type), on: nil))
      pair.pass(.seconds(5))
      #expect(pair.questions.count > 3)
      #expect(pair.questions.contains(where: \.wantsUnicastResponse) == receivesUnicast)
    }
  }

  @Test func `A client that looks for the host's own name leaves it to the host`() throws {
    var pair = try Pair()
    pair.handle(0, .registerService(RegistrationID(rawValue: 1), service))
    pair.pass(.seconds(5))
    pair.questions = []
    for number in 1...3 {
      let query = QueryID(rawValue: UInt64(number))
      pair.handle(0, .startQuery(query, .addresses("lamp.local.", versions: [.v4]), on: nil))
      pair.pass(.seconds(2))
      #expect(
        events(pair, 0, query) == [.addressAdded(.v4(Inet4Address(10, 0, 0, 1)), ttlSeconds: 120)])
    }
    #expect(pair.questions.allSatisfy { $0.type != .any })
  }

  @Test("two hosts that want one name get two")
  func conflict() throws {
    var pair = try Pair(receivesUnicast: false)
    pair.handle(0, .registerService(RegistrationID(rawValue: 1), service))
    pair.handle(1, .registerService(RegistrationID(rawValue: 1), service))
    pair.pass(.seconds(10))
    let names = pair.told.map { actions in
      actions.compactMap { action -> DNSName? in
        if case .registered(_, let name) = action { name } else { nil }
      }.last
    }
    let second = try ServiceName(instance: "Lamp (2)", type: type)
    #expect(Set(names) == [service.name.name, second.name])
  }

  /// The events of a host's query.
  private func events(_ pair: Pair, _ number: Int, _ query: QueryID) -> [QueryEvent] {
    pair.told[number].compactMap { action in
      if case .deliver(query, let event, _, _) = action { event } else { nil }
    }
  }

  @Test("a name beyond the link is queried on it only with that option")
  func beyondTheLink() throws {
    var pair = try Pair()
    let name: DNSName = "printer.example.com."
    let record = DNSRecord(
      name: name, flushesCache: true, ttlSeconds: 120, data: .a(Inet4Address(10, 0, 0, 9)))
    let (refused, insisting) = (QueryID(rawValue: 1), QueryID(rawValue: 2))
    pair.handle(0, .registerRecord(RegistrationID(rawValue: 1), .init(record, .unique)))
    pair.handle(1, .startQuery(refused, .records(name, .a), on: nil))
    let options = QueryOptions(reachesBeyondLink: true)
    pair.handle(1, .startQuery(insisting, .records(name, .a), on: nil, options: options))
    pair.pass(.seconds(5))
    #expect(events(pair, 1, refused) == [.failed(.notOnThisLink(name))])
    #expect(events(pair, 1, insisting) == [.recordAdded(record)])
  }

  @Test("a published record takes other data")
  func updatedRecord() throws {
    var pair = try Pair()
    let id = RegistrationID(rawValue: 1)
    let (name, query): (DNSName, _) = ("lamp-note.local.", QueryID(rawValue: 1))
    let old = DNSRecord(
      name: name, flushesCache: true, ttlSeconds: 120, data: .opaque(DNSType(rawValue: 10), [1]))
    var new = old
    new.data = .opaque(DNSType(rawValue: 10), [2, 3])
    pair.handle(0, .registerRecord(id, .init(old, .unique)))
    pair.handle(1, .startQuery(query, .records(name, old.type), on: nil))
    pair.pass(.seconds(5))
    pair.handle(0, .updateRecord(id, new.data, ttlSeconds: 120))
    pair.pass(.seconds(5))
    #expect(events(pair, 1, query) == [.recordAdded(old), .recordAdded(new), .recordRemoved(old)])
  }

  @Test("a query with a timeout ends then, with or without results, and gets nothing afterwards")
  func timeout() throws {
    var pair = try Pair()
    let query = QueryID(rawValue: 1)
    let options = QueryOptions(timeout: .seconds(30))
    pair.handle(1, .startQuery(query, .browse(type), on: nil, options: options))
    pair.pass(.seconds(29))
    #expect(events(pair, 1, query) == [])
    pair.pass(.seconds(2))
    #expect(events(pair, 1, query) == [.failed(.timedOut)])
    pair.handle(0, .registerService(RegistrationID(rawValue: 1), service))
    pair.pass(.seconds(5))
    #expect(events(pair, 1, query) == [.failed(.timedOut)])
  }

  @Test("a record that a client reconfirms is gone when no host sends it again")
  func reconfirm() throws {
    var pair = try Pair()
    let query = QueryID(rawValue: 1)
    pair.handle(0, .registerService(RegistrationID(rawValue: 1), service))
    pair.handle(1, .startQuery(query, .browse(type), on: nil))
    pair.pass(.seconds(5))
    let record = DNSRecord(
      name: try type.name(in: .local), ttlSeconds: 4_500, data: .ptr(service.name.name))
    pair.handle(1, .reconfirm(record, on: nil))
    pair.pass(.seconds(20))
    #expect(events(pair, 1, query) == [.serviceAdded(service.name)])
    pair.handle(0, .interfaceGone(Pair.link.interface))
    pair.handle(1, .reconfirm(record, on: nil))
    pair.pass(.seconds(11))
    let told: [QueryEvent] = [.serviceAdded(service.name), .serviceRemoved(service.name)]
    #expect(events(pair, 1, query) == told)
  }

  @Test("a service that has to take another name keeps its added records")
  func furtherRecordOfRenamedService() throws {
    var pair = try Pair(receivesUnicast: false)
    let (id, query) = (RegistrationID(rawValue: 1), QueryID(rawValue: 1))
    let data = DNSRecordData.opaque(DNSType(rawValue: 10), [7])
    pair.handle(0, .registerService(id, service))
    pair.pass(.seconds(5))
    pair.handle(1, .registerService(id, service))
    pair.handle(1, .setRecord(id, 1, data, ttlSeconds: 120))
    pair.pass(.seconds(5))
    let name = try ServiceName(instance: "Lamp (2)", type: type).name
    #expect(pair.told[1].contains(.registered(id, name)))
    pair.handle(0, .startQuery(query, .records(name, data.type), on: nil))
    pair.pass(.seconds(5))
    let record = DNSRecord(name: name, flushesCache: true, ttlSeconds: 120, data: data)
    #expect(events(pair, 0, query) == [.recordAdded(record)])
  }

  @Test("a service published on this machine only is found there, and nothing of it is sent")
  func localOnly() throws {
    var pair = try Pair()
    var local = service
    local.interface = .localOnly
    let ids = (1...5).map { QueryID(rawValue: $0) }
    pair.handle(0, .registerService(RegistrationID(rawValue: 1), local))
    pair.handle(0, .startQuery(ids[0], .browse(type), on: .localOnly))
    pair.handle(0, .startQuery(ids[1], .browse(type), on: nil))
    pair.handle(0, .startQuery(ids[2], .addresses("lamp.local.", versions: [.v4]), on: .localOnly))
    pair.handle(0, .startQuery(ids[3], .addresses("lamp.local.", versions: [.v4]), on: nil))
    pair.handle(0, .startQuery(ids[4], .browse(type), on: Pair.link.interface))
    pair.handle(1, .startQuery(ids[0], .browse(type), on: nil))
    pair.pass(.seconds(5))
    #expect(pair.told[0].contains(.registered(RegistrationID(rawValue: 1), service.name.name)))
    for query in ids.prefix(2) {
      let found = DiscoveryMachine.Action.deliver(
        query, .serviceAdded(service.name), on: .localOnly, moreComing: false)
      #expect(pair.told[0].contains(found))
    }
    let here = InetAddress.v4(Inet4Address(127, 0, 0, 1))
    #expect(events(pair, 0, ids[2]) == [.addressAdded(here, ttlSeconds: 120)])
    let there = InetAddress.v4(Inet4Address(10, 0, 0, 1))
    #expect(events(pair, 0, ids[3]) == [.addressAdded(there, ttlSeconds: 120)])
    #expect(events(pair, 0, ids[4]) == [] && events(pair, 1, ids[0]) == [])
    pair.handle(0, .unregister(RegistrationID(rawValue: 1)))
    pair.pass(.seconds(5))
    #expect(events(pair, 0, ids[1]).last == .serviceRemoved(service.name))
  }

  @Test("queries whose timeouts are over at the same moment end in the order in which they began")
  func equalTimeouts() throws {
    var pair = try Pair()
    let ids = (0..<50).map { QueryID(rawValue: UInt64($0 * 37 % 50)) }
    for id in ids {
      let options = QueryOptions(timeout: .seconds(30))
      pair.handle(1, .startQuery(id, .browse(type), on: nil, options: options))
    }
    pair.pass(.seconds(31))
    let ended = pair.told[1].compactMap { action -> QueryID? in
      if case .deliver(let id, .failed(.timedOut), _, _) = action { id } else { nil }
    }
    #expect(ended == ids)
  }

  @Test("a host that only browses registers no name, except on this machine only")
  func onlyBrowsing() throws {
    var pair = try Pair()
    let (browse, here) = (QueryID(rawValue: 1), QueryID(rawValue: 2))
    pair.handle(1, .startQuery(browse, .browse(type), on: nil))
    pair.handle(
      1, .startQuery(here, .addresses("phone.local.", versions: [.v4]), on: .localOnly))
    pair.pass(.seconds(30))
    #expect(pair.questions.allSatisfy { $0.type == .ptr })
    let address = InetAddress.v4(Inet4Address(127, 0, 0, 1))
    #expect(events(pair, 1, here) == [.addressAdded(address, ttlSeconds: 120)])
  }

  @Test("a client that queries its own host's name finds it, and so do other hosts from then on")
  func ownHost() throws {
    for request in [
      QueryRequest.addresses("phone.local.", versions: [.v4]), .records("phone.local.", .a),
    ] {
      var pair = try Pair()
      let query = QueryID(rawValue: 1)
      pair.handle(1, .startQuery(query, request, on: nil))
      pair.pass(.seconds(5))
      #expect(events(pair, 1, query).count == 1)
      pair.handle(0, .startQuery(query, request, on: nil))
      pair.pass(.seconds(5))
      #expect(events(pair, 0, query) == events(pair, 1, query))
    }
  }

  @Test("a service published for all is not found on this machine only")
  func notLocalOnly() throws {
    var pair = try Pair()
    let query = QueryID(rawValue: 1)
    pair.handle(0, .startQuery(query, .browse(type), on: .localOnly))
    pair.handle(0, .registerService(RegistrationID(rawValue: 1), service))
    pair.pass(.seconds(5))
    #expect(events(pair, 0, query) == [])
    #expect(pair.told[0].contains(.registered(RegistrationID(rawValue: 1), service.name.name)))
  }
}
