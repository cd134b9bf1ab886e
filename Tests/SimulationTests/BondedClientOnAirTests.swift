import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines
@testable import Simulation

@Suite("What bonded centrals configured, on the air")
struct BondedClientOnAirTests {
  private static let value: BluetoothUUID = 0x2A99
  private static let centralAddress = DeviceAddress(bits: 0xA0, kind: .public)

  private func peripheral(
    in world: World, bonds: [Bond] = [], identities: [HostIdentity] = [],
    services: [BluetoothUUID] = [0x1815]
  ) throws -> TestHost {
    let host = TestHost(named: "Safe", in: world, bonds: bonds, identities: identities)
    world.run(for: .milliseconds(100))
    for service in services {
      let definition = ServiceDefinition(
        uuid: service, isPrimary: true,
        characteristics: [
          CharacteristicDefinition(
            uuid: Self.value, properties: [.read, .notify], permissions: .readEncryptionRequired,
            value: [1], subscribingRequiresEncryption: true)
        ])
      _ = try host.complete { .addService(definition, $0) }
    }
    var options = AdvertisingOptions()
    // The complete local name.
    options.data = [5, 0x09] + "Safe".utf8
    _ = try host.complete { .startAdvertising(options, $0) }
    return host
  }

  private func central(in world: World) -> TestHost {
    TestHost(named: "Phone", in: world, at: Position(x: 1), address: Self.centralAddress)
  }

  private func reconnect(_ host: TestHost, _ peer: DeviceAddress) throws {
    host.forgetEvents()
    host.send(.connect(peer, ConnectOptions()))
    _ = try host.wait(for: "the link") { event -> Bool? in
      if case .connected(peer) = event { return true }
      return nil
    }
    host.world.run(for: .seconds(1))
  }

  private func subscriptions(_ host: TestHost) -> [DeviceAddress] {
    host.events.compactMap { if case .subscribed(let peer, _) = $0 { peer } else { nil } }
  }

  private func last(_ bonds: [Bond]) -> [Bond] { bonds.suffix(1) }

  @Test("a subscription holds on the next link, and in the next run of the peripheral's host")
  func holds() throws {
    let world = World(seed: 1)
    let safe = try peripheral(in: world)
    let phone = central(in: world)
    let peer = try phone.connect(to: "Safe")
    let value = try #require(try phone.characteristics(of: peer)[Self.value])
    try phone.subscribe(value, of: peer)
    #expect(subscriptions(safe) == [Self.centralAddress])
    phone.send(.disconnect(peer))
    world.run(for: .seconds(2))
    safe.forgetEvents()
    try reconnect(phone, peer)
    #expect(subscriptions(safe) == [Self.centralAddress])
    safe.controller.powerOff()
    world.run(for: .seconds(30))
    let next = try peripheral(in: world, bonds: last(safe.bonds), identities: safe.identities)
    try reconnect(phone, peer)
    #expect(subscriptions(next) == [Self.centralAddress])
    // A subscription that was switched off stays off.
    let descriptor = value.valueHandle + 1
    _ = try phone.complete { .gatt(peer, .write(descriptor, [0, 0]), $0) }
    phone.send(.disconnect(peer))
    world.run(for: .seconds(2))
    next.forgetEvents()
    try reconnect(phone, peer)
    #expect(subscriptions(next).isEmpty)
  }

