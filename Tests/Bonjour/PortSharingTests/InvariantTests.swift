import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@testable import PortSharing

@Suite("The invariants of owners and clients")
struct InvariantTests {
  private let anna = OwnerMachine.ConnectionID(rawValue: 1)
  private let query = QueryID(rawValue: 1)
  private let registration = RegistrationID(rawValue: 1)

  /// An owner with a client that has a query and a service.
  private func owner() throws -> OwnerMachine {
    let configuration = SharedConfiguration(hostName: "here")
    var owner = OwnerMachine(configuration: configuration)
    let service = try Sample.service("Lamp")
    let events: [OwnerMachine.Event] = [
      .connected(anna, userID: 1_000),
      .received(.hello(versions: PortSharingProtocol.versions, configuration), from: anna),
      .received(.request(.startQuery(query, .browse(try Sample.type()), on: nil)), from: anna),
      .received(.request(.registerService(registration, service)), from: anna),
    ]
    var actions: [OwnerMachine.Action] = []
    for event in events {
      owner.handle(event, now: .zero, into: &actions)
      #expect(owner.violations() == [])
    }
    #expect(owner.registrationOwners.count == 1 && owner.queryOwners.count == 1)
    return owner
  }

  @Test("a user who has another number of clients than is counted is found")
  func counts() throws {
    var owner = try owner()
    owner.users[existing: 1_000].clientCount += 1
    #expect(
      owner.violations() == ["what is counted for user 1000 is not that of the clients"])
  }

  @Test("a load that no request costs is found")
  func load() throws {
    var owner = try owner()
    owner.clients[existing: anna].load.byteCount += 1
    #expect(owner.violations().contains("the load of client 1 is another"))
  }

  @Test("requests that are known to one side only are found")
  func oneSided() throws {
    var owner = try owner()
    owner.clients[existing: anna].queries = [:]
    #expect(owner.violations().contains { $0.hasSuffix("is unknown to its client") })
    owner = try self.owner()
    owner.registrationOwners = [:]
    #expect(owner.violations().contains { $0.hasSuffix("is not of 1") })
    #expect(owner.violations().contains("requests of no client"))
  }

  @Test("whatever clients and users do, an owner keeps them", arguments: 0..<40 as Range<UInt64>)
  func random(seed: UInt64) throws {
    var rng = SeededGenerator(seed: seed)
    var limits = OwnerMachine.Limits()
    (limits.clientsMax, limits.clientsPerUserMax) = (6, 4)
    limits.perClient = .init(requestCount: 6, byteCount: 200)
    limits.perUser = .init(requestCount: 10, byteCount: 300)
    let configuration = SharedConfiguration(hostName: "here")
    var owner = OwnerMachine(configuration: configuration, limits: limits)
    var (now, lastID) = (Instant.zero, UInt64(0))
    func roll(_ sides: UInt64) -> UInt64 { rng.next(upperBound: sides) }
    for _ in 0..<400 {
      now = now + .milliseconds(Int64(roll(3_000)))
      let client = owner.clients.keys.sorted().randomElement(using: &rng) ?? anna
      let (query, registration) = (
        QueryID(rawValue: roll(4)), RegistrationID(rawValue: 1 + roll(4))
      )
      let request: DiscoveryRequest =
        switch roll(6) {
        case 0: .startQuery(query, .browse(try Sample.type()), on: nil)
        case 1: .stopQuery(query)
        case 2: .registerService(registration, try Sample.service("Lamp"))
        case 3: .unregister(registration)
        case 4: .setRecord(registration, UInt32(roll(3)), .a(.init(10, 0, 0, 1)), ttlSeconds: 9)
        default: .setRecord(registration, UInt32(roll(3)), nil, ttlSeconds: 9)
        }
      let event: OwnerMachine.Event
      switch roll(12) {
      case 0, 1:
        lastID += 1
        event = .connected(.init(rawValue: lastID), userID: UInt32(roll(3)))
      case 2, 3: event = .received(.hello(versions: 1...3, configuration), from: client)
      case 4: event = .incomplete(client, byteCount: Int(roll(2_000_000)))
      case 5: event = roll(4) == 0 ? .disconnected(client) : .report(.interfaces([:]))
      case 6: event = .congested([client: 100], excess: Int(roll(2)))
      case 7: event = .report(.registered(registration, try Sample.name("Lamp \(roll(3))").name))
      case 8: event = .report(.refused(registration, .local))
      case 9: event = .received(roll(9) == 0 ? .leaving : .ping, from: client)
      default: event = .received(.request(request), from: client)
      }
      var actions: [OwnerMachine.Action] = []
      owner.handle(event, now: now, into: &actions)
      #expect(owner.violations() == [], "seed \(seed)")
      owner.wake(now: now, into: &actions)
      #expect(owner.violations() == [], "seed \(seed)")
    }
  }

  @Test("a client that counts other results than it has is found")
  func results() throws {
    var client = PortSharingClient()
    var actions: [PortSharingClient.Action] = []
    for event in [
      .began(.another), .request(.startQuery(query, .browse(try Sample.type()), on: nil)),
      .report(
        .found(query, .serviceAdded(try Sample.name("Lamp")), on: nil, moreComing: false)),
    ] as [PortSharingClient.Event] {
      client.handle(event, now: .zero, into: &actions)
      #expect(client.violations() == [])
    }
    client.resultCount += 1
    #expect(client.violations() == ["there are not 2 results"])
  }

  @Test("a search that waits for ever is found")
  func search() {
    var search = OwnerSearch(addressCount: 1, rng: SeededGenerator(seed: 1))
    #expect(search.violations() == [])
    search.state = .greeting
    #expect(search.violations() == ["it waits for ever in the state greeting"])
  }
}
