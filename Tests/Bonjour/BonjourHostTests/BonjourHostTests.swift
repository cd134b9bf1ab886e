import DNSWire
import DiscoveryMachines
import Essentials
import Glibc
import Testing

@testable import BonjourHost

/// Hosts on the loopback interface, which only this machine's processes use. Those may be hosts,
/// too, so names and types are made up for each run.
@Suite("Hosts of Multicast DNS", .timeLimit(.minutes(5)))
struct BonjourHostTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private let type: ServiceType
  private let service: ServiceRegistration

  init() throws {
    type = try ServiceType(text: "_a-\(run)._tcp")
    service = try ServiceRegistration(
      ServiceName(instance: "Desk lamp", type: type), port: 8_080,
      text: TXTRecord([.init(key: "room", value: Array("study".utf8))]))
  }

  private func host(_ name: String) -> BonjourHost {
    BonjourHost(
      configuration: BonjourConfiguration(
        hostName: "\(name)-\(run)", interfaceNames: ["lo"]))
  }

  private static func events(
    _ host: BonjourHost, _ request: QueryRequest
  ) -> (Query, AsyncStream<QueryEvent>) {
    let (stream, continuation) = AsyncStream.makeStream(of: QueryEvent.self)
    return (host.query(request) { continuation.yield($0.event) }, stream)
  }

  @Test("a service is found, resolved to host, port and text, and removed when it is unregistered")
  func wholeWay() async throws {
    let publisher = host("lamp")
    let (names, published) = AsyncStream.makeStream(of: RegistrationEvent.self)
    let registration = publisher.register(service) { published.yield($0) }
    #expect(await names.first { _ in true } == .registered(service.name.name))

    let finder = host("phone")
    let (browse, found) = Self.events(finder, .browse(type))
    var services = found.makeAsyncIterator()
    #expect(await services.next() == .serviceAdded(service.name))

    let (resolve, places) = Self.events(finder, .resolve(service.name))
    var place = places.makeAsyncIterator()
    guard case .resolved(let resolved)? = await place.next() else {
      Issue.record("The service has no place.")
      return
    }
    #expect(resolved.host.description == "lamp-\(run).local.")
    #expect(resolved.port == 8_080)
    #expect(resolved.text["room"] == "study")

    let (lookUp, addresses) = Self.events(finder, .addresses(resolved.host, versions: [.v4]))
    guard case .addressAdded(let address, _)? = await addresses.first(where: { _ in true }) else {
      Issue.record("The host has no address.")
      return
    }
    #expect(address.description == "127.0.0.1")

    try registration.update(TXTRecord([.init(key: "room", value: Array("attic".utf8))]))
    guard case .resolved(let moved)? = await place.next() else {
      Issue.record("The service's text did not change.")
      return
    }
    #expect(moved.text["room"] == "attic")

    registration.unregister()
    #expect(await services.next() == .serviceRemoved(service.name))
    withExtendedLifetime((browse, resolve, lookUp)) {}
    await publisher.close()
    await finder.close()
  }

  @Test("two services of one name get two names, and a host that ends says goodbye")
  func conflict() async throws {
    let first = host("one")
    func register(_ host: BonjourHost) async -> (Registration, DNSName?) {
      let (names, published) = AsyncStream.makeStream(of: RegistrationEvent.self)
      let registration = host.register(service) { published.yield($0) }
      guard case .registered(let name)? = await names.first(where: { _ in true }) else {
        return (registration, nil)
      }
      return (registration, name)
    }
    let (one, firstName) = await register(first)
    let second = host("two")
    let (two, secondName) = await register(second)
    #expect(firstName == service.name.name)
    let other = try ServiceName(instance: "Desk lamp (2)", type: type)
    #expect(secondName == other.name)

    let (browse, found) = Self.events(first, .browse(type))
    var services = found.makeAsyncIterator()
    let both = [await services.next(), await services.next()]
    #expect(Set(both) == [.serviceAdded(service.name), .serviceAdded(other)])
    await second.close()
    #expect(await services.next() == .serviceRemoved(other))
    withExtendedLifetime((one, two, browse)) {}
    await first.close()
  }

  @Test("E3: a host has its system's name, without domain, numbers or addresses")
  func defaultName() throws {
    let file = try #require(fopen("/proc/sys/kernel/hostname", "r"))
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 256)
    _ = fgets(&buffer, 256, file)
    let line = String(
      decoding: buffer.prefix { $0 > 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let label = line.prefix { $0 != "." && $0 != "\n" }
    #expect(BonjourConfiguration().hostName == (label.isEmpty ? "localhost" : String(label)))
  }

  @Test("a text that no message could take is refused at once, and the earlier one stays")
  func longText() async throws {
    let host = host("four")
    let registration = host.register(service) { _ in }
    let long = Array(repeating: [UInt8](repeating: 65, count: 255), count: 33)
    #expect(throws: DNSWireError.messageTooLong(byteCountMax: 8_192)) {
      try registration.update(TXTRecord(strings: long))
    }
    try registration.update(TXTRecord(strings: long.dropLast()))
    await host.close()
  }

  @Test("the addresses of a host in another domain are those of the system's resolver")
  func otherDomain() async throws {
    let host = host("five")
    let (query, found) = Self.events(host, .addresses("localhost.", versions: [.v4]))
    #expect(
      await found.first { _ in true }
        == .addressAdded(.v4(Inet4Address(127, 0, 0, 1)), ttlSeconds: 60))
    query.cancel()
    let (other, answers) = Self.events(host, .addresses("no host.example.", versions: [.v6]))
    #expect(await answers.first { _ in true } == .addressAbsent(.v6))
    withExtendedLifetime(other) {}
    await host.close()
  }

  @Test("a host whose configuration keeps it from using a hub notes that, if it was to use one")
  func unusedHub() async throws {
    let (notes, log) = AsyncStream.makeStream(of: String.self)
    var configuration = BonjourConfiguration(hostName: "seven-\(run)", interfaceNames: ["lo"])
    let host = BonjourHost(configuration: configuration) { log.yield($0) }
    #expect(await notes.first { _ in true }?.contains("sockets of its own") == true)
    configuration.usesHub = false
    #expect(configuration.standaloneNote == nil && BonjourConfiguration().standaloneNote == nil)
    await host.close()
  }

  @Test("a type that RFC 6335 does not allow is registered, with a note in the log")
  func unregisteredType() async throws {
    let (notes, log) = AsyncStream.makeStream(of: String.self)
    var configuration = BonjourConfiguration(hostName: "six-\(run)", interfaceNames: ["lo"])
    configuration.usesHub = false
    let host = BonjourHost(configuration: configuration) { log.yield($0) }
    let odd = try ServiceType(text: "_longer_than_fifteen-\(run)._tcp")
    let names = AsyncStream.makeStream(of: RegistrationEvent.self)
    var registrations = [host.register(service) { _ in }]
    let name = try ServiceName(instance: "Lamp", type: odd)
    registrations.append(
      host.register(try ServiceRegistration(name, port: 80)) { names.continuation.yield($0) })
    #expect(await names.stream.first { _ in true } == .registered(name.name))
    // The registration of the other type made none.
    #expect(await notes.first { _ in true }?.contains("\(odd)") == true)
    withExtendedLifetime(registrations) {}
    await host.close()
  }

  @Test("interfaces are reported with their names")
  func interfaces() async throws {
    let host = host("three")
    let (query, found) = try Self.events(
      host, .addresses(DNSName(text: "three-\(run).local."), versions: [.v4]))
    _ = await found.first { _ in true }
    #expect(await host.interfaces.values.sorted() == ["lo"])
    withExtendedLifetime(query) {}
    await host.close()
  }
}
