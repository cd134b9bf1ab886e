import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines

/// A pairing without keys to distribute ends in the step in which the link is encrypted.
@Suite("What a central configured before a pairing that ends with the encryption, on the air")
struct PairingInOneStepTests {
  private struct Scene {
    let world = World.pairing(seed: 21)
    let safe: TestHost
    let central: PairingAttacker
    let service: PublishedService

    /// - Parameter keys: The keys that the central offers and requests.
    init(_ keys: SMPKeyDistribution) throws {
      safe = TestHost(named: "Safe", in: world)
      central = PairingAttacker(in: world, role: .central, victim: safe.controller.address)
      world.run(for: .milliseconds(200))
      let definition = ServiceDefinition(
        uuid: 0x1815, isPrimary: true,
        characteristics: [
          CharacteristicDefinition(
            uuid: 0x2A99, properties: [.read, .notify], permissions: .readable, value: [1])
        ])
      guard case .published(let service) = try safe.complete({ .addService(definition, $0) })
      else { throw HostError.invalidResponse }
      self.service = service
      _ = try safe.complete { .startAdvertising(AdvertisingOptions(), $0) }
      central.change = { pdu in
        guard case .pairingRequest(var features) = pdu else { return [pdu.bytes] }
        features.initiatorKeys = keys
        features.responderKeys = keys
        return [SMPPDU.pairingRequest(features).bytes]
      }
      central.peer.connect(to: safe.controller.address)
      world.run(for: .seconds(2))
      try #require(central.peer.handle != nil)
    }

    func writes(_ value: [UInt8], to handle: UInt16) {
      central.peer.attribute(.writeRequest(handle: handle, value: value[...]))
      world.run(for: .seconds(1))
    }

    /// The handle of the first attribute with this type.
    func handle(of uuid: UInt16) throws -> UInt16 {
      central.peer.forgetHeard()
      central.peer.attribute([
        0x08, 1, 0, 0xFF, 0xFF, UInt8(truncatingIfNeeded: uuid), UInt8(uuid >> 8),
      ])
      world.run(for: .seconds(1))
      let response = try #require(central.peer.attributes.last { $0.first == 0x09 })
      return UInt16(response[2]) | UInt16(response[3]) << 8
    }
  }

  @Test(
    "a subscription, client features and Service Changed are stored with the bond",
    arguments: [[], SMPKeyDistribution.encryptionKey, [.encryptionKey, .signingKey]])
  func configuredBefore(_ keys: SMPKeyDistribution) throws {
    let scene = try Scene(keys)
    let descriptor = try #require(scene.service.characteristics.first?.configurationHandle)
    let serviceChanged = try scene.handle(of: 0x2902)
    let features = try scene.handle(of: 0x2B29)
    scene.writes([1, 0], to: descriptor)
    scene.writes([2, 0], to: serviceChanged)
    scene.writes([1], to: features)
    scene.central.pairs()
    scene.world.run(for: .seconds(5))
    #expect(scene.central.ends == [nil] && scene.central.isEncrypted)
    let stored = try #require(scene.safe.bonds.last?.clientConfiguration)
    #expect(scene.safe.bonds.count == 1)
    #expect(stored.descriptors == [descriptor: 1, serviceChanged: 2] && stored.features == 1)
  }

  @Test("the bond is stored before anything is added to it")
  func order() throws {
    let scene = try Scene([])
    let descriptor = try #require(scene.service.characteristics.first?.configurationHandle)
    scene.writes([1, 0], to: descriptor)
    scene.central.pairs()
    scene.world.run(for: .seconds(5))
    #expect(scene.safe.updatesWithoutBond == 0 && scene.safe.configurationCount == 1)
  }
}
