import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@testable import Simulation

@Suite("Enhanced bearers in the simulated world")
struct EnhancedBearersOnAirTests {
  private static let name = "Shelf"
  private static let valueCount: UInt16 = 24

  /// A world with a device of many values, which begins to serve on demand.
  private static func world(
    _ seed: UInt64, radio: RadioModel = RadioModel()
  ) -> (World, SimulatedDevice) {
    let world = World(seed: seed, radio: radio)
    let device = world.addDevice(named: name, at: Position(x: 1)) { shelf in
      let service = shelf.addService(0x1815)
      for number in 0..<valueCount {
        service.addCharacteristic(
          BluetoothUUID(0xFF00 + number), [.read, .write],
          value: [UInt8](repeating: UInt8(number), count: 20))
      }
    }
    return (world, device)
  }

  private static func host(_ world: World, bearers: Int = 4) -> TestHost {
    var configuration = HostConfiguration()
    configuration.enhancedBearerCountMax = bearers
    return TestHost(in: world, configuration: configuration)
  }

  /// Reads all values at once.
  private static func readAll(
    _ host: TestHost, _ peer: DeviceAddress, _ values: [RemoteCharacteristic], from first: UInt64
  ) throws {
    host.forgetEvents()
    for (index, value) in values.enumerated() {
      host.send(
        .gatt(peer, .read(value.valueHandle), RequestToken(rawValue: first + UInt64(index))))
    }
    var replies: [Result<HostReply, HostError>] = []
    let last = RequestToken(rawValue: first + UInt64(values.count) - 1)
    _ = try host.wait(for: "the last value") { event -> Bool? in
      if case .completed(last, _) = event { return true }
      return nil
    }
    var tokens: [UInt64] = []
    for case .completed(let token, let result) in host.events {
      tokens.append(token.rawValue)
      replies.append(result)
    }
    #expect(tokens == (0..<UInt64(values.count)).map { first + $0 }, "in the order of asking")
    let expected = values.map { value -> Result<HostReply, HostError> in
      .success(.value([UInt8](repeating: UInt8((value.uuid.short ?? 0) & 0xFF), count: 20)))
    }
    #expect(replies == expected)
  }

  private static func values(
    _ host: TestHost, _ peer: DeviceAddress
  ) throws -> [RemoteCharacteristic] {
    try host.characteristics(of: peer).values
      .filter { ($0.uuid.short ?? 0) >= 0xFF00 }.sorted { $0.valueHandle < $1.valueHandle }
  }

  private static func bearerCount(_ host: TestHost) -> Int {
    host.snapshot.links.first?.enhancedBearerCount ?? 0
  }

  @Test("an encrypted link gets bearers when reads wait for each other, and not before")
  func opens() throws {
    let (world, _) = Self.world(1)
    let host = Self.host(world)
    let peer = try host.connect(to: Self.name)
    let values = try Self.values(host, peer)
    #expect(values.count == Int(Self.valueCount))
    try Self.readAll(host, peer, values, from: 1_000)
    #expect(Self.bearerCount(host) == 0, "the link is not encrypted")
    _ = try host.complete { .pair(peer, $0) }
    world.run(for: .seconds(2))
    #expect(Self.bearerCount(host) == 0, "nothing has waited yet")
    try Self.readAll(host, peer, values, from: 2_000)
    #expect(Self.bearerCount(host) == 4)
    try Self.readAll(host, peer, values, from: 3_000)
  }

  @Test(
    "a peer that takes none, or a host that wants none, reads as ever", arguments: [true, false])
  func none(_ isPeers: Bool) throws {
    let world = World(seed: 2)
    var configuration = HostConfiguration()
    configuration.enhancedBearerCountMax = 0
    let peripheral = TestHost(
      named: "Other", in: world, at: Position(x: 1),
      configuration: isPeers ? configuration : HostConfiguration(),
      address: DeviceAddress(bits: 2, kind: .public))
    let host = Self.host(world, bearers: isPeers ? 4 : 0)
    let (peer, values) = try Self.serve(peripheral, host)
    _ = try host.complete { .pair(peer, $0) }
    world.run(for: .seconds(2))
    try Self.readAll(host, peer, values, from: 1_000)
    try Self.readAll(host, peer, values, from: 2_000)
    #expect(Self.bearerCount(host) == 0 && Self.bearerCount(peripheral) == 0)
  }

