import DNSWire
import DiscoveryMachines
import Essentials
import Testing

@Suite("Several hosts on one link")
struct NetworkTests {
  private static let id = RegistrationID(rawValue: 1)

  private func network(
    hosts: Int, seed: UInt64, lossProbability: Double
  ) throws -> SimulatedNetwork {
    var network = SimulatedNetwork(seed: seed, lossProbability: lossProbability)
    for _ in 0..<hosts { try network.join("host") }
    let name = try ServiceName(instance: "Lamp", type: ServiceType(text: "_http._tcp"))
    for index in 0..<hosts {
      let service = try ServiceRegistration(name, port: UInt16(1000 + index))
      network.handle(.registerService(Self.id, service), at: index)
    }
    return network
  }

  private func names(_ network: SimulatedNetwork) -> (hosts: Set<DNSName>, services: Set<DNSName>) {
    (
      Set(network.hosts.compactMap { $0.told[.host] }),
      Set(network.hosts.compactMap { $0.told[Self.id] })
    )
  }

  @Test("D10 D21: two hosts that want the same names at once get two", arguments: 1...100)
  func two(_ seed: UInt64) throws {
    var network = try network(hosts: 2, seed: seed, lossProbability: 0)
    network.pass(.seconds(20))
    let names = names(network)
    #expect(names.hosts == [DNSName("host.local."), "host-2.local."], "seed \(seed)")
    #expect(
      names.services == [.lamp, "Lamp\\ (2)._http._tcp.local."], "seed \(seed)")
    let count = network.packetCount
    network.pass(.seconds(600))
    #expect(network.packetCount == count, "nobody says anything without a reason")
  }

  @Test("twenty hosts that want the same names get twenty", arguments: 1...3)
  func twenty(_ seed: UInt64) throws {
    var network = try network(hosts: 20, seed: seed, lossProbability: 0)
    network.pass(.seconds(400))
    let names = names(network)
    #expect(names.hosts.count == 20, "seed \(seed)")
    #expect(names.services.count == 20, "seed \(seed)")
  }

  @Test("hosts that lose a fifth of all packets end with different names", arguments: 1...20)
  func lossy(_ seed: UInt64) throws {
    var network = try network(hosts: 4, seed: seed, lossProbability: 0.2)
    // Hosts that missed each other's probes detect the conflict when a query comes.
    for _ in 0..<60 {
      network.pass(.seconds(3))
      for name in names(network).hosts.union(names(network).services) { network.query(name) }
    }
    let names = names(network)
    #expect(names.hosts.count == 4, "seed \(seed)")
    #expect(names.services.count == 4, "seed \(seed)")
  }

  @Test("one seed gives one run")
  func determinism() throws {
    func run() throws -> (Int, Set<DNSName>) {
      var network = try network(hosts: 5, seed: 9, lossProbability: 0.3)
      network.pass(.seconds(60))
      return (network.packetCount, names(network).services)
    }
    let (first, second) = (try run(), try run())
    #expect(first == second)
  }
}
