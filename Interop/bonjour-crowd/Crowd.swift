import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import Glibc
import EventLoop
import Synchronization

/// Many hosts in one process, as many programs would be; for the tests and measurements of a hub:
///
///     bonjour-crowd publish HOSTS EACH   HOSTS hosts publish EACH services each, and one of
///                                        them browses until it has found them all
///     bonjour-crowd leave COUNT          one host publishes COUNT services, and closes when it
///                                        gets a line
///     bonjour-crowd latency COUNT        how long it takes to be told what is known already
///
/// Each writes an object a line; the first one goes on until it is ended.
@main
enum Crowd {
  static let type: ServiceType = {
    do throws(DNSWireError) { return try ServiceType(text: "_crowd._tcp") } catch {
      preconditionFailure("\(error)")
    }
  }()

  static func main() async throws {
    let arguments = CommandLine.arguments
    switch arguments.dropFirst().first {
    case "publish" where arguments.count == 4:
      try await register(hosts: Int(arguments[2]) ?? 0, each: Int(arguments[3]) ?? 0)
    case "leave" where arguments.count == 3: try await leave(Int(arguments[2]) ?? 0)
    case "latency" where arguments.count == 3: await latency(Int(arguments[2]) ?? 0)
    default:
      print("bonjour-crowd publish HOSTS EACH | leave COUNT | latency COUNT")
      exit(64)
    }
  }

  /// Whether a host's machines run in this process.
  private static func role(_ host: BonjourHost) async -> String { await host.roleName }

  private static func tell(_ event: String, _ members: String) {
    print("{\"event\": \"\(event)\", \(members)}")
    fflush(nil)
  }

  private static func rest() async throws -> Never {
    while true { try await Task.sleep(for: .seconds(3_600)) }
  }

  private static func register(hosts hostCount: Int, each: Int) async throws {
    // Connections of this many hosts need as many descriptors.
    var limits = rlimit()
    _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    limits.rlim_cur = limits.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)

    let start = Instant.now
    let hosts = (0..<hostCount).map { _ in BonjourHost { print("# \($0)") } }
    var roles: [String: Int] = [:]
    for host in hosts { roles[await role(host), default: 0] += 1 }
    tell(
      "joined",
      "\"clients\": \(roles["client"] ?? 0), \"hosts\": \(hostCount), "
        + "\"seconds\": \((Instant.now - start).seconds)")

    let (events, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    var registrations: [Registration] = []
    for (number, host) in hosts.enumerated() {
      for index in 0..<each {
        let name = try ServiceName(
          instance: "Service \(getpid()) \(number) \(index)", type: type)
        let service = try ServiceRegistration(name, port: UInt16(1 + number % 60_000))
        registrations.append(host.register(service) { continuation.yield($0) })
      }
    }
    var isPublished = 0
    for await event in events {
      if case .registered = event { isPublished += 1 }
      if isPublished == registrations.count { break }
    }
    tell(
      "published", "\"count\": \(isPublished), \"seconds\": \((Instant.now - start).seconds)")

    let browseStart = Instant.now
    let (found, finding) = AsyncStream.makeStream(of: FoundEvent.self)
    let query = hosts[0].query(.browse(type)) { finding.yield($0) }
    var services: Set<ServiceName> = []
    for await event in found {
      if case .serviceAdded(let name) = event.event { services.insert(name) }
      if case .serviceRemoved(let name) = event.event { services.remove(name) }
      if services.count == registrations.count { break }
    }
    tell(
      "found",
      "\"count\": \(services.count), \"seconds\": \((Instant.now - browseStart).seconds)")
    withExtendedLifetime((hosts, registrations, query)) {}
    try await rest()
  }

  private static func leave(_ count: Int) async throws {
    let host = BonjourHost { print("# \($0)") }
    let (events, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    var registrations: [Registration] = []
    for index in 0..<count {
      let name = try ServiceName(instance: "Service \(getpid()) 0 \(index)", type: type)
      registrations.append(
        host.register(try ServiceRegistration(name, port: 1)) { continuation.yield($0) })
    }
    var isPublished = 0
    for await event in events {
      if case .registered = event { isPublished += 1 }
      if isPublished == count { break }
    }
    tell("published", "\"count\": \(isPublished)")
    _ = readLine()
    await host.close()
    withExtendedLifetime(registrations) {}
  }

  /// From the request to the event, where the cache has the answer: what the way to the machines
  /// and back takes.
  private static func latency(_ count: Int) async {
    let host = BonjourHost()
    let role = await role(host)
    let request = QueryRequest.domains(.browsing)
    var times: [Int64] = []
    for _ in 0..<count {
      let (events, continuation) = AsyncStream.makeStream(of: Instant.self)
      let start = Instant.now
      let query = host.query(request) { _ in continuation.yield(.now) }
      for await end in events {
        times.append((end - start).nanoseconds / 1_000)
        break
      }
      query.cancel()
    }
    times.sort()
    tell(
      "latency",
      "\"role\": \"\(role)\", \"median\": \(times[count / 2]), "
        + "\"p99\": \(times[count * 99 / 100])")
    await host.close()
  }
}
