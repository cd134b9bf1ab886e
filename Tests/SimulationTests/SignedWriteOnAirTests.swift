import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@testable import Simulation

/// A peripheral that takes signed writes, and a bonded peer that sends some by hand, unencrypted.
@Suite("Signed writes on the air")
struct SignedWriteOnAirTests {
  private static let value: BluetoothUUID = 0x2A99
  private static let phone = DeviceAddress(bits: 0xF00, kind: .public)

  private struct Scene {
    let world: World
    let safe: TestHost
    let phone: HostilePeer
    let handle: UInt16

    var written: [[UInt8]] {
      safe.events.compactMap {
        guard case .serverRequest(let request) = $0, case .write(let writes) = request.kind else {
          return nil
        }
        return writes.first?.value
      }
    }

    func sends(_ value: [UInt8], counter: UInt32, key: SMPValue) {
      let signature = ATTSignature(signing: handle, value, counter: counter, key: key)
      phone.attribute(
        .signedWriteCommand(handle: handle, value: value[...], signature: signature.bytes[...]))
      world.run(for: .milliseconds(300))
    }
  }

  private static let key = SMPValue(number: 0x1111_2222_3333_4444)

  private static var bond: Bond {
    let longTermKey = LongTermKey(SMPValue(number: 99))
    var bond = Bond(
      identity: phone, centralKey: longTermKey, peripheralKey: longTermKey, isAuthenticated: false,
      isSecureConnections: true)
    bond.peerSigning = SigningKey(key)
    return bond
  }

  private func scene(
    seed: UInt64 = 1, bonds: [Bond] = [bond],
    properties: CharacteristicProperties = [.authenticatedSignedWrites],
    permissions: AttributePermissions = .writeable
  ) throws -> Scene {
    let world = World(seed: seed)
    let safe = TestHost(named: "Safe", in: world, bonds: bonds)
    world.run(for: .milliseconds(100))
    let service = ServiceDefinition(
      uuid: 0x1815, isPrimary: true,
      characteristics: [
        CharacteristicDefinition(
          uuid: Self.value, properties: properties, permissions: permissions, value: nil)
      ])
    guard case .published(let published) = try safe.complete({ .addService(service, $0) }) else {
      throw HostError.invalidResponse
    }
    _ = try safe.complete { .startAdvertising(AdvertisingOptions(), $0) }
    let phone = HostilePeer(
      in: world, address: Self.phone.bits, isPeripheral: false, at: Position(x: 1))
    world.run(for: .milliseconds(100))
    phone.connect(to: safe.controller.address)
    let isThere = world.run(atMost: .seconds(5)) { phone.handle != nil }
    try #require(isThere)
    world.run(for: .seconds(1))
    return Scene(
      world: world, safe: safe, phone: phone, handle: published.characteristics[0].valueHandle)
  }

  @Test("signed writes are taken with the right signature, once; the bond keeps the counter")
  func counter() throws {
    let scene = try scene()
    scene.sends([1], counter: 5, key: Self.key)
    scene.sends([2], counter: 5, key: Self.key)
    scene.sends([3], counter: 4, key: Self.key)
    scene.sends([4], counter: 6, key: Self.key)
    scene.sends([5], counter: 7, key: SMPValue(number: 1))
    scene.sends([6], counter: .max, key: Self.key)
    scene.sends([7], counter: .max, key: Self.key)
    #expect(scene.written == [[1], [4], [6]])
    #expect(scene.safe.updated.last?.peerSigning?.nextCounter == 1 << 32)
    // In the next run, too.
    let bond = try #require(scene.safe.updated.first)
    #expect(bond.peerSigning?.nextCounter == 6)
    let next = try self.scene(seed: 2, bonds: [bond])
    next.sends([1], counter: 5, key: Self.key)
    next.sends([2], counter: 6, key: Self.key)
    #expect(next.written == [[2]])
  }

