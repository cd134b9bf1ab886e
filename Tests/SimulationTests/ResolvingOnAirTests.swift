import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@testable import Simulation

@Suite("Private addresses that the controller resolves")
struct ResolvingOnAirTests {
  private static let protected: BluetoothUUID = 0x2A99

  private func tag(_ name: String, in world: World, interval: TimeSpan = .seconds(20))
    -> SimulatedDevice
  {
    world.addDevice(named: name, at: Position(x: 2)) { tag in
      tag.privateAddressInterval = interval
      tag.addService(0x1815).addCharacteristic(
        Self.protected, [.read], value: [1, 2, 3], requiresEncryption: true)
    }
  }

  private static var privateHost: HostConfiguration {
    var configuration = HostConfiguration()
    configuration.usesPrivateAddress = true
    configuration.privateAddressInterval = .seconds(30)
    return configuration
  }

  private func connected(_ host: TestHost, _ peer: DeviceAddress, within: TimeSpan = .seconds(60))
    throws
  {
    try host.wait(for: "the link", within: within) { event -> Void? in
      if case .connected(peer) = event { return () }
      return nil
    }
  }

  private func read(_ host: TestHost, _ peer: DeviceAddress) throws -> [UInt8] {
    let value = try #require(try host.characteristics(of: peer)[Self.protected])
    return try host.read(value, of: peer)
  }

  /// Pairs, and lets the device get another address.
  private func bond(_ host: TestHost, with name: String) throws -> DeviceAddress {
    let peer = try host.connect(to: name)
    #expect(try read(host, peer) == [1, 2, 3])
    host.send(.disconnect(peer))
    host.world.run(for: .seconds(25))
    host.forgetEvents()
    return peer
  }

  private func scanCount(_ host: TestHost, _ body: () throws -> Void) rethrows -> Int {
    var count = 0
    let earlier = host.controller.onPacket
    host.controller.onPacket = { packet in
      if let event = try? HCIEvent(decoding: packet.bytes) {
        switch event {
        case .leAdvertisingReport, .leExtendedAdvertisingReport: count += 1
        default: break
        }
      }
      earlier?(packet)
    }
    try body()
    host.controller.onPacket = earlier
    return count
  }

  @Test(
    "a bonded device is connected at any address, without a scan where resolving is reported",
    arguments: [true, false], [true, false])
  func connecting(_ isHostPrivate: Bool, _ tellsResolution: Bool) throws {
    let world = World(seed: 11)
    _ = tag("Tag", in: world)
    let host = TestHost(
      in: world, configuration: isHostPrivate ? Self.privateHost : HostConfiguration())
    host.controller.faults.hidesResolution = !tellsResolution
    let peer = try bond(host, with: "Tag")
    host.send(.connect(peer, ConnectOptions()))
    try connected(host, peer)
    #expect(try read(host, peer) == [1, 2, 3])
    #expect(host.snapshot.controller.resolvesAddresses == tellsResolution)
    for _ in 1...3 {
      host.send(.disconnect(peer))
      world.run(for: .seconds(25))
      host.forgetEvents()
      let reports = try scanCount(host) {
        host.send(.connect(peer, ConnectOptions()))
        try connected(host, peer)
      }
      #expect(!tellsResolution || reports == 0, "the controller alone looked for it")
      #expect(try read(host, peer) == [1, 2, 3])
    }
    #expect(host.bonds.count == 1)
  }

  @Test("a host resolves addresses itself if its controller has no list, or doesn't use it")
  func withoutList() throws {
    for kind in 0..<3 {
      let world = World(seed: 12)
      _ = tag("Tag", in: world)
      let host = TestHost(in: world)
      switch kind {
      case 0: host.controller.faults.resolvesNothing = true
      case 1: host.controller.faults.ignoredCommands = [.leAddDeviceToResolvingList]
      default: host.controller.faults.ignoredCommands = [.leSetAddressResolutionEnable]
      }
      let peer = try bond(host, with: "Tag")
      for _ in 1...3 {
        host.send(.connect(peer, ConnectOptions()))
        try connected(host, peer)
        #expect(try read(host, peer) == [1, 2, 3])
        host.send(.disconnect(peer))
        world.run(for: .seconds(25))
        host.forgetEvents()
      }
      #expect(!host.snapshot.controller.resolvesAddresses && host.bonds.count == 1)
      #expect(host.snapshot.controller.resolvingListCapacity == 0, "kind \(kind)")
    }
  }

  @Test("more bonded devices than the list takes are all connected, from the next run's start, too")
  func fullList() throws {
    let world = World(seed: 13)
    var capabilities = ControllerCapabilities()
    capabilities.resolvingListMax = 2
    let names = (1...5).map { "Tag \($0)" }
    for name in names { _ = tag(name, in: world) }
    let host = TestHost(in: world, configuration: Self.privateHost, capabilities: capabilities)
    var peers: [DeviceAddress] = []
    for name in names { peers.append(try bond(host, with: name)) }
    #expect(host.snapshot.controller.resolvingListCapacity == 2)
    for peer in peers { host.send(.connect(peer, ConnectOptions())) }
    for peer in peers { try connected(host, peer) }
    host.controller.powerOff()
    world.run(for: .seconds(40))
    let next = TestHost(
      named: "Next", in: world, configuration: Self.privateHost, bonds: host.bonds,
      identities: host.identities)
    for peer in peers { next.send(.connect(peer, ConnectOptions())) }
    for peer in peers { try connected(next, peer) }
    world.run(for: .seconds(1))
    #expect(next.snapshot.controller.resolvedPeerCount == 0, "nobody is waited for any more")
  }

