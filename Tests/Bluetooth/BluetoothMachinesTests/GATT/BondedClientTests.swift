import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

@Suite("What bonded GATT clients configured")
struct BondedClientTests {
  /// Handles 16 to 19: the value is 18, its configuration 19.
  private static let battery = ServiceDefinition(
    uuid: 0x180F, isPrimary: true,
    characteristics: [
      CharacteristicDefinition(
        uuid: 0x2A19, properties: [.read, .notify], permissions: .readable)
    ])
  private static let other = ServiceDefinition(
    uuid: 0x1815, isPrimary: true,
    characteristics: [
      CharacteristicDefinition(
        uuid: 0x2A56, properties: [.read, .notify], permissions: .readable)
    ])

  /// A server whose client has subscribed to the battery and to Service Changed, with robust caching.
  private func configured() throws -> (ServerBench, ClientConfiguration) {
    var bench = ServerBench()
    try bench.add(Self.battery)
    bench.server.linkOpened(ServerBench.peer)
    for request in ["12 0b00 01", "12 0900 0200", "12 1300 0100"] {
      #expect(bench.receive(request) == ["13"])
    }
    let configuration = bench.server.clientConfiguration(of: ServerBench.peer)
    return (bench, try #require(configuration))
  }

  private func reconnect(_ bench: inout ServerBench) {
    bench.act { $0.linkClosed(ServerBench.peer, now: $1, into: &$2) }
    bench.server.linkOpened(ServerBench.peer)
    bench.subscribed = []
  }

  private func restore(
    _ configuration: ClientConfiguration, _ bench: inout ServerBench
  ) -> [String] {
    bench.act { $0.restore(configuration, of: ServerBench.peer, now: $1, into: &$2) }
  }

  @Test("a bonded client's configuration holds on the next link, once its identity is known")
  func nextLink() throws {
    var (bench, configuration) = try configured()
    #expect(configuration.descriptors == [9: 2, 19: 1] && configuration.features == 1)
    reconnect(&bench)
    #expect(bench.receive("0a 1300") == ["0b0000"])
    #expect(bench.update(18, [50]).isEmpty)
    configuration.databaseHash = bench.server.databaseHash()
    #expect(restore(configuration, &bench).isEmpty)
    #expect(bench.subscribed == [18])
    #expect(bench.receive("0a 1300") == ["0b0100"])
    #expect(bench.receive("0a 0b00") == ["0b01"])
    #expect(bench.update(18, [51]) == ["1b120033"])
    let kept = bench.server.clientConfiguration(of: ServerBench.peer)
    #expect(kept == configuration)
    // Only once: what the client switched off since then stays off.
    bench.receive("12 1300 0000")
    #expect(restore(configuration, &bench).isEmpty && bench.subscribed == [18])
    #expect(bench.receive("0a 1300") == ["0b0000"])
  }

  @Test("a bonded client's configuration is replaced by what it writes on this link")
  func written() throws {
    var (bench, configuration) = try configured()
    configuration.databaseHash = bench.server.databaseHash()
    reconnect(&bench)
    bench.receive("12 0900 0200")
    bench.receive("12 1300 0100")
    bench.subscribed = []
    configuration.descriptors[19] = 3
    #expect(restore(configuration, &bench).isEmpty && bench.subscribed.isEmpty)
    #expect(bench.receive("0a 1300") == ["0b0100"])
    // Also where they write that they don't want it any more.
    reconnect(&bench)
    bench.receive("12 1300 0000")
    #expect(restore(configuration, &bench).isEmpty && bench.subscribed.isEmpty)
    #expect(bench.receive("0a 1300") == ["0b0000"])
  }

  @Test("a bonded client's configuration doesn't hold on a link with too little protection")
  func protection() throws {
    var bench = ServerBench()
    try bench.add(
      ServiceDefinition(
        uuid: 0x180F, isPrimary: true,
        characteristics: [
          CharacteristicDefinition(
            uuid: 0x2A19, properties: [.read, .notify], permissions: .readable,
            subscribingRequiresAuthentication: true)
        ]))
    bench.server.linkOpened(ServerBench.peer)
    let configuration = ClientConfiguration(
      databaseHash: bench.server.databaseHash(), isAware: true, features: 0, descriptors: [19: 1])
    bench.server.setEncryption(
      EncryptionInfo(keyByteCount: 16, isAuthenticated: false, isSecureConnections: true),
      ServerBench.peer)
    #expect(restore(configuration, &bench).isEmpty && bench.subscribed.isEmpty)
  }

  @Test("a configuration of an unaware client holds for the same database, with Service Changed")
  func unaware() throws {
    var (bench, configuration) = try configured()
    configuration.databaseHash = bench.server.databaseHash()
    configuration.isAware = false
    reconnect(&bench)
    #expect(restore(configuration, &bench) == ["1d08000100ffff"])
    #expect(bench.subscribed == [18])
  }

  @Test(
    "a configuration of another database is dropped but for Service Changed, which is indicated")
  func otherDatabase() throws {
    var (bench, configuration) = try configured()
    configuration.databaseHash = bench.server.databaseHash()
    bench.act { $0.removeService(14, owner: ServerBench.owner, now: $1, into: &$2) }
    bench.receive("1e")
    try bench.add(Self.other)
    bench.receive("1e")
    reconnect(&bench)
    #expect(restore(configuration, &bench) == ["1d08000100ffff"])
    #expect(bench.subscribed.isEmpty)
    // Core 5.4, Vol 3, Part G, §2.5.2.1: one request is refused, the next shows that it knows.
    #expect(bench.receive("0a 0300") == ["010a030012"])
    let before = bench.server.clientConfiguration(of: ServerBench.peer)
    #expect(before?.isAware == false)
    bench.receive("1e")
    #expect(bench.receive("0a 0300") == ["0b54657374"])
    let after = bench.server.clientConfiguration(of: ServerBench.peer)
    let hash = bench.server.databaseHash()
    #expect(after?.databaseHash == hash && after?.isAware == true)
    #expect(after?.descriptors == [9: 2])
  }

  @Test(
    "what a peer configured for a program doesn't reach another one that has its handles after a restart"
  )
  func exchangedPrograms() throws {
    // Both are of one layout: after a restart of the hub, the programs come in another order.
    func served(_ apps: [String]) throws -> ServerBench {
      var bench = ServerBench()
      for (index, app) in apps.enumerated() {
        try bench.add(Self.battery, of: bench.open(UInt32(index + 1), of: app))
      }
      bench.server.linkOpened(ServerBench.peer)
      return bench
    }
    var before = try served(["lamp", "strap"])
    for request in ["12 0b00 01", "12 0900 0200", "12 1300 0100"] {
      #expect(before.receive(request) == ["13"])
    }
    let kept = before.server.clientConfiguration(of: ServerBench.peer)
    let configuration = try #require(kept)
    var same = try served(["lamp", "strap"])
    #expect(restore(configuration, &same).isEmpty && same.subscribed == [18])
    var exchanged = try served(["strap", "lamp"])
    #expect(exchanged.server.databaseHash() == same.server.databaseHash())
    #expect(restore(configuration, &exchanged) == ["1d08000100ffff"])
    #expect(exchanged.subscribed.isEmpty)
  }

  @Test("a configuration that makes no sense is left out")
  func nonsense() throws {
    var (bench, configuration) = try configured()
    configuration.databaseHash = bench.server.databaseHash()
    reconnect(&bench)
    configuration.features = 0xFF
    configuration.descriptors = [0: 1, 3: 1, 9: 1, 18: 1, 19: 2, 0xFFFF: 3]
    #expect(restore(configuration, &bench).isEmpty && bench.subscribed.isEmpty)
    #expect(bench.receive("0a 0900") == ["0b0000"])
    #expect(bench.receive("0a 0b00") == ["0b07"])
  }

  @Test("a bonded client that configured nothing has no configuration")
  func nothing() {
    var bench = ServerBench()
    let configuration = bench.server.clientConfiguration(of: ServerBench.peer)
    #expect(configuration == nil)
  }
}
