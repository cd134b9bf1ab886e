import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@testable import Simulation

@Suite("New links with the address of a bonded peer that is connected")
struct HeldLinkOnAirTests {
  private static let value: BluetoothUUID = 0x2A99
  private static let phoneAddress = DeviceAddress(bits: 0xA0, kind: .public)

  /// A peripheral, and the bonded central that reads its value.
  private struct Pair {
    let world: World
    let safe: TestHost
    let phone: TestHost
    let peer: DeviceAddress
    let value: RemoteCharacteristic

    var ended: [HostError] {
      safe.events.compactMap {
        if case .linkClosed(HeldLinkOnAirTests.phoneAddress, let error) = $0 { error } else { nil }
      }
    }
  }

  private func central(
    in world: World, bonds: [Bond] = [], identities: [HostIdentity] = []
  ) -> TestHost {
    TestHost(
      named: "Phone", in: world, at: Position(x: 1), bonds: bonds, identities: identities,
      address: Self.phoneAddress)
  }

  private func connect(
    _ host: TestHost, _ peer: DeviceAddress, timeoutUnits: UInt16 = 72
  ) throws {
    var options = ConnectOptions()
    options.parameters = ConnectionParameters(
      intervalUnits: 24...24, latency: 0, timeoutUnits: timeoutUnits)
    host.send(.connect(peer, options))
    try host.wait(for: "the link") { event -> Void? in
      if case .connected(peer) = event { return () }
      return nil
    }
  }

  private func pair(seed: UInt64, timeoutUnits: UInt16) throws -> Pair {
    let world = World(seed: seed)
    let safe = TestHost(named: "Safe", in: world)
    world.run(for: .milliseconds(100))
    let service = ServiceDefinition(
      uuid: 0x1815, isPrimary: true,
      characteristics: [
        CharacteristicDefinition(
          uuid: Self.value, properties: [.read], permissions: .readEncryptionRequired, value: [7])
      ])
    _ = try safe.complete { .addService(service, $0) }
    var options = AdvertisingOptions()
    options.data = [5, 0x09] + "Safe".utf8
    _ = try safe.complete { .startAdvertising(options, $0) }
    let phone = central(in: world)
    let peer = try phone.find("Safe")
    try connect(phone, peer, timeoutUnits: timeoutUnits)
    let value = try #require(try phone.characteristics(of: peer)[Self.value])
    #expect(try phone.read(value, of: peer) == [7])
    // The last keys may still be under way.
    world.run(for: .milliseconds(500))
    return Pair(world: world, safe: safe, phone: phone, peer: peer, value: value)
  }

  @Test(
    "an impostor with a peer's address doesn't end its link, gets no data, and is disconnected",
    arguments: [1, 2, 3] as [UInt64])
  func impostor(_ seed: UInt64) throws {
    let pair = try pair(seed: seed, timeoutUnits: 300)
    let impostor = central(in: pair.world)
    pair.world.run(for: .seconds(1))
    try connect(impostor, pair.peer)
    impostor.send(.gatt(pair.peer, .discoverServices(nil), RequestToken(rawValue: 99)))
    pair.world.run(for: .seconds(1))
    #expect(pair.ended.isEmpty)
    #expect(try pair.phone.read(pair.value, of: pair.peer) == [7])
    pair.world.run(for: .seconds(6))
    let answers = impostor.events.compactMap { event -> Result<HostReply, HostError>? in
      if case .completed(RequestToken(rawValue: 99), let result) = event { result } else { nil }
    }
    #expect(answers.count == 1)
    #expect(throws: HostError.disconnected(.remoteUserTerminatedConnection)) {
      try answers.first?.get()
    }
    #expect(pair.ended.isEmpty)
    #expect(try pair.phone.read(pair.value, of: pair.peer) == [7])
    #expect(pair.safe.snapshot.counters.unprovenLinks == 1)
  }

  @Test(
    "the peer itself is back at once, however long the old link's timeout is",
    arguments: [1, 2, 3] as [UInt64])
  func back(_ seed: UInt64) throws {
    let pair = try pair(seed: seed, timeoutUnits: 3200)
    let bonds = pair.phone.bonds
    pair.phone.controller.powerOff()
    let phone = central(
      in: pair.world, bonds: Array(bonds.suffix(1)), identities: pair.phone.identities)
    pair.world.run(for: .milliseconds(500))
    try connect(phone, pair.peer)
    let start = pair.world.now
    #expect(try phone.read(pair.value, of: pair.peer) == [7])
    #expect(pair.world.now < start + .seconds(3))
    #expect(pair.ended == [.disconnected(.connectionTimeout)])
    #expect(pair.safe.snapshot.counters.unprovenLinks == 0)
    // Nothing of the old link comes after it.
    pair.world.run(for: .seconds(40))
    #expect(try phone.read(pair.value, of: pair.peer) == [7])
    #expect(pair.ended.count == 1)
  }

  @Test("a peer that has lost its keys is served, with its requests, when the old link has ended")
  func keysLost() throws {
    let pair = try pair(seed: 4, timeoutUnits: 200)
    pair.phone.controller.powerOff()
    let phone = central(in: pair.world)
    pair.world.run(for: .milliseconds(200))
    try connect(phone, pair.peer, timeoutUnits: 600)
    #expect(pair.ended.isEmpty)
    let found = try phone.characteristics(of: pair.peer)
    #expect(found[Self.value] != nil)
    #expect(pair.ended == [.disconnected(.connectionTimeout)])
  }

  @Test(
    "an impostor that sends more than can be kept is disconnected, and so are those beyond a few")
  func flood() throws {
    let pair = try pair(seed: 5, timeoutUnits: 3200)
    var crowd: [ScriptedHost] = []
    for number in 0..<6 {
      let host = ScriptedHost(
        pair.world, "Impostor \(number)", address: Self.phoneAddress.bits, at: Position(x: 1))
      host.start()
      host.connect(to: pair.peer, timeout: 600)
      let handle = try #require(host.waitForConnection()).handle
      // Discovers services, again and again, without waiting for an answer.
      for _ in 0..<40 { host.sendData([7, 0, 4, 0, 0x10, 1, 0, 0xFF, 0xFF, 0, 0x28], on: handle) }
      crowd.append(host)
    }
    for host in crowd {
      #expect(host.waitForDisconnection() == .remoteUserTerminatedConnection)
      #expect(host.data.isEmpty)
    }
    #expect(pair.ended.isEmpty)
    #expect(try pair.phone.read(pair.value, of: pair.peer) == [7])
  }
}