  @Test("scans and advertising pause for moments only while the list changes")
  func pauses() throws {
    let world = World(seed: 14)
    _ = tag("Tag", in: world)
    _ = world.addDevice(named: "Beacon", at: Position(x: 1)) { $0.advertisedServices = [0x1816] }
    let host = TestHost(in: world, configuration: Self.privateHost)
    let peer = try bond(host, with: "Tag")
    var everyReport = ScanOptions()
    everyReport.allowsDuplicates = true
    host.send(.startScan(everyReport))
    world.run(for: .seconds(2))
    host.send(.connect(peer, ConnectOptions()))
    world.run(for: .seconds(10))
    #expect(try host.complete { .removeBond(peer, $0) } == .done)
    world.run(for: .seconds(5))
    let reports = host.events.compactMap { event -> Instant? in
      if case .discovered(let report) = event { report.heardAt } else { nil }
    }
    for (instant, next) in zip(reports, reports.dropFirst()) {
      #expect(next - instant < .milliseconds(900))
    }
    #expect(host.snapshot.controller.resolvedPeerCount == 0, "the key of a bond that is gone")
  }

  @Test(
    "a device that advertises for its bonded central alone, whose address changes, is connected",
    arguments: [true, false])
  func directed(_ isExtended: Bool) throws {
    let world = World(seed: 15)
    let device = tag("Tag", in: world)
    var capabilities = ControllerCapabilities()
    capabilities.hasExtendedAdvertising = isExtended
    let host = TestHost(in: world, configuration: Self.privateHost, capabilities: capabilities)
    var central: DeviceAddress?
    device.onConnectionChange = { if $1 { central = $0 } }
    let peer = try bond(host, with: "Tag")
    device.target = central
    #expect(central?.randomKind == .resolvable)
    world.run(for: .seconds(35))
    let stranger = TestHost(
      named: "Stranger", in: world, address: DeviceAddress(bits: 4, kind: .public))
    world.run(for: .seconds(1))
    var everyReport = ScanOptions()
    everyReport.allowsDuplicates = true
    stranger.send(.startScan(everyReport))
    host.send(.connect(peer, ConnectOptions()))
    try connected(host, peer)
    #expect(try read(host, peer) == [1, 2, 3])
    #expect(host.bonds.count == 1)
    let isHeard = stranger.events.contains {
      if case .discovered = $0 { true } else { false }
    }
    #expect(!isHeard, "it called somebody else")
  }

  @Test("directed advertising carries no data, and reveals no identity")
  func directedRefused() throws {
    let world = World(seed: 16)
    _ = tag("Tag", in: world)
    let host = TestHost(in: world, configuration: Self.privateHost)
    let peer = try bond(host, with: "Tag")
    var options = AdvertisingOptions()
    options.target = peer
    options.data = [2, 1, 6]
    let error = HostError.invalidArgument(
      "Directed advertising is connectable and carries no data.")
    #expect(throws: error) {
      try host.complete { .startAdvertising(options, $0) }
    }
    options.data = []
    #expect(try host.complete { .startAdvertising(options, $0) } == .done)
    var capabilities = ControllerCapabilities()
    capabilities.hasPrivacy = false
    let other = TestHost(
      named: "Old", in: world, configuration: Self.privateHost, bonds: host.bonds,
      identities: host.identities, capabilities: capabilities)
    world.run(for: .seconds(1))
    #expect(
      throws: HostError.unsupported(
        "This controller cannot send directed advertising to a private address.")
    ) {
      try other.complete { .startAdvertising(options, $0) }
    }
  }

  @Test("a bond with a stranger's identity hides the stranger at most while its peer is wanted")
  func strangersIdentity() throws {
    let world = World(seed: 17)
    let strangers = DeviceAddress(bits: 0x00A0_5000_0099, kind: .public)
    _ = world.addDevice(named: "Stranger", address: strangers, at: Position(x: 1)) {
      $0.advertisedServices = [0x1816]
    }
    let key = SMPValue(number: 0xBAD)
    let longTermKey = LongTermKey(SMPValue(number: 5))
    let liar = Bond(
      identity: strangers,
      knownAddress: .resolvable(identityResolvingKey: AES128(key: key.number), random: 1),
      centralKey: longTermKey, peripheralKey: longTermKey, identityResolvingKey: key,
      isAuthenticated: false, isSecureConnections: true)
    let host = TestHost(in: world, bonds: [liar])
    func strangerCount() -> Int {
      host.forgetEvents()
      var options = ScanOptions()
      options.allowsDuplicates = true
      host.send(.startScan(options))
      world.run(for: .seconds(5))
      host.send(.stopScan)
      return host.events.count {
        if case .discovered(let report) = $0 { report.address == strangers } else { false }
      }
    }
    #expect(strangerCount() > 0)
    #expect(host.snapshot.controller.resolvedPeerCount == 0)
    host.send(.connect(liar.knownAddress, ConnectOptions()))
    world.run(for: .seconds(1))
    #expect(host.snapshot.controller.resolvedPeerCount == 1)
    host.send(.disconnect(liar.knownAddress))
    world.run(for: .seconds(1))
    #expect(host.snapshot.controller.resolvedPeerCount == 0)
    #expect(strangerCount() > 0)
    host.send(.connect(strangers, ConnectOptions()))
    try connected(host, strangers)
  }
}
