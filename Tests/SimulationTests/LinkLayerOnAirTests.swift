import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@testable import Simulation

@Suite("PHYs, packet lengths and subrating, from host to host")
struct LinkLayerOnAirTests {
  private static let name = "Far"

  private static func device(
    _ world: World, at position: Position = Position(x: 1)
  ) -> SimulatedDevice {
    world.addDevice(named: name, at: position) { far in
      let service = far.addService(0x1815)
      service.addCharacteristic(0x2A56, [.read], value: [UInt8](repeating: 3, count: 100))
    }
  }

  private static func info(_ host: TestHost) -> LinkInfo? {
    var last: LinkInfo?
    for event in host.events {
      switch event {
      case .linkOpened(let info), .linkUpdated(let info): last = info
      default: break
      }
    }
    return last
  }

  private static func roundTrip(_ host: TestHost, _ peer: DeviceAddress) throws -> TimeSpan {
    let start = host.world.now
    _ = try host.complete { .gatt(peer, .read(3), $0) }
    return host.world.now - start
  }

  @Test("a central requests LE 2M and long packets if both ends can, and clients learn of it")
  func fastest() throws {
    let world = World(seed: 1)
    _ = Self.device(world)
    let host = TestHost(in: world)
    _ = try host.connect(to: Self.name)
    world.run(for: .seconds(2))
    let info = try #require(Self.info(host))
    #expect(info.transmitPHY == .le2M && info.receivePHY == .le2M)
    #expect(info.sentPacketByteCountMax == 251 && info.receivedPacketByteCountMax == 251)
    let link = try #require(host.snapshot.links.first)
    #expect(link.transmitPHY == "LE 2M" && link.sentPacketByteCountMax == 251)
  }