  @Test("a device with the central's address, but without its keys, doesn't get the notifications")
  func impostor() throws {
    let world = World(seed: 2)
    let safe = try peripheral(in: world)
    let phone = central(in: world)
    let peer = try phone.connect(to: "Safe")
    let value = try #require(try phone.characteristics(of: peer)[Self.value])
    try phone.subscribe(value, of: peer)
    phone.send(.disconnect(peer))
    world.run(for: .seconds(2))
    phone.controller.powerOff()
    safe.forgetEvents()
    let impostor = central(in: world)
    _ = try impostor.connect(to: "Safe")
    world.run(for: .seconds(1))
    #expect(subscriptions(safe).isEmpty)
    // Pairing anew by Just Works doesn't give it the phone's place, and the phone keeps its own.
    #expect(throws: HostError.self) { try impostor.read(value, of: peer) }
    #expect(safe.unkeptBonds == [.unconfirmed] && safe.snapshot.bondCount == 1)
    #expect(subscriptions(safe).isEmpty)
    impostor.send(.disconnect(peer))
    world.run(for: .seconds(2))
    impostor.controller.powerOff()
    phone.controller.powerOn()
    world.run(for: .seconds(1))
    try reconnect(phone, peer)
    #expect(subscriptions(safe) == [Self.centralAddress])
  }

  @Test(
    "a peer beyond the room for bonds is served on its link, and the missing bond is reported")
  func full() throws {
    let world = World(seed: 12)
    let others = (0..<1_024).map { number in
      Bond(
        identity: DeviceAddress(bits: 0xC000_0000_0001 + UInt64(number), kind: .random),
        centralKey: LongTermKey(SMPValue(number: UInt128(number + 1))), peripheralKey: nil,
        isAuthenticated: true, isSecureConnections: true)
    }
    let safe = try peripheral(in: world, bonds: others)
    let phone = central(in: world)
    let peer = try phone.connect(to: "Safe")
    let value = try #require(try phone.characteristics(of: peer)[Self.value])
    #expect(try phone.read(value, of: peer) == [1])
    world.run(for: .seconds(1))
    #expect(safe.unkeptBonds == [.full] && safe.bonds.isEmpty)
    #expect(safe.snapshot.bondCount == 1_024 && safe.snapshot.counters.unkeptBonds == 1)
    // The phone has none, either, which would be of no use.
    #expect(phone.unkeptBonds.isEmpty && phone.bonds.isEmpty)
  }

  /// Bonds of peers that paired by Just Works, unasked, and never came back.
  private static func flood(_ count: Int) -> [Bond] {
    (0..<count).map { number in
      var bond = Bond(
        identity: DeviceAddress(bits: 0xC000_0000_0001 + UInt64(number), kind: .random),
        centralKey: nil, peripheralKey: LongTermKey(SMPValue(number: UInt128(number + 1))),
        isAuthenticated: false, isSecureConnections: true)
      bond.isEvictable = true
      return bond
    }
  }

  @Test("made-up peers don't lock others out: the oldest that never came back makes room")
  func floodOfBonds() throws {
    let world = World(seed: 13)
    let flood = Self.flood(BondTable.Limits.unaskedBondsMax)
    let safe = try peripheral(in: world, bonds: flood)
    let phone = central(in: world)
    let peer = try phone.connect(to: "Safe")
    let value = try #require(try phone.characteristics(of: peer)[Self.value])
    #expect(try phone.read(value, of: peer) == [1])
    world.run(for: .seconds(1))
    #expect(safe.evictedPeers == [flood[0].identity] && safe.unkeptBonds.isEmpty)
    #expect(safe.snapshot.bondCount == flood.count)
    #expect(safe.snapshot.counters.evictedBonds == 1)
    #expect(safe.bonds.map(\.isEvictable) == [true])
    // It comes back with its bond, and is not evicted from then on.
    phone.send(.disconnect(peer))
    world.run(for: .seconds(1))
    try reconnect(phone, peer)
    #expect(safe.bonds.map(\.isEvictable) == [false])
    #expect(phone.events.allSatisfy { if case .pairingEnded = $0 { false } else { true } })
  }

