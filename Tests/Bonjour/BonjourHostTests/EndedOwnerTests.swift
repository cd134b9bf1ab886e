import DNSWire
import DiscoveryMachines
import Essentials
import EventLoop
import Glibc
import Testing

@testable import BonjourHost

/// Hosts whose owner, a process of its own, ends.
@Suite("Hosts whose owner ends", .timeLimit(.minutes(5)))
struct EndedOwnerTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private let type: ServiceType

  init() throws { type = try ServiceType(text: "_b-\(run)._tcp") }

  private func name(_ instance: String) throws -> ServiceName {
    try ServiceName(instance: instance, type: type)
  }

  /// Registers a service, and returns once it has a name.
  private func register(_ instance: String, with host: BonjourHost) async throws -> Registration {
    let (events, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    let registration = try host.register(ServiceRegistration(name(instance), port: 80)) {
      continuation.yield($0)
    }
    #expect(await events.first { _ in true } == .registered(try name(instance).name))
    return registration
  }

  private func follow(
    _ host: BonjourHost, _ request: QueryRequest
  ) -> (Query, AsyncStream<QueryEvent>.Iterator) {
    let (events, continuation) = AsyncStream.makeStream(of: QueryEvent.self)
    let query = host.query(request) { continuation.yield($0.event) }
    return (query, events.makeAsyncIterator())
  }

  /// How an owner ends.
  enum End: CaseIterable {
    case inOrder, killed
  }

  @Test(
    "an owner's many services and its record end for the others in a moment, and nothing else does",
    arguments: End.allCases)
  func ended(end: End) async throws {
    let count = 300
    let owner = try await OwnerProcess.start(run, serviceCount: count)
    let first = BonjourHost(configuration: sharingConfiguration(run))
    let second = BonjourHost(configuration: sharingConfiguration(run))
    #expect(await first.settledRole == .client)
    let lamp = try await register("Lamp", with: first)
    let record = QueryRequest.records(try DNSName(text: "owner-\(run).local."), .a)
    let (address, addresses) = follow(second, record)
    var addressEvents = addresses
    guard case .recordAdded? = await addressEvents.next() else {
      Issue.record("The owner's record was not found.")
      return
    }
    // One of them takes over, the other is its client.
    var browsers: [(query: Query, events: AsyncStream<QueryEvent>.Iterator)] = []
    for host in [first, second] {
      var (query, events) = follow(host, .browse(type))
      var found: Set<QueryEvent> = []
      while found.count < count + 1, let event = await events.next() { found.insert(event) }
      #expect(found.contains(.serviceAdded(try name("Lamp"))))
      browsers.append((query, events))
    }
    let start = Instant.now
    if end == .killed { owner.signal(SIGKILL) } else { try owner.write("\n") }
    for index in browsers.indices {
      var gone: Set<QueryEvent> = []
      while gone.count < count, let event = await browsers[index].events.next() {
        gone.insert(event)
      }
      #expect(gone == Set(try (1...count).map { .serviceRemoved(try name("Owner's \($0)")) }))
    }
    guard case .recordRemoved? = await addressEvents.next() else {
      Issue.record("The owner's record was not removed.")
      return
    }
    // A second on a machine that does nothing else. By themselves, the record would last for two minutes, and the
    // services for more than an hour.
    #expect(Instant.now - start < .seconds(60))
    let chair = try await register("Chair", with: second)
    for index in browsers.indices {
      #expect(await browsers[index].events.next() == .serviceAdded(try name("Chair")))
    }
    let roles = [await first.settledRole, await second.settledRole]
    #expect(Set(roles) == [.owner, .client])
    withExtendedLifetime((lamp, chair, address, browsers)) {}
    try await owner.wait()
    await second.close()
    await first.close()
  }
}