  @Test("a peer without LE 2M and long packets leaves the link as it is")
  func basic() throws {
    let world = World(seed: 2)
    _ = Self.device(world)
    let host = TestHost(in: world, capabilities: .basic)
    let peer = try host.connect(to: Self.name)
    world.run(for: .seconds(2))
    let info = try #require(Self.info(host))
    #expect(info.transmitPHY == .le1M && info.sentPacketByteCountMax == 27)
    #expect(throws: HostError.unsupported("This controller has no subrating.")) {
      try host.complete { .setSubrate(peer, Self.subrate(10), $0) }
    }
    #expect(throws: HostError.controller(.unknownCommand)) {
      try host.complete { .setPHY(peer, PHYPreference(transmit: .le2M, receive: nil), $0) }
    }
  }

  @Test("either side requests another PHY, for each direction")
  func phys() throws {
    let world = World(seed: 3)
    let device = Self.device(world)
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    world.run(for: .seconds(2))
    device.request(
      .setPHY(
        host.controller.address, PHYPreference(transmit: .leCoded, receive: .le1M),
        device.makeToken()))
    world.run(for: .seconds(2))
    // The central still wants 2M only.
    #expect(Self.info(host)?.transmitPHY == .le2M)
    let both = PHYPreference(transmit: [.le1M, .leCoded], receive: [.le1M, .leCoded])
    #expect(try host.complete { .setPHY(peer, both, $0) } == .done)
    world.run(for: .seconds(2))
    let info = try #require(Self.info(host))
    #expect(info.transmitPHY == .le1M && info.receivePHY == .leCoded)
  }

  private static func subrate(_ factor: UInt16, continuation: UInt16 = 0) -> SubrateRequest {
    SubrateRequest(
      factorMin: 1, factorMax: factor, latencyMax: 0, continuationNumber: continuation,
      timeoutUnits10ms: 600)
  }

  @Test("a subrated link answers later, and stays awake for as many events as it was asked to")
  func subrated() throws {
    let world = World(seed: 4)
    _ = Self.device(world)
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    world.run(for: .seconds(2))
    let usual = try Self.roundTrip(host, peer)
    #expect(try host.complete { .setSubrate(peer, Self.subrate(20), $0) } == .done)
    world.run(for: .seconds(2))
    #expect(Self.info(host)?.subrateFactor == 20 && Self.info(host)?.timeoutUnits == 600)
    world.run(for: .seconds(20))
    #expect(host.snapshot.links.count == 1, "an idle link outlives the pauses")
    let slow = try Self.roundTrip(host, peer)
    #expect(slow > usual * 4, "\(slow) and \(usual)")
    let awake = Self.subrate(20, continuation: 5)
    #expect(try host.complete { .setSubrate(peer, awake, $0) } == .done)
    world.run(for: .seconds(3))
    #expect(Self.info(host)?.continuationNumber == 5)
    _ = try Self.roundTrip(host, peer)
    let quick = try Self.roundTrip(host, peer)
    #expect(quick < slow, "\(quick) and \(slow)")
  }

  @Test("a peripheral requests subrating, and another timing ends it")
  func peripheralAsks() throws {
    let world = World(seed: 5)
    let device = Self.device(world)
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    world.run(for: .seconds(2))
    device.request(
      .setSubrate(host.controller.address, Self.subrate(10), device.makeToken()))
    world.run(for: .seconds(3))
    #expect(Self.info(host)?.subrateFactor == 10)
    let parameters = ConnectionParameters(intervalUnits: 40...40, latency: 0, timeoutUnits: 300)
    _ = try host.complete { .updateParameters(peer, parameters, $0) }
    world.run(for: .seconds(2))
    #expect(Self.info(host)?.subrateFactor == 1 && Self.info(host)?.intervalUnits == 40)
  }

  @Test("impossible subrating is refused, and that of a peer that knows none")
  func impossible() throws {
    let world = World(seed: 6)
    _ = Self.device(world)
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    for factor in [0, 501] as [UInt16] {
      #expect(throws: HostError.invalidArgument("These subrating parameters are invalid.")) {
        try host.complete { .setSubrate(peer, Self.subrate(factor), $0) }
      }
    }
    // The pauses are longer than the supervision timeout.
    #expect(throws: HostError.controller(.invalidParameters)) {
      try host.complete { .setSubrate(peer, Self.subrate(400), $0) }
    }
    let old = World(seed: 7)
    var capabilities = ControllerCapabilities()
    capabilities.hasSubrating = false
    let other = TestHost(
      named: "Old", in: old, at: Position(x: 1), address: DeviceAddress(bits: 2, kind: .public),
      capabilities: capabilities)
    let central = TestHost(in: old)
    _ = old.run(atMost: .seconds(5)) { other.snapshot.controller.state == .poweredOn }
    _ = try other.complete { .startAdvertising(AdvertisingOptions(), $0) }
    central.send(.connect(other.controller.address, ConnectOptions()))
    old.run(for: .seconds(3))
    #expect(throws: HostError.controller(.unsupportedRemoteFeature)) {
      try central.complete { .setSubrate(other.controller.address, Self.subrate(10), $0) }
    }
  }

  @Test("LE Coded reaches where LE 1M does not: advertising, scanning, connecting and the link")
  func coded() throws {
    var radio = RadioModel()
    radio.shadowingDB = 0
    radio.fadingDB = 0
    let world = World(seed: 8, radio: radio)
    // 97 dB below the transmit power: LE 1M needs −95 dBm, LE Coded −103.
    let distance = 53.0
    let far = TestHost(
      named: "Far", in: world, at: Position(x: distance),
      address: DeviceAddress(bits: 2, kind: .public))
    let host = TestHost(in: world)
    _ = world.run(atMost: .seconds(5)) {
      far.snapshot.controller.state == .poweredOn && host.snapshot.controller.state == .poweredOn
    }
    var advertising = AdvertisingOptions()
    advertising.usesCodedPHY = true
    #expect(throws: HostError.invalidArgument("Only extended advertising is sent on LE Coded.")) {
      try far.complete { .startAdvertising(advertising, $0) }
    }
    advertising.usesExtendedAdvertising = true
    advertising.data = [2, 1, 6]
    _ = try far.complete { .startAdvertising(advertising, $0) }
    var scan = ScanOptions()
    for usesCoded in [false, true] {
      scan.usesCodedPHY = usesCoded
      host.forgetEvents()
      host.send(.startScan(scan))
      world.run(for: .seconds(5))
      host.send(.stopScan)
      let isHeard = host.events.contains { if case .discovered = $0 { true } else { false } }
      #expect(isHeard == usesCoded)
    }
    var options = ConnectOptions()
    let peer = far.controller.address
    host.send(.connect(peer, options))
    world.run(for: .seconds(5))
    #expect(host.snapshot.links.isEmpty)
    host.send(.disconnect(peer))
    options.usesCodedPHY = true
    host.send(.connect(peer, options))
    world.run(for: .seconds(10))
    let info = try #require(Self.info(host))
    #expect(info.transmitPHY == .leCoded && info.receivePHY == .leCoded)
    #expect(try host.complete { .gatt(peer, .discoverServices(nil), $0) } != .done)
  }
}
