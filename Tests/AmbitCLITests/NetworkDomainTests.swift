import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import JSONWire
import Testing

@testable import AmbitCLI

/// Names and domains that are unusual on a network, on this machine's own interface.
@Suite("Unusual names and domains on the network", .timeLimit(.minutes(5)))
struct NetworkDomainTests {
  private let run = String(UInt32.random(in: 0 ... .max), radix: 36)
  private var type: String { "_d-\(run)._tcp" }

  private static func objects(_ end: AmbitRun.End) throws -> [[String: Any]] {
    try end.output.compactMap {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
  }

  private func peer() -> BonjourHost {
    BonjourHost(
      configuration: BonjourConfiguration(hostName: "domains-\(run)", interfaceNames: ["lo"]))
  }

  @Test("browse --types shows the domain of each type, and the TTL of its record")
  func domainsOfTypes() async throws {
    let host = peer()
    let registrations = try ["example.com", "local"].map { domain in
      let name = try DNSName(text: "\(type).\(domain)")
      return host.register(
        RecordRegistration(
          DNSRecord(name: .serviceTypes, ttlSeconds: 777, data: .ptr(name)), .shared)
      ) { _ in }
    }
    let command = ["browse", "--types", "--once", "--interface", "lo"]
    let json = try await AmbitRun.end(command + ["--json"]) { json in
      json.output.count { $0.contains(type) } >= 2
    }
    let types = try Self.objects(json).filter { $0["type"] as? String == type }
    #expect(
      Set(types.compactMap { $0["domain"] as? String }) == ["example.com.", "local."], "\(json)")
    #expect(types.allSatisfy { $0["ttl"] as? Int == 777 }, "\(json)")
    let text = try await AmbitRun.end(command) { text in
      text.output.count { $0.contains(type) } >= 2
    }
    let lines = text.output.filter { $0.contains(type) }
    #expect(lines.contains { $0.contains("  \(type).example.com.  ") }, "\(text)")
    #expect(lines.contains { $0.contains("  \(type)  ") }, "\(text)")
    withExtendedLifetime(registrations) {}
    await host.close()
  }

  @Test("a record that lists a type is read with its domain, and other records are left out")
  func listedTypes() throws {
    let seconds: UInt32 = 60
    func event(_ data: DNSRecordData) -> QueryEvent {
      .recordAdded(DNSRecord(name: .serviceTypes, ttlSeconds: seconds, data: data))
    }
    let listed = try #require(ListedType(event(.ptr("_a._udp.example.org."))))
    #expect(listed.services.domain == "example.org." && listed.isFound && listed.ttl == 60)
    #expect("\(listed.services.type)" == "_a._udp")
    #expect(ListedType(event(.ptr("example.org."))) == nil)
    #expect(ListedType(event(.a(Inet4Address(192, 0, 2, 1)))) == nil)
    let own = try #require(ListedType(.typeRemoved(listed.services.type)))
    #expect(own.services.domain == .local && !own.isFound && own.ttl == nil)
  }

  @Test("browse and resolve report that name servers of another domain are not queried")
  func otherDomains() async throws {
    let end = " on the local network; the name servers of example.com. are not queried."
    let browse = try await AmbitRun.end(
      "browse", type, "example.com", "--once", "--interface", "lo")
    #expect(browse.status == AmbitCLI.ExitStatus.notFound.rawValue, "\(browse)")
    #expect(browse.complaints.first?.hasSuffix("its name servers are not queried.") == true)
    #expect(browse.complaints.last == "ambit: nothing was found" + end, "\(browse)")
    let resolve = try await AmbitRun.end(
      "resolve", "Lamp", type, "example.com", "--interface", "lo", "--timeout", "500ms")
    #expect(resolve.status == AmbitCLI.ExitStatus.notFound.rawValue, "\(resolve)")
    #expect(resolve.complaints.last?.hasSuffix(end) == true, "\(resolve)")
    let local = try await AmbitRun.end("browse", type, "local", "--once", "--interface", "lo")
    #expect(local.complaints == ["ambit: nothing was found."])
  }

  @Test("browse with the full name of a service shows that one only")
  func fullName() async throws {
    let host = peer()
    let registrations = try ["Lamp", "Lamp 2"].map { name in
      let service = try NetworkText.service(name, NetworkText.services(type))
      return host.register(try ServiceRegistration(service, port: 80)) { _ in }
    }
    for name in ["Lamp.\(type).local", "Lamp.\(type)"] {
      let end = try await AmbitRun.end(
        ["browse", name, "--once", "--interface", "lo", "--json"], until: { !$0.output.isEmpty })
      #expect(try Self.objects(end).map { $0["name"] as? String } == ["Lamp"], "\(end)")
    }
    withExtendedLifetime(registrations) {}
    await host.close()
    let one = try NetworkText.browsed("Mr. Ames._ipp._tcp.example.com")
    #expect(one.instance?.instanceText == "Mr. Ames" && one.domain == "example.com.")
    #expect(try NetworkText.browsed("_ipp._tcp").instance == nil)
    #expect(throws: CommandFailure.self) { try NetworkText.browsed("Lamp._ipp._tcp", domain: "x") }
  }

  @Test("a name with a control character is resolved as it is found, and not published")
  func controlCharacter() async throws {
    let host = peer()
    let services = try NetworkText.services(type)
    let name = "Lamp\u{7}"
    let service = try NetworkText.foreignService(name, services)
    let registration = host.register(try ServiceRegistration(service, port: 80)) { _ in }
    let browse = try await AmbitRun.end(
      ["browse", type, "--once", "--interface", "lo", "--json"], until: { !$0.output.isEmpty })
    #expect(try Self.objects(browse).map { $0["name"] as? String } == [name], "\(browse)")
    let resolve = try await AmbitRun.end(
      "resolve", name, type, "--interface", "lo", "--json", "--timeout", "60")
    #expect(try Self.objects(resolve).map { $0["name"] as? String } == [name], "\(resolve)")
    #expect(resolve.status == 0)
    let publish = try await AmbitRun.end("publish", name, type, "80", "--interface", "lo")
    #expect(publish.status == AmbitCLI.ExitStatus.usage.rawValue, "\(publish)")
    withExtendedLifetime(registration) {}
    await host.close()
  }

  @Test("a published service has the interfaces on which it is, and whether others can find it")
  func reach() async throws {
    let publisher = try AmbitRun(["publish", "Lamp", type, "80", "--interface", "lo", "--json"])
    let line = try #require(await publisher.output.next(containing: "\"published\""))
    #expect(line.contains(#""interfaces":["lo"],"reach":"machine""#), "\(line)")
    let service = try NetworkText.service("Lamp", NetworkText.services("http"))
    func published(_ interfaces: [String]) -> PublishedService {
      PublishedService(name: service.name, service: service, port: 80, interfaces: interfaces)
    }
    #expect(
      published(["lo"]).sentence
        == "Published as \"Lamp\", for programs of this machine only: no network is up.")
    #expect(published(["eth0", "lo"]).sentence == "Published as \"Lamp\" on eth0, lo.")
    #expect(published(["eth0", "lo"]).json.line.contains(#""reach":"network""#))
    let many = published((1...120).map { "veth\($0)" })
    #expect(many.sentence == "Published as \"Lamp\" on 120 interfaces.")
  }
}