  /// Lets a host serve fixed values to another, which connects and discovers them.
  private static func serve(
    _ peripheral: TestHost, _ central: TestHost
  ) throws -> (DeviceAddress, [RemoteCharacteristic]) {
    _ = peripheral.world.run(atMost: .seconds(5)) {
      peripheral.snapshot.controller.state == .poweredOn
        && central.snapshot.controller.state == .poweredOn
    }
    try publish(peripheral)
    _ = try peripheral.complete { .startAdvertising(AdvertisingOptions(), $0) }
    let peer = peripheral.controller.address
    central.send(.connect(peer, ConnectOptions()))
    _ = try central.wait(for: "the link") { event -> Bool? in
      if case .connected(peer) = event { return true }
      return nil
    }
    return (peer, try values(central, peer))
  }

  private static func publish(_ host: TestHost) throws {
    let service = ServiceDefinition(
      uuid: 0x1815,
      characteristics: (0..<valueCount).map {
        CharacteristicDefinition(
          uuid: BluetoothUUID(0xFF00 + $0), properties: .read, permissions: .readable,
          value: [UInt8](repeating: UInt8($0), count: 20))
      })
    _ = try host.complete { .addService(service, $0) }
  }

  @Test(
    "both ends read from each other at once, and share the bearers, whichever opened them",
    arguments: 1...8 as ClosedRange<UInt64>)
  func bothWays(_ seed: UInt64) throws {
    let world = World(seed: seed)
    let peripheral = TestHost(
      named: "Other", in: world, at: Position(x: 1), address: DeviceAddress(bits: 2, kind: .public))
    let central = Self.host(world)
    let (peer, values) = try Self.serve(peripheral, central)
    try Self.publish(central)
    _ = try central.complete { .pair(peer, $0) }
    let other = central.controller.address
    peripheral.send(.connect(other, ConnectOptions()))
    world.run(for: .seconds(2))
    let others = try Self.values(peripheral, other)
    world.run(for: .seconds(2))
    // Both have more requests than fit, at the same instant.
    peripheral.forgetEvents()
    for (index, value) in others.enumerated() {
      let token = RequestToken(rawValue: 5_000 + UInt64(index))
      peripheral.send(.gatt(other, .read(value.valueHandle), token))
    }
    try Self.readAll(central, peer, values, from: 1_000)
    world.run(for: .seconds(3))
    let count = peripheral.events.count { event in
      if case .completed(_, .success(.value)) = event { true } else { false }
    }
    #expect(count == others.count && count == Int(Self.valueCount))
    let bearers = Self.bearerCount(central)
    #expect((1...4).contains(bearers) && Self.bearerCount(peripheral) == bearers)
  }

  @Test(
    "a link that ends with bearers ends the requests over them, and the next link has its own")
  func linkEnds() throws {
    let (world, device) = Self.world(5)
    let host = Self.host(world)
    let peer = try host.connect(to: Self.name)
    let values = try Self.values(host, peer)
    _ = try host.complete { .pair(peer, $0) }
    world.run(for: .seconds(2))
    try Self.readAll(host, peer, values, from: 1_000)
    #expect(Self.bearerCount(host) == 4)
    host.forgetEvents()
    for (index, value) in values.enumerated() {
      host.send(
        .gatt(peer, .read(value.valueHandle), RequestToken(rawValue: 2_000 + UInt64(index))))
    }
    world.run(for: .milliseconds(40))
    device.controller.position = Position(x: 100_000)
    _ = try host.wait(for: "the end") { event -> Bool? in
      if case .linkClosed = event { return true }
      return nil
    }
    let ended = host.events.count { event in
      if case .completed = event { true } else { false }
    }
    #expect(ended == values.count)
    device.controller.position = Position(x: 1)
    host.send(.connect(peer, ConnectOptions()))
    host.forgetEvents()
    _ = try host.wait(for: "the link") { event -> Bool? in
      if case .connected(peer) = event { return true }
      return nil
    }
    world.run(for: .seconds(3))
    try Self.readAll(host, peer, values, from: 3_000)
    #expect(Self.bearerCount(host) == 4)
  }

  @Test("much loss changes no value and no order", arguments: 1...6 as ClosedRange<UInt64>)
  func lossy(_ seed: UInt64) throws {
    var radio = RadioModel()
    radio.packetLoss = 0.4
    let (world, _) = Self.world(seed, radio: radio)
    let host = Self.host(world)
    let peer = try host.connect(to: Self.name)
    let values = try Self.values(host, peer)
    _ = try host.complete { .pair(peer, $0) }
    world.run(for: .seconds(3))
    for round in UInt64(1)...4 { try Self.readAll(host, peer, values, from: round * 1_000) }
  }
}
