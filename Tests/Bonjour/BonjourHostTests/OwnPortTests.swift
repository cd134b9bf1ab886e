import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@testable import BonjourHost

/// Hosts of one process that use the port by themselves, as programs of one machine do without a hub: with
/// one host name, on the interface that every machine has.
@Suite("Hosts without a hub", .timeLimit(.minutes(5)))
struct OwnPortTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private let type: ServiceType

  init() throws { type = try ServiceType(text: "_b-\(run)._tcp") }

  private func host(log: (@Sendable (String) -> Void)? = nil) -> BonjourHost {
    BonjourHost(configuration: sharingConfiguration(run), log: log)
  }

  /// Registers a service, and returns its name once it has one.
  private func register(
    _ name: String, port: UInt16 = 80, with host: BonjourHost
  ) async throws -> (Registration, DNSName?) {
    let (events, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    let service = try ServiceRegistration(ServiceName(instance: name, type: type), port: port)
    let registration = host.register(service) { continuation.yield($0) }
    guard case .registered(let name)? = await events.first(where: { _ in true }) else {
      return (registration, nil)
    }
    return (registration, name)
  }

  private func events(
    _ host: BonjourHost, _ request: QueryRequest
  ) -> (Query, AsyncStream<QueryEvent>.Iterator) {
    let (events, continuation) = AsyncStream.makeStream(of: QueryEvent.self)
    let query = host.query(request) { continuation.yield($0.event) }
    return (query, events.makeAsyncIterator())
  }

  private func name(_ instance: String) throws -> ServiceName {
    try ServiceName(instance: instance, type: type)
  }

  @Test("hosts without a hub find each other, and one that ends takes its own services along")
  func together() async throws {
    let (first, second, third) = (host(), host(), host())
    for host in [first, second, third] { #expect(await host.settledRole == .alone) }
    let (lamp, _) = try await register("Lamp", with: first)
    var (query, found) = events(third, .browse(type))
    #expect(await found.next() == .serviceAdded(try name("Lamp")))
    let (chair, _) = try await register("Chair", with: second)
    #expect(await found.next() == .serviceAdded(try name("Chair")))
    let (place, places) = events(third, .resolve(try name("Chair")))
    var placeEvents = places
    guard case .resolved(let resolved)? = await placeEvents.next() else {
      Issue.record("The service has no place.")
      return
    }
    #expect(resolved.host.description == "shared-\(run).local.", "the name that both hosts have")
    await first.close()
    #expect(await found.next() == .serviceRemoved(try name("Lamp")))
    withExtendedLifetime((lamp, chair, query, place)) {}
    await second.close()
    await third.close()
  }

  @Test("services of one name get two names")
  func conflict() async throws {
    let (first, second) = (host(), host())
    let (lamp, firstName) = try await register("Lamp", port: 80, with: first)
    let (other, secondName) = try await register("Lamp", port: 81, with: second)
    #expect(firstName == (try name("Lamp").name))
    #expect(secondName == (try name("Lamp (2)").name))
    withExtendedLifetime((lamp, other)) {}
    await first.close()
    await second.close()
  }

  @Test("a host logs once that there is no hub, unless that is to be expected")
  func note() async throws {
    let (log, continuation) = AsyncStream.makeStream(of: String.self)
    let noted = host { continuation.yield($0) }
    #expect(await noted.settledRole == .alone)
    var configuration = sharingConfiguration(run)
    configuration.notesAbsentHub = false
    let silent = BonjourHost(configuration: configuration) { continuation.yield("second: \($0)") }
    #expect(await silent.settledRole == .alone)
    await noted.close()
    await silent.close()
    continuation.finish()
    var lines: [String] = []
    for await line in log { lines.append(line) }
    let notes = lines.filter { $0.contains("there is no hub") }
    #expect(notes.count == 1 && notes.first?.hasPrefix("second") == false)
  }

  @Test("how a host takes part can be asked for after it was closed")
  func closed() async {
    let host = host()
    await host.close()
    #expect(await host.settledRole == .closed)
  }
}
