import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@testable import Simulation

@Suite("Hosts with private addresses")
struct PrivacyOnAirTests {
  private static let protected: BluetoothUUID = 0x2A99
  private static let name = "Tag"

  /// A device with a value; with an interval, with private addresses.
  private func device(
    in world: World, interval: TimeSpan?, isProtected: Bool = true
  ) -> SimulatedDevice {
    world.addDevice(named: Self.name, at: Position(x: 2)) { tag in
      tag.privateAddressInterval = interval
      tag.addService(0x1815).addCharacteristic(
        Self.protected, [.read], value: [1, 2, 3], requiresEncryption: isProtected)
    }
  }

  private static var privateHost: HostConfiguration {
    var configuration = HostConfiguration()
    configuration.usesPrivateAddress = true
    configuration.privateAddressInterval = .seconds(20)
    return configuration
  }

  private static var everyReport: ScanOptions {
    var options = ScanOptions()
    options.allowsDuplicates = true
    return options
  }

  private func connect(_ host: TestHost, _ peer: DeviceAddress) throws {
    host.forgetEvents()
    host.send(.connect(peer, ConnectOptions()))
    try host.wait(for: "the link") { event -> Void? in
      if case .connected(peer) = event { return () }
      return nil
    }
  }

  private func disconnect(_ host: TestHost, _ peer: DeviceAddress) {
    host.send(.disconnect(peer))
    host.world.run(for: .seconds(2))
  }

  private func read(_ host: TestHost, _ peer: DeviceAddress) throws -> [UInt8] {
    let value = try #require(try host.characteristics(of: peer)[Self.protected])
    return try host.read(value, of: peer)
  }

  private func pairingCount(_ host: TestHost) -> Int {
    host.events.count(where: { if case .pairingEnded = $0 { true } else { false } })
  }

  /// Scans for a while; returns the reports in order.
  private func heard(_ host: TestHost, for time: TimeSpan) -> [AdvertisingReport] {
    host.forgetEvents()
    host.send(.startScan(Self.everyReport))
    host.world.run(for: time)
    host.send(.stopScan)
    return host.events.compactMap { event in
      if case .discovered(let report) = event { report } else { nil }
    }
  }

  @Test(
    "a bonded device is the same whatever address it has; to others it is one after the other",
    arguments: [1, 2, 3] as [UInt64])
  func bondedDevice(_ seed: UInt64) throws {
    let world = World(seed: seed)
    _ = device(in: world, interval: .seconds(20))
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    #expect(peer.randomKind == .resolvable)
    #expect(try read(host, peer) == [1, 2, 3])
    let bond = try #require(host.bonds.first)
    #expect(bond.knownAddress == peer && bond.identity.isIdentityAddress)
    disconnect(host, peer)
    #expect(Set(heard(host, for: .seconds(65)).map(\.address)) == [peer])
    let stranger = TestHost(
      named: "Stranger", in: world, address: DeviceAddress(bits: 3, kind: .public))
    world.run(for: .seconds(1))
    let addresses = Set(heard(stranger, for: .seconds(65)).map(\.address))
    #expect((4...5).contains(addresses.count) && !addresses.contains(bond.identity))
    // It has another address by now, in this run and in the next.
    try connect(host, peer)
    #expect(try read(host, peer) == [1, 2, 3])
    disconnect(host, peer)
    host.controller.powerOff()
    let next = TestHost(named: "Next", in: world, bonds: host.bonds)
    world.run(for: .seconds(30))
    try connect(next, peer)
    #expect(try read(next, peer) == [1, 2, 3])
    #expect(pairingCount(next) == 0)
  }

  @Test("a bonded device that was away comes back with another address to those that wait for it")
  func backAgain() throws {
    let world = World(seed: 9)
    let device = device(in: world, interval: .seconds(20))
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    #expect(try read(host, peer) == [1, 2, 3])
    // Keys are distributed after the value was read.
    world.run(for: .seconds(1))
    device.controller.powerOff()
    world.run(for: .seconds(10))
    host.forgetEvents()
    host.send(.connect(peer, ConnectOptions()))
    world.run(for: .seconds(100))
    device.controller.powerOn()
    try host.wait(for: "the link", within: .seconds(5)) { event -> Void? in
      if case .connected(peer) = event { return () }
      return nil
    }
  }

