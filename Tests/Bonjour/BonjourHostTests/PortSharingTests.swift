import DNSWire
import DiscoveryMachines
import Essentials
import Glibc
import PortSharing
import Testing

@testable import BonjourHost

/// Hosts of one process that meet at a place of their own, on the interface that every machine has.
@Suite("Hosts that share one owner", .timeLimit(.minutes(5)))
struct SharingTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private let type: ServiceType

  init() throws { type = try ServiceType(text: "_b-\(run)._tcp") }

  private var address: OwnerSocketAddress {
    OwnerSocketAddress(name: "ambit-test-\(run)/\(geteuid())")
  }

  private func host(
    _ name: String = "shared", log: (@Sendable (String) -> Void)? = nil
  ) async -> (host: BonjourHost, role: BonjourEngine.Role) {
    let host = BonjourHost(configuration: sharingConfiguration(run, name: name), log: log)
    return (host, await host.settledRole)
  }

  private func service(_ name: String) throws -> ServiceRegistration {
    try ServiceRegistration(ServiceName(instance: name, type: type), port: 80)
  }

  /// Publishes, and gives what becomes of it once it has a name.
  private func register(
    _ name: String, with host: BonjourHost
  ) async throws -> (Registration, AsyncStream<RegistrationEvent>.Iterator) {
    let (events, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    let registration = try host.register(service(name)) { continuation.yield($0) }
    var iterator = events.makeAsyncIterator()
    let name = try ServiceName(instance: name, type: type).name
    #expect(await iterator.next() == .registered(name))
    return (registration, iterator)
  }

  private func browse(
    _ host: BonjourHost
  ) -> (Query, AsyncStream<QueryEvent>.Iterator) {
    let (events, continuation) = AsyncStream.makeStream(of: QueryEvent.self)
    let query = host.query(.browse(type)) { continuation.yield($0.event) }
    return (query, events.makeAsyncIterator())
  }

  private func added(_ name: String) throws -> QueryEvent {
    .serviceAdded(try ServiceName(instance: name, type: type))
  }

  private func removed(_ name: String) throws -> QueryEvent {
    .serviceRemoved(try ServiceName(instance: name, type: type))
  }

  @Test(
    "one host owns the port; the others browse and publish through it, and say goodbye at the end")
  func sharing() async throws {
    let (first, role) = await host()
    let (second, secondRole) = await host()
    let (third, thirdRole) = await host()
    #expect([role, secondRole, thirdRole] == [.owner, .client, .client])
    let (lamp, _) = try await register("Lamp", with: second)
    var (query, events) = browse(third)
    #expect(await events.next() == (try added("Lamp")))
    #expect(await third.interfaces.values.sorted() == ["lo"])
    let (other, _) = try await register("Other", with: first)
    #expect(await events.next() == (try added("Other")))
    await second.close()
    #expect(await events.next() == (try removed("Lamp")))
    withExtendedLifetime((lamp, other, query)) {}
    await third.close()
    await first.close()
  }

  @Test(
    "another host takes over when the owner ends: others' services stay, the owner's go")
  func handover() async throws {
    let (first, _) = await host()
    let (second, _) = await host()
    let (third, _) = await host()
    let (own, _) = try await register("Owner's", with: first)
    let (lamp, _) = try await register("Lamp", with: second)
    var (query, events) = browse(third)
    let both = [await events.next(), await events.next()]
    #expect(Set(both) == [try added("Owner's"), try added("Lamp")])
    await first.close()
    #expect(await events.next() == (try removed("Owner's")))
    // One of the two has taken over by the time that something new is found.
    let (chair, _) = try await register("Chair", with: second)
    #expect(await events.next() == (try added("Chair")))
    let roles = [await second.settledRole, await third.settledRole]
    #expect(Set(roles) == [.owner, .client])
    await second.close()
    let gone = [await events.next(), await events.next()]
    #expect(Set(gone) == [try removed("Lamp"), try removed("Chair")])
    withExtendedLifetime((own, lamp, chair, query)) {}
    await third.close()
  }

  @Test("results that were known when a query began are marked, in the owner and in its clients")
  func fromCache() async throws {
    let (first, _) = await host()
    let (second, _) = await host()
    let (lamp, _) = try await register("Lamp", with: first)
    var (query, events) = browse(first)
    #expect(await events.next() == (try added("Lamp")))
    for host in [first, second] {
      let (found, continuation) = AsyncStream.makeStream(of: FoundEvent.self)
      let again = host.query(.browse(type)) { continuation.yield($0) }
      #expect(await found.first { _ in true }?.isFromCache == true)
      withExtendedLifetime(again) {}
    }
    let (found, continuation) = AsyncStream.makeStream(of: FoundEvent.self)
    let other = second.query(.browse(try ServiceType(text: "_c-\(run)._tcp"))) {
      continuation.yield($0)
    }
    let chair = second.register(
      try ServiceRegistration(
        ServiceName(instance: "Chair", type: try ServiceType(text: "_c-\(run)._tcp")), port: 1)
    ) { _ in }
    #expect(await found.first { _ in true }?.isFromCache == false)
    withExtendedLifetime((lamp, query, other, chair)) {}
    await second.close()
    await first.close()
  }

  @Test("a host with another name works by itself, with the reason")
  func otherName() async throws {
    let (log, continuation) = AsyncStream.makeStream(of: String.self)
    let (first, _) = await host()
    let (second, role) = await host("different") { continuation.yield($0) }
    #expect(role == .alone)
    let reason = try #require(await log.first { _ in true })
    #expect(reason.contains("another host name"))
    await second.close()
    await first.close()
  }

  @Test("an owner that talks nonsense is left, and nothing is lost")
  func falseOwner() async throws {
    let listener = try #require(address.bindAndListen().descriptor)
    async let joining = host()
    let connection = try await Peer.accept(listener)
    #expect(try await connection.read().isEmpty == false, "it greets")
    try connection.write(try #require(OwnerMessage.welcome(version: 1).frame) + [9, 0, 0, 0])
    try connection.write([UInt8](repeating: 7, count: 9))
    let (host, _) = await joining
    let (lamp, _) = try await register("Lamp", with: host)
    #expect(await host.settledRole == .alone)
    close(listener)
    withExtendedLifetime(lamp) {}
    await host.close()
  }

  @Test("a host for which an owner has no room gets errors, and is served when it asks again")
  func noRoom() async throws {
    let rejection = try #require(OwnerMessage.rejected(.tooManyClients).frame)
    let listener = try #require(address.bindAndListen().descriptor)
    async let joining = host()
    let first = try await Peer.accept(listener)
    #expect(try await first.read().isEmpty == false, "it greets")
    try first.write(rejection)
    let (host, role) = await joining
    #expect(role == .refused)

    let (events, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    let lamp = try host.register(service("Lamp")) { continuation.yield($0) }
    let second = try await Peer.accept(listener)
    #expect(try await second.read().isEmpty == false, "it greets again")
    try second.write(rejection)
    #expect(await events.first { _ in true } == .failed(.tooManyClients))

    close(listener)
    let (chair, _) = try await register("Chair", with: host)
    #expect(await host.settledRole == .owner)
    withExtendedLifetime((lamp, chair)) {}
    await host.close()
  }

  @Test("G12: a client that talks nonsense is turned away, and the others are served")
  func falseClient() async throws {
    let (first, _) = await host()
    let (second, _) = await host()
    for noise in [[UInt8](repeating: 0xFF, count: 64), [1, 0, 0, 0, 200]] {
      let descriptor = try #require(
        address.connect(trust: OwnerMachine.Trust(userID: geteuid())).descriptor)
      let connection = Peer(descriptor)
      try connection.write(noise)
      var answer = FrameReader()
      answer.append(try await connection.read())
      #expect(try answer.next(OwnerMessage.self) == .rejected(.invalidMessage))
      #expect(try await connection.read().isEmpty, "the end")
    }
    let (lamp, _) = try await register("Lamp", with: second)
    withExtendedLifetime(lamp) {}
    await second.close()
    await first.close()
  }

  @Test("how a host takes part can be asked for after it was closed")
  func closed() async {
    let (first, _) = await host()
    await first.close()
    #expect(await first.settledRole == .closed)
  }
}