  @Test(
    "signed writes are refused from strangers, without the property, and with encryption needed")
  func refused() throws {
    let stranger = try scene(bonds: [])
    stranger.sends([1], counter: 0, key: Self.key)
    let other = try scene(properties: [.writeWithoutResponse, .write])
    other.sends([1], counter: 0, key: Self.key)
    let protected = try scene(permissions: .writeEncryptionRequired)
    protected.sends([1], counter: 0, key: Self.key)
    let plain = try scene()
    plain.phone.attribute(.writeCommand(handle: plain.handle, value: [1]))
    plain.phone.attribute(.writeRequest(handle: plain.handle, value: [1]))
    plain.world.run(for: .seconds(1))
    for scene in [stranger, other, protected, plain] { #expect(scene.written.isEmpty) }
  }

  @Test("two hosts give each other the keys to sign with, and write over the encrypted link")
  func distribution() throws {
    let world = World(seed: 3)
    var written: [[UInt8]] = []
    let device = world.addDevice(named: "Lamp", at: Position(x: 2)) { lamp in
      let level = lamp.addService(0x1815).addCharacteristic(
        Self.value, [.authenticatedSignedWrites], value: [0])
      level.onWrite { _, value in
        written.append(value)
        return .success(())
      }
    }
    let host = TestHost(in: world)
    let peer = try host.connect(to: "Lamp")
    let value = try #require(try host.characteristics(of: peer)[Self.value])
    // Without a bond: the link is encrypted first, by pairing.
    let write = try host.complete { .gatt(peer, .signedWrite(value.valueHandle, [7]), $0) }
    #expect(write == .done)
    world.run(for: .seconds(2))
    #expect(written == [[7]])
    let bond = try #require(host.bonds.first)
    #expect(bond.peerSigning != nil && bond.localSigning != nil)
    #expect(bond.peerSigning?.value != bond.localSigning?.value)
    _ = device
  }

  @Test(
    "signed writes fail if pairing fails, and nothing goes over the air in clear",
    arguments: [true, false])
  func unprotected(_ refusesHere: Bool) throws {
    let world = World(seed: 5)
    var configuration = HostConfiguration()
    if refusesHere { configuration.pairingPolicy = .never }
    let host = TestHost(in: world, configuration: configuration)
    // It knows no pairing.
    let peer = HostilePeer(in: world, address: Self.phone.bits, isPeripheral: true)
    world.run(for: .milliseconds(200))
    host.send(.connect(Self.phone, ConnectOptions()))
    try host.wait(for: "the link") { event -> Void? in
      if case .connected = event { return () }
      return nil
    }
    #expect(throws: HostError.att(.insufficientAuthentication, handle: 9)) {
      _ = try host.complete { .gatt(Self.phone, .signedWrite(9, [1, 2, 3]), $0) }
    }
    world.run(for: .seconds(1))
    let writes = peer.attributes.filter { $0.first == ATTOpcode.writeCommand.rawValue }
    #expect(writes.isEmpty)
  }

  @Test(
    "signed writes to a bonded peer without an encryption key have a new counter each")
  func signing() throws {
    let world = World(seed: 4)
    var bond = Self.bond
    bond.centralKey = nil
    bond.localSigning = SigningKey(Self.key, nextCounter: 41)
    let host = TestHost(in: world, bonds: [bond])
    let peer = HostilePeer(in: world, address: Self.phone.bits, isPeripheral: true)
    world.run(for: .milliseconds(200))
    host.send(.connect(Self.phone, ConnectOptions()))
    try host.wait(for: "the link") { event -> Void? in
      if case .connected = event { return () }
      return nil
    }
    for number in UInt8(1)...3 {
      #expect(try host.complete { .gatt(Self.phone, .signedWrite(9, [number]), $0) } == .done)
    }
    world.run(for: .seconds(1))
    let signed = peer.attributes.compactMap { pdu -> (UInt16, [UInt8], ATTSignature)? in
      guard
        case .signedWriteCommand(let handle, let value, let bytes) = try? ATTPDU(
          decoding: pdu[...]), let signature = ATTSignature(bytes)
      else { return nil }
      return (handle, Array(value), signature)
    }
    #expect(signed.map(\.1) == [[1], [2], [3]] && signed.map(\.2.counter) == [41, 42, 43])
    #expect(signed.allSatisfy { $0.2.isRight(for: $0.0, $0.1, key: Self.key) })
    #expect(host.updated.last?.localSigning?.nextCounter == 44)
  }
}
