import DNSWire
import DiscoveryMachines
import Essentials
import EventLoop
import Glibc
import PortSharing
import Testing

@testable import BonjourHost

/// A program of a hub that ends without a goodbye, which is a connection of this process: a host could leave
/// a hub that a busy machine keeps waiting, and would then not be withdrawn by it.
@Suite("Programs of a hub that are killed", .timeLimit(.minutes(5)))
struct EndedProgramTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private let type: ServiceType
  private let record: DNSRecord

  init() throws {
    type = try ServiceType(text: "_b-\(run)._tcp")
    record = DNSRecord(
      name: try DNSName(text: "program-\(run).local."), ttlSeconds: 120,
      data: .a(Inet4Address(192, 0, 2, 1)))
  }

  private func name(_ instance: String) throws -> ServiceName {
    try ServiceName(instance: instance, type: type)
  }

  private func follow(
    _ host: BonjourHost, _ request: QueryRequest
  ) -> (query: Query, events: AsyncStream<QueryEvent>.Iterator) {
    let (events, continuation) = AsyncStream.makeStream(of: QueryEvent.self)
    let query = host.query(request) { continuation.yield($0.event) }
    return (query, events.makeAsyncIterator())
  }

  /// A program that has registered services, and a record.
  private func program(serviceCount: Int) throws -> Peer {
    let address = try #require(OwnerSocketAddress(path: hubPath(run)))
    let trust = OwnerMachine.Trust(userID: geteuid())
    let program = Peer(try #require(address.connect(trust: trust).descriptor))
    let hello = ClientMessage.hello(
      versions: PortSharingProtocol.versions, sharingConfiguration(run).shared)
    var requests: [DiscoveryRequest] = try (1...serviceCount).map { number in
      let service = try ServiceRegistration(name("Program's \(number)"), port: 80)
      return .registerService(RegistrationID(rawValue: UInt64(number)), service)
    }
    requests.append(
      .registerRecord(
        RegistrationID(rawValue: UInt64(serviceCount + 1)), RecordRegistration(record, .unique)))
    for message in [hello] + requests.map({ .request($0) }) {
      try program.write(try #require(message.frame))
    }
    return program
  }

  @Test(
    "a program's many services and its record end for the others in a moment, and nothing else does"
  )
  func killed() async throws {
    let count = 300
    let hub = try BonjourHub.start(
      at: hubPath(run), configuration: sharingConfiguration(run),
      admits: { _ in BonjourAdmission() })
    let program = try program(serviceCount: count)
    let (first, second) = (
      BonjourHost(configuration: sharingConfiguration(run)),
      BonjourHost(configuration: sharingConfiguration(run))
    )
    let lamp = first.register(try ServiceRegistration(name("Lamp"), port: 80)) { _ in }
    var address = follow(second, .records(record.name, .a))
    guard case .recordAdded? = await address.events.next() else {
      Issue.record("The program's record was not found.")
      return
    }
    var browsers = [follow(first, .browse(type)), follow(second, .browse(type))]
    for index in browsers.indices {
      var found: Set<QueryEvent> = []
      while found.count < count + 1, let event = await browsers[index].events.next() {
        found.insert(event)
      }
      #expect(found.contains(.serviceAdded(try name("Lamp"))))
    }
    let start = Instant.now
    program.end()
    for index in browsers.indices {
      var gone: Set<QueryEvent> = []
      while gone.count < count, let event = await browsers[index].events.next() {
        gone.insert(event)
      }
      #expect(gone == Set(try (1...count).map { .serviceRemoved(try name("Program's \($0)")) }))
    }
    guard case .recordRemoved? = await address.events.next() else {
      Issue.record("The program's record was not removed.")
      return
    }
    // A second on a machine that does nothing else. By themselves, the record would last for two minutes, and the
    // services for more than an hour.
    #expect(Instant.now - start < .seconds(60))
    withExtendedLifetime((lamp, address, browsers)) {}
    await second.close()
    await first.close()
    await hub.close()
  }
}
