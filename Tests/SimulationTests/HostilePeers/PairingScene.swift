import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

/// A host and its attacker, connected.
final class PairingScene {
  let world: World
  let victim: TestHost
  let attacker: PairingAttacker
  let role: LinkInfo.Role
  private static let value: BluetoothUUID = 0x2A99
  private var tokens: UInt64 = 7_000

  /// - Parameters:
  ///   - role: The victim's.
  ///   - address: The attacker's.
  init(
    _ role: LinkInfo.Role, seed: UInt64 = 1, victimIO: SMPIOCapability = .noInputNoOutput,
    attackerIO: SMPIOCapability = .noInputNoOutput, usesSecureConnections: Bool = true,
    address: UInt64 = 0xBAD, bonds: [Bond] = []
  ) throws {
    self.role = role
    world = World.pairing(seed: seed)
    victim = TestHost(named: "Victim", in: world, bonds: bonds)
    attacker = PairingAttacker(
      in: world, role: role == .central ? .peripheral : .central,
      victim: victim.controller.address, address: address, ioCapability: attackerIO,
      usesSecureConnections: usesSecureConnections)
    world.run(for: .milliseconds(200))
    if victimIO != .noInputNoOutput { victim.send(.setPairingAgent(victimIO)) }
    if role == .peripheral { try serve() }
    try connect()
  }

  private func serve() throws {
    let service = ServiceDefinition(
      uuid: 0x1815, isPrimary: true,
      characteristics: [
        CharacteristicDefinition(
          uuid: Self.value, properties: [.read, .write],
          permissions: [.readEncryptionRequired, .writeEncryptionRequired], value: [7, 7, 7])
      ])
    _ = try victim.complete { .addService(service, $0) }
    _ = try victim.complete { .startAdvertising(AdvertisingOptions(), $0) }
  }

  func connect() throws {
    if role == .central {
      // It retries a link that fails to be established, and ends those of peers without the key.
      victim.send(.connect(attacker.peer.address, ConnectOptions()))
      let wasThere = world.run(atMost: .seconds(10)) { [attacker] in
        attacker.peer.linkCount > 0
      }
      try #require(wasThere)
      world.run(for: .milliseconds(500))
      return
    }
    for _ in 1...5 where attacker.peer.handle == nil {
      attacker.peer.connect(to: victim.controller.address)
      world.run(atMost: .seconds(10)) { [attacker] in attacker.peer.handle != nil }
      world.run(for: .milliseconds(500))
    }
    try #require(attacker.peer.handle != nil)
  }

  /// The victim, as the central, or the attacker begins to pair; long enough for it to end.
  func pair(for time: TimeSpan = .seconds(5)) {
    if role == .central {
      tokens += 1
      victim.send(.pair(attacker.peer.address, RequestToken(rawValue: tokens)))
    } else {
      attacker.pairs()
    }
    world.run(for: time)
  }

  /// How the victim's pairings ended; nil: well.
  var ends: [SecurityFailure?] {
    victim.events.compactMap { event -> SecurityFailure?? in
      if case .pairingEnded(_, let failure) = event { return .some(failure) }
      return nil
    }
  }

  var prompts: [(PairingPrompt, PairingPromptID)] {
    victim.events.compactMap {
      if case .pairingPrompt(_, let prompt, let id) = $0 { (prompt, id) } else { nil }
    }
  }

  var reasonsSent: [SMPFailureReason] {
    attacker.received.compactMap {
      if case .pairingFailed(let reason) = $0 { reason } else { nil }
    }
  }

  /// Nothing was won: no bond, no encrypted link.
  func expectNothingWon(_ comment: Comment? = nil) {
    #expect(victim.bonds.isEmpty && !attacker.isEncrypted, comment)
    #expect(victim.snapshot.links.allSatisfy { $0.encryption == nil }, comment)
  }
}