  @Test("a bond whose peer is connected, has come back, or was paired by people makes no room")
  func sparedBonds() {
    var table = BondTable()
    var bonds = Self.flood(4)
    bonds[0].isEvictable = false
    table.load(bonds)
    #expect(table.makeRoom(sparing: [bonds[1].knownAddress])?.identity == bonds[2].identity)
    #expect(table.returned(bonds[3].knownAddress) && !table.returned(bonds[3].knownAddress))
    #expect(table.makeRoom(sparing: [bonds[1].knownAddress]) == nil)
    #expect(table.makeRoom(sparing: []) == bonds[1])
    #expect(table.bonds.map(\.identity) == [bonds[0].identity, bonds[3].identity])
  }

  @Test("peers that paired unasked and came back leave room for those paired on request")
  func reservedRoom() throws {
    let world = World(seed: 14)
    let others = Self.flood(BondTable.Limits.unaskedBondsMax).map { bond in
      var bond = bond
      bond.isEvictable = false
      return bond
    }
    let safe = try peripheral(in: world, bonds: others)
    let phone = central(in: world)
    let peer = try phone.connect(to: "Safe")
    let value = try #require(try phone.characteristics(of: peer)[Self.value])
    #expect(try phone.read(value, of: peer) == [1])
    world.run(for: .seconds(1))
    #expect(safe.unkeptBonds == [.full] && safe.evictedPeers.isEmpty && safe.bonds.isEmpty)
    phone.send(.disconnect(peer))
    world.run(for: .seconds(1))
    // This host's client requests the pairing.
    #expect(phone.bonds.isEmpty)
    try reconnect(phone, peer)
    safe.send(.connect(Self.centralAddress, ConnectOptions()))
    #expect(try safe.complete { .pair(Self.centralAddress, $0) } == .done)
    world.run(for: .seconds(1))
    #expect(safe.bonds.count == 1 && safe.bonds.first?.isEvictable == false)
  }

  @Test("no subscription holds if the next run has other services")
  func otherServices() throws {
    let world = World(seed: 3)
    let safe = try peripheral(in: world)
    let phone = central(in: world)
    let peer = try phone.connect(to: "Safe")
    let value = try #require(try phone.characteristics(of: peer)[Self.value])
    try phone.subscribe(value, of: peer)
    safe.controller.powerOff()
    world.run(for: .seconds(30))
    let next = try peripheral(
      in: world, bonds: last(safe.bonds), identities: safe.identities,
      services: [0x180D, 0x1815])
    try reconnect(phone, peer)
    #expect(subscriptions(next).isEmpty)
  }

  @Test("the last configuration is stored when the link ends, after any number of earlier ones")
  func end() throws {
    let world = World(seed: 5)
    let safe = try peripheral(in: world)
    let phone = central(in: world)
    let peer = try phone.connect(to: "Safe")
    let value = try #require(try phone.characteristics(of: peer)[Self.value])
    _ = try phone.read(value, of: peer)
    let handle = value.valueHandle + 1
    for number in 1...21 {
      let bits: [UInt8] = [UInt8(number % 2), 0]
      _ = try phone.complete { .gatt(peer, .write(handle, bits), $0) }
    }
    phone.send(.disconnect(peer))
    world.run(for: .milliseconds(500))
    #expect(safe.bonds.last?.clientConfiguration?.descriptors[handle] == 1)
  }

  @Test("a central that goes on changing its mind has the disk written ever more rarely")
  func thrift() throws {
    let world = World(seed: 4)
    let safe = try peripheral(in: world)
    let phone = central(in: world)
    let peer = try phone.connect(to: "Safe")
    let table = try phone.characteristics(of: peer)
    let value = try #require(table[Self.value])
    _ = try phone.read(value, of: peer)
    let handle = value.valueHandle + 1
    for number in 1...100 {
      let bits: [UInt8] = [UInt8(number % 2), 0]
      _ = try phone.complete { .gatt(peer, .write(handle, bits), $0) }
    }
    world.run(for: .seconds(70))
    #expect((2...8).contains(safe.configurationCount))
    #expect(safe.bonds.last?.clientConfiguration?.descriptors[handle] == nil)
  }
}