  @Test("a request with an old address of a bonded device fails with the present address")
  func addressInUse() throws {
    let world = World(seed: 10)
    let device = device(in: world, interval: .seconds(20))
    let host = TestHost(in: world)
    let old = try #require(heard(host, for: .seconds(2)).first?.address)
    world.run(for: .seconds(45))
    host.forgetEvents()
    let peer = try host.connect(to: Self.name)
    #expect(old != peer)
    #expect(try read(host, peer) == [1, 2, 3])
    host.forgetEvents()
    host.send(.connect(old, ConnectOptions()))
    let error = try host.wait(for: "the answer") { event -> HostError? in
      if case .connectionFailed(old, let error) = event { error } else { nil }
    }
    #expect("\(error)".contains("\(peer)"))
    #expect(try read(host, peer) == [1, 2, 3])
    // Once the device has no other link, the old address works, too.
    disconnect(host, peer)
    try connect(host, old)
    #expect(try read(host, old) == [1, 2, 3])
    #expect(pairingCount(host) == 0)
    withExtendedLifetime(device) {}
  }

  @Test("the bonded centrals of a device are the same at any address")
  func bondedCentral() throws {
    let world = World(seed: 4)
    let device = device(in: world, interval: nil)
    var centrals: [DeviceAddress] = []
    device.onConnectionChange = { if $1 { centrals.append($0) } }
    let host = TestHost(in: world, configuration: Self.privateHost)
    let peer = try host.connect(to: Self.name)
    #expect(try read(host, peer) == [1, 2, 3])
    for _ in 1...2 {
      disconnect(host, peer)
      world.run(for: .seconds(25))
      try connect(host, peer)
      #expect(try read(host, peer) == [1, 2, 3])
      #expect(pairingCount(host) == 0)
    }
    #expect(centrals.count == 3 && Set(centrals).count == 1)
    #expect(centrals.first?.randomKind == .resolvable)
    // In the next run, too, with the key that the device has.
    disconnect(host, peer)
    host.controller.powerOff()
    let next = TestHost(
      named: "Next", in: world, configuration: Self.privateHost, bonds: host.bonds,
      identities: host.identities)
    world.run(for: .seconds(1))
    try connect(next, peer)
    #expect(try read(next, peer) == [1, 2, 3])
    #expect(pairingCount(next) == 0 && Set(centrals).count == 1)
  }

  @Test("two hosts with private addresses pair, and find each other again")
  func bothPrivate() throws {
    let world = World(seed: 5)
    _ = device(in: world, interval: .seconds(7))
    let host = TestHost(in: world, configuration: Self.privateHost)
    let peer = try host.connect(to: Self.name)
    for _ in 1...5 {
      #expect(try read(host, peer) == [1, 2, 3])
      disconnect(host, peer)
      world.run(for: .seconds(16))
      try connect(host, peer)
    }
    #expect(host.bonds.count == 1)
  }

  @Test("a new address comes on time, never beside the old one, and advertising hardly pauses")
  func change() throws {
    let world = World(seed: 6)
    _ = device(in: world, interval: .seconds(5))
    let host = TestHost(in: world)
    world.run(for: .seconds(1))
    let reports = heard(host, for: .seconds(60))
    var addresses: [DeviceAddress] = []
    for report in reports where addresses.last != report.address {
      addresses.append(report.address)
    }
    #expect((12...14).contains(addresses.count))
    #expect(Set(addresses).count == addresses.count, "an old address came back")
    for (report, next) in zip(reports, reports.dropFirst()) {
      #expect(next.heardAt - report.heardAt < .milliseconds(700))
    }
  }

  @Test("links, scans and wanted connections outlive a change of the own address")
  func activities() throws {
    let world = World(seed: 7)
    _ = device(in: world, interval: nil, isProtected: false)
    let host = TestHost(in: world, configuration: Self.privateHost)
    let peer = try host.connect(to: Self.name)
    _ = world.addDevice(named: "Beacon", at: Position(x: 1)) { $0.advertisedServices = [0x1815] }
    let absent = DeviceAddress(bits: 0xC000_1234_5678, kind: .random)
    host.send(.connect(absent, ConnectOptions()))
    let reports = heard(host, for: .seconds(130))
    #expect(reports.contains { $0.heardAt + .seconds(1) > world.now })
    #expect(try read(host, peer) == [1, 2, 3])
    let isLost = host.events.contains { if case .linkClosed = $0 { true } else { false } }
    #expect(!isLost)
    let late = world.addDevice(named: "Absent", address: absent, at: Position(x: 1)) { _ in }
    try host.wait(for: "the connection that was asked for first") { event -> Void? in
      if case .connected(absent) = event { return () }
      return nil
    }
    #expect(late.centrals.first?.randomKind == .resolvable)
  }

  @Test("nothing of a private host is on the air before it has a private address")
  func start() throws {
    let world = World(seed: 8)
    let host = TestHost(in: world)
    world.run(for: .seconds(1))
    host.send(.startScan(Self.everyReport))
    _ = device(in: world, interval: .seconds(900))
    world.run(for: .seconds(5))
    var seen: Set<DeviceAddress> = []
    for case .discovered(let report) in host.events { seen.insert(report.address) }
    #expect(seen.count == 1 && seen.first?.randomKind == .resolvable)
  }
}
